/**
 * The answer to a bulk request: one result per item, in the order of the items.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type ErrorCode } from "../../errors/mod.ts";
import { errorFacts } from "../../http/mod.ts";

/** What became of an item. */
export type ItemStatus = "queued" | "succeeded" | "duplicate" | "failed";

/** Why an item failed. */
export interface ItemError {
  readonly code: ErrorCode;
  readonly message: string;
  /** JSON Pointer of the member of the item that is at fault; empty: the item. */
  readonly pointer: string;
  /** Whether the same item may succeed later. */
  readonly retryable: boolean;
}

/** The result of an item. */
export interface ItemResult {
  readonly index: number;
  /** The id under which it takes effect once. */
  readonly id: string;
  readonly userId: string;
  readonly status: ItemStatus;
  readonly error?: ItemError;
}

/** The data of the answer. */
export interface BulkAnswer<R extends ItemResult = ItemResult> {
  readonly batchId: string;
  readonly summary: { readonly total: number } & Readonly<Partial<Record<ItemStatus, number>>>;
  /** Whether an item failed. */
  readonly errors: boolean;
  readonly results: readonly R[];
}

const number = v.number();
const text = v.string();
const ErrorSchema = v.object({ code: text, message: text, pointer: text, retryable: v.boolean() });

/** The schema of the answer. */
export const BulkAnswerSchema: v.GenericSchema = v.object({
  message: text,
  data: v.object({
    batchId: text,
    summary: v.object({
      total: number,
      queued: v.exactOptional(number),
      succeeded: v.exactOptional(number),
      duplicate: number,
      failed: number,
    }),
    errors: v.boolean(),
    results: v.array(
      v.object({
        index: number,
        id: text,
        userId: text,
        status: v.picklist(["queued", "succeeded", "duplicate", "failed"]),
        error: v.exactOptional(ErrorSchema),
        transactionId: v.exactOptional(text),
        balanceAfter: v.exactOptional(number),
        version: v.exactOptional(number),
      }),
    ),
  }),
});

/** Sums up the results. `done` is what those are called that went well. */
export function bulkAnswer<R extends ItemResult>(
  batchId: string,
  results: readonly R[],
  done: "queued" | "succeeded",
): BulkAnswer<R> {
  const count = { [done]: 0, duplicate: 0, failed: 0 };
  for (const { status } of results) count[status] = (count[status] ?? 0) + 1;
  return { batchId, summary: { total: results.length, ...count }, errors: count.failed > 0, results };
}

/** Sums up what has become of the items of an earlier request. */
export function batchSummary(batchId: string, results: readonly ItemResult[]): BulkAnswer {
  const count = { queued: 0, succeeded: 0, duplicate: 0, failed: 0 };
  for (const { status } of results) count[status] += 1;
  return { batchId, summary: { total: results.length, ...count }, errors: count.failed > 0, results };
}

/** The error of an item that was given up. */
export function itemErrorOf({
  code,
  message,
}: {
  readonly code: ErrorCode;
  readonly message: string;
}): ItemError {
  return { code, message, pointer: "", retryable: errorFacts[code].retryable };
}

/** An error as an item shows it. What is unexpected tells nothing of the inside. */
export function itemError(error: unknown): ItemError {
  if (!(error instanceof AppError)) {
    return { code: "internal_error", message: "The item failed unexpectedly", pointer: "", retryable: true };
  }
  const { code, message, fields } = error;
  return { code, message, pointer: fields?.[0]?.pointer ?? "", retryable: errorFacts[code].retryable };
}
