/**
 * Results of bulk requests: one per item, in the order of the items.
 *
 * @module
 */

import * as v from "valibot";
import { mapConcurrent } from "../../background/mod.ts";
import { AppError, type ErrorCode, publicMessage } from "../../errors/mod.ts";
import { causesOf, errorFacts, type Immutable, type Logger, named } from "../../http/mod.ts";

const text = v.string();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const ItemErrorSchema = named(
  "ItemError",
  v.object({
    code: text,
    message: text,
    pointer: v.pipe(text, v.description("JSON Pointer of the invalid member; empty for the item as a whole")),
    retryable: v.pipe(v.boolean(), v.description("Whether the same item may succeed later")),
  }),
);

const ItemResultSchema = named(
  "ItemResult",
  v.object({
    index: count,
    id: v.pipe(text, v.description("The id under which the item takes effect once")),
    userId: text,
    status: v.picklist(["queued", "succeeded", "duplicate", "failed"]),
    error: v.exactOptional(ItemErrorSchema),
    transactionId: v.exactOptional(
      v.pipe(text, v.description("The transaction of a reward or of changed metrics")),
    ),
    balanceAfter: v.exactOptional(
      v.pipe(v.number(), v.description("The balance of the metric after a reward")),
    ),
    version: v.exactOptional(v.pipe(count, v.description("The version of a profile after its update"))),
  }),
);

/** The results of a bulk request with their totals. */
export const BulkResultSchema = named(
  "BulkResult",
  v.object({
    batchId: text,
    summary: v.object({
      total: count,
      queued: v.exactOptional(count),
      succeeded: v.exactOptional(count),
      duplicate: count,
      failed: count,
    }),
    errors: v.pipe(v.boolean(), v.description("Whether any item failed")),
    results: v.array(ItemResultSchema),
  }),
);

/** The reason why an item failed. */
export type ItemError = Readonly<v.InferOutput<typeof ItemErrorSchema>>;
/** The result of an item. */
export type ItemResult = Immutable<v.InferOutput<typeof ItemResultSchema>>;
/** The results of a bulk request with their totals. */
export type BulkResult = Immutable<v.InferOutput<typeof BulkResultSchema>>;

/** Counts the results by status. `reported` are the statuses that the summary has besides `duplicate` and `failed`. */
export function bulkResult(
  batchId: string,
  results: readonly ItemResult[],
  ...reported: readonly ("queued" | "succeeded")[]
): BulkResult {
  const counts = { queued: 0, succeeded: 0, duplicate: 0, failed: 0 };
  for (const { status } of results) counts[status] += 1;
  const { duplicate, failed } = counts;
  const successes = Object.fromEntries(reported.map(status => [status, counts[status]]));
  const summary = { total: results.length, ...successes, duplicate, failed };
  return { batchId, summary, errors: failed > 0, results };
}

/** Code and message of an error. */
interface Fault {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Returns the error of an item that was given up. */
export function itemErrorOf(fault: Fault, pointer = ""): ItemError {
  const { code } = fault;
  return { code, message: publicMessage(fault), pointer, retryable: errorFacts[code].retryable };
}

/** Converts the errors of items of a request for its caller. The log gets what is not the caller's fault, one line a request. */
export class ItemErrors {
  readonly #logger: Logger;
  #isLogged = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  of(error: unknown): ItemError {
    const appError = error instanceof AppError ? error : null;
    const code = appError?.code ?? "internal_error";
    if (errorFacts[code].status >= 500 && !this.#isLogged) {
      this.#isLogged = true;
      this.#logger.log("warn", "item_failed", { code, error: causesOf(error) });
    }
    return itemErrorOf({ code, message: appError?.message ?? "" }, appError?.fields?.[0]?.pointer);
  }
}

/** Groups items by a key, in their order. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

/** Users of one bulk request that are worked on concurrently. */
const concurrentUsersMax = 32;

type ItemOutcome = Omit<ItemResult, "index" | "id" | "userId">;

/**
 * Applies items, those of one user in their order and users concurrently. Returns the result of each item in the given order;
 * an error of `apply` becomes the error of its item.
 */
export async function applyPerUser<T extends { readonly userId: string }>(
  items: readonly T[],
  idOf: (item: T, index: number) => string,
  apply: (item: T) => Promise<ItemOutcome>,
  logger: Logger,
): Promise<readonly ItemResult[]> {
  const errors = new ItemErrors(logger);
  const results: ItemResult[] = [];
  const users = groupBy([...items.entries()], ([, { userId }]) => userId);
  await mapConcurrent(users, concurrentUsersMax, async entries => {
    for (const [index, item] of entries) {
      const outcome = await apply(item).catch(
        (error): ItemOutcome => ({ status: "failed", error: errors.of(error) }),
      );
      results[index] = { index, id: idOf(item, index), userId: item.userId, ...outcome };
    }
  });
  return results;
}
