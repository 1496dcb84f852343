/**
 * Commands about a user's ledger: proving it, and taking a transaction back.
 *
 * @module
 */

import type { CliContext, CommandInput, CommandSpec, Result } from "../command.ts";
import { exits } from "../exits.ts";
import { serverOf } from "../server.ts";
import { dataOf, userFlags, userPath } from "./user_answers.ts";

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
  summary: "Show whether a user's metrics are what the entries of the ledger add up to",
  args: [],
  flags: { ...userFlags, "exit-code": { description: "End with 3 where they are not" } },
  run: reconcile,
};

/** `loyalty reverse`. */
export const reverseCommand: CommandSpec = {
  words: ["loyalty", "reverse"],
  summary: "Take back what a transaction of a user gave and took, once",
  args: [{ name: "transaction", description: "The id of the transaction" }],
  flags: userFlags,
  run: reverse,
};

async function reconcile(input: CommandInput, context: CliContext): Promise<Result> {
  const { user = "" } = input.flags;
  const told = await serverOf(input, context).ask(`${userPath(user)}/reconciliation`);
  const data = dataOf<Reconciled>(told.json, "faults");
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
      ...(isCut ? ["Older records are no longer kept, so the proof began in the middle"] : []),
    ],
    exit: !ok && "exit-code" in input.flags ? exits.differs : exits.ok,
  };
}

async function reverse(input: CommandInput, context: CliContext): Promise<Result> {
  const [transactionId = ""] = input.args;
  const { user = "" } = input.flags;
  const told = await serverOf(input, context).ask(`${userPath(user)}/reversals`, {
    method: "POST",
    body: { transactionId },
    // Whether it was this attempt or one before that took it back would be anybody's guess.
    isRepeatable: false,
  });
  const data = dataOf<Reversal>(told.json, "payload");
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
    notes: [`Transaction ${transactionId} is taken back by ${data.id}`],
  };
}

function shown(value: number | null): string {
  return value === null ? "" : String(value);
}
