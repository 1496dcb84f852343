/**
 * Commands about a user's ledger: check it, or reverse a transaction.
 *
 * @module
 */

import type { loyaltyAnswers } from "../../fans/loyalty/mod.ts";
import { createApiClient } from "../api_client.ts";
import { dataOf } from "../frame/client.ts";
import type { CliContext, CliInput, CliResult, CommandSpec } from "../frame/command.ts";
import { exits } from "../frame/errors.ts";
import { json, record } from "../frame/output.ts";
import { oneUserFlags, userPath } from "./users.ts";

/** `loyalty reconcile`. */
export const reconcileCommand: CommandSpec = {
  words: ["loyalty", "reconcile"],
  summary: "Check that a user's metrics equal the sums of the ledger",
  examples: ["loyalty reconcile --user $USER_ID"],
  requests: 1,
  output: record({ ok: [null, "flag"], metrics: [null, "json"], faults: [null, "json"] }),
  exits: { [exits.differs]: "the ledger does not add up (--exit-code)" },
  flags: { ...oneUserFlags, "exit-code": { description: "Exit with 3 if they differ" } },
  run: reconcile,
};

/** `loyalty reverse`. */
export const reverseCommand: CommandSpec = {
  words: ["loyalty", "reverse"],
  summary: "Reverse a transaction of a user, once",
  changes: "reverses a transaction of a user, in the ledger too",
  examples: ["loyalty reverse $TRANSACTION --user $USER_ID"],
  requests: 1,
  output: json,
  args: [{ name: "transaction", description: "The id of the transaction" }],
  flags: oneUserFlags,
  run: reverse,
};

async function reconcile(input: CliInput, context: CliContext): Promise<CliResult> {
  const { user = "" } = input.flags;
  const server = await createApiClient(input, context);
  const path = userPath(server, user, "reconciliation");
  const data = dataOf(await server.send<typeof loyaltyAnswers.ReconciliationResponse>(path), "faults");
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
  const server = await createApiClient(input, context);
  const path = userPath(server, user, "reversals");
  const answer = await server.send<typeof loyaltyAnswers.TransactionResponse>(path, {
    method: "POST",
    body: { transactionId },
    // After a retry it would be unknown which attempt took effect.
    isRepeatable: false,
  });
  const data = dataOf(answer, "payload");
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
