/** Results of bulk requests: one per item, in the order of the items. */

import * as v from "valibot";
import { AppError, type ErrorCode, isOutcomeUnknown, publicMessage } from "../../../base/errors/mod.ts";
import { causesOf, errorFacts } from "../../../http/errors/failure.ts";
import { type Immutable, type Logger, named, type Timer } from "../../../http/mod.ts";
import { createPause, groupBy, mapConcurrent, retry } from "../../../storage/background/mod.ts";

const text = v.string();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** The reason why an item failed, as answers show it. */
export const ItemErrorSchema = named(
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
    status: v.pipe(
      v.picklist(["queued", "succeeded", "duplicate", "failed", "unknown"]),
      v.description(
        "A failed item was not applied. One whose status is unknown may have been: the store did not answer for several seconds",
      ),
    ),
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
      unknown: v.exactOptional(
        v.pipe(count, v.description("Items of which it could not be found out whether they were applied")),
      ),
    }),
    errors: v.pipe(v.boolean(), v.description("Whether any item failed or is of unknown status")),
    results: v.array(ItemResultSchema),
  }),
);

export type ItemError = Readonly<v.InferOutput<typeof ItemErrorSchema>>;
export type ItemResult = Immutable<v.InferOutput<typeof ItemResultSchema>>;
export type BulkResult = Immutable<v.InferOutput<typeof BulkResultSchema>>;

/** Counts the results by status. `reported` are the statuses that the summary has besides `duplicate` and `failed`. */
export function bulkResult(
  batchId: string,
  results: readonly ItemResult[],
  ...reported: readonly ("queued" | "succeeded")[]
): BulkResult {
  const counts = { queued: 0, succeeded: 0, duplicate: 0, failed: 0, unknown: 0 };
  for (const { status } of results) counts[status] += 1;
  const { duplicate, failed, unknown } = counts;
  const successes = Object.fromEntries(reported.map(status => [status, counts[status]]));
  const summary = {
    total: results.length,
    ...successes,
    duplicate,
    failed,
    ...(unknown === 0 ? {} : { unknown }),
  };
  return { batchId, summary, errors: failed + unknown > 0, results };
}

interface Fault {
  readonly code: ErrorCode;
  readonly message: string;
}

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

  /** Returns the status and the error of an item that could not be applied, or of which that is unknown. */
  outcomeOf(error: unknown): ItemOutcome {
    return { status: isOutcomeUnknown(error) ? "unknown" : "failed", error: this.#of(error) };
  }

  #of(error: unknown): ItemError {
    const appError = error instanceof AppError ? error : null;
    const code = appError?.code ?? "internal_error";
    if (errorFacts[code].status >= 500 && !this.#isLogged) {
      this.#isLogged = true;
      this.#logger.log("warn", "item_failed", { code, error: causesOf(error) });
    }
    return itemErrorOf({ code, message: appError?.message ?? "" }, appError?.fields?.[0]?.pointer);
  }
}

/** Users of one bulk request that are worked on concurrently. */
const concurrentUsersMax = 32;

/** Pauses before an item of unknown outcome is applied again, in ms. */
const pausesMs: readonly number[] = [100, 200, 400, 800, 1_600, 3_200];

type ItemOutcome = Omit<ItemResult, "index" | "id" | "userId">;

export interface ItemServices {
  readonly logger: Logger;
  readonly timer: Timer;
}

/**
 * Applies items, those of one user in their order and users concurrently. Returns the result of each item in the given order;
 * an error of `apply` becomes the error of its item. `apply` must recognise an item that it has applied: where the outcome is
 * unknown, it is called again until the store tells.
 */
export async function applyPerUser<T extends { readonly userId: string }>(
  items: readonly T[],
  idOf: (item: T, index: number) => string,
  apply: (item: T, index: number) => Promise<ItemOutcome>,
  { logger, timer }: ItemServices,
): Promise<readonly ItemResult[]> {
  const errors = new ItemErrors(logger);
  const results: ItemResult[] = [];
  const users = groupBy([...items.entries()], ([, { userId }]) => userId);
  // One item waits out an outage for all that follow.
  let hasGivenUp = false;
  const pause = createPause();
  await mapConcurrent(users, concurrentUsersMax, async entries => {
    for (const [index, item] of entries) {
      // A store in memory answers at once, so that nothing else would run meanwhile.
      await pause();
      const outcome = await findOutcome(() => apply(item, index), hasGivenUp ? [] : pausesMs, timer).catch(
        error => errors.outcomeOf(error),
      );
      hasGivenUp = outcome.status === "unknown";
      results[index] = { index, id: idOf(item, index), userId: item.userId, ...outcome };
    }
  });
  return results;
}

/** Applies an item, again while its outcome is unknown. Only an error that comes from its current state then says that it failed. */
async function findOutcome(
  apply: () => Promise<ItemOutcome>,
  pauses: readonly number[],
  timer: Timer,
): Promise<ItemOutcome> {
  let unknown: unknown = null;
  const isRetryable = (error: unknown): boolean => {
    if (isOutcomeUnknown(error)) unknown ??= error;
    return unknown !== null && leavesOpen(error);
  };
  const pause = { timer, ms: (attempt: number) => pauses[attempt - 1] ?? 0 };
  return await retry(apply, { attemptsMax: pauses.length + 1, isRetryable, pause }).catch(error => {
    throw isRetryable(error) ? unknown : error;
  });
}

/** True for errors that say nothing of an earlier attempt. */
function leavesOpen(error: unknown): boolean {
  return !(error instanceof AppError) || openCodes.has(error.code);
}

const openCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "outcome_unknown",
  "storage_unavailable",
  "busy",
  "conflict",
  "internal_error",
]);
