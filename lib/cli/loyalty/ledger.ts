/**
 * Commands about a user's ledger: check it, or reverse a transaction.
 *
 * @module
 */

import { createApiClient } from "../api_client.ts";
import { type CliContext, type CliInput, type CliResult, type CommandSpec, exits } from "../command.ts";
import { dataOf, userFlags, userPath } from "./users.ts";

interface Reconciled {
  readonly ok: boolean;
  readonly metrics: readonly {
    readonly metricId: string;
    readonly balance: number | null;
    readonly folded: number | null;
    readonly isComplete: boolean;
  }[];
  readonly faults: readonly {
    readonly metricId: string;
    readonly recordId: string | null;
    readonly detail: string;
  }[];
}

interface Reversal {
  readonly id: string;
  readonly payload: {
    readonly metricChanges: Readonly<
      Record<string, { readonly oldValue: number; readonly newValue: number }>
    >;
  };
}

/** `loyalty reconcile`. */
export const reconcileCommand: CommandSpec = {
  words: ["loyalty", "reconcile"],
  summary: "Check that a user's metrics equal the sums of the ledger",
  args: [],
  flags: { ...userFlags, "exit-code": { description: "Exit with 3 if they differ" } },
  run: reconcile,
};

/** `loyalty reverse`. */
export const reverseCommand: CommandSpec = {
  words: ["loyalty", "reverse"],
  summary: "Reverse a transaction of a user, once",
  args: [{ name: "transaction", description: "The id of the transaction" }],
  flags: userFlags,
  run: reverse,
};

async function reconcile(input: CliInput, context: CliContext): Promise<CliResult> {
  const { user = "" } = input.flags;
  const answer = await createApiClient(input, context).send(`${userPath(user)}/reconciliation`);
  const data = dataOf<Reconciled>(answer.json, "faults");
  const { ok, metrics, faults } = data;
  const isCut = metrics.some(({ isComplete }) => !isComplete);
  return {
    data,
    shown: {
      columns: ["METRIC", "BALANCE", "LEDGER"],
      rows: metrics.map(({ metricId, balance, folded }) => [metricId, shown(balance), shown(folded)]),
    },
    notes: [
      ok ? "The ledger adds up" : `The ledger does not add up: ${faults.length} faults`,
      ...faults.map(({ metricId, recordId, detail }) => `${metricId} ${recordId ?? ""}: ${detail}`),
      ...(isCut ? ["Older records are no longer stored, so the check is incomplete"] : []),
    ],
    exit: !ok && "exit-code" in input.flags ? exits.differs : exits.ok,
  };
}

async function reverse(input: CliInput, context: CliContext): Promise<CliResult> {
  const [transactionId = ""] = input.args;
  const { user = "" } = input.flags;
  const answer = await createApiClient(input, context).send(`${userPath(user)}/reversals`, {
    method: "POST",
    body: { transactionId },
    // After a retry it would be unknown which attempt took effect.
    isRepeatable: false,
  });
  const data = dataOf<Reversal>(answer.json, "payload");
  return {
    data,
    shown: {
      columns: ["METRIC", "BEFORE", "AFTER"],
      rows: Object.entries(data.payload.metricChanges).map(([metricId, { oldValue, newValue }]) => [
        metricId,
        String(oldValue),
        String(newValue),
      ]),
    },
    notes: [`Transaction ${transactionId} is reversed by ${data.id}`],
  };
}

function shown(value: number | null): string {
  return value === null ? "" : String(value);
}
