/**
 * How a search goes about it: by which walk it finds those who may fit.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { sampleRanges, type UserRange, userBoards } from "../../users/mod.ts";
import type { Bounds } from "./demands.ts";
import type { SpaceFacts } from "./facts.ts";
import type { Filter } from "./filter.ts";
import { type Place, printPlace } from "./search_cursor.ts";
import type { Walk } from "./shard_walk.ts";
import type { Sort } from "./sort.ts";
import { type SortOrder, walkAll, walkNamed, walkOrder, walkRange, walkRest } from "./walks.ts";

/** Most users of one shard, on average, for whom a part of an index is walked instead of all users. */
export const rangeUsersMax = 2_000;
/** How much smaller a part of an index must be than what would be walked without it. */
export const rangeAdvantageMin = 2;

/** What a plan depends on. */
export interface PlanContext {
  readonly store: Store;
  readonly organisationId: string;
  readonly space: SpaceFacts;
  readonly filter: Filter;
  /** Metrics with an index that is whole. */
  readonly built: ReadonlySet<string>;
  /** Null: in no particular order. */
  readonly sort: Sort | null;
}

const metricPrefix = "metrics.";
const everything: Bounds = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };

/**
 * Where a search begins.
 *
 * @param now The instant (Unix ms) after which users that move in an order are left out.
 */
export async function firstPlace(context: PlanContext, now: number): Promise<Place> {
  const { sort, filter } = context;
  if (sort !== null) {
    const begins = sort.order === "asc" && hasRest(context, sort) ? firstOfRest(now) : firstOfOrder(now);
    return begins;
  }
  if (filter.demands.userIds !== null) return { walk: "named", after: "" };
  const column = await smallRange(context);
  if (column !== null) return { walk: "range", column, shard: 0, after: "" };
  return { walk: "all", shard: 0, after: null };
}

/**
 * The walk that goes on at a place.
 *
 * @throws {AppError} `validation_failed`: the place belongs to another search.
 */
export function walkAt(context: PlanContext, place: Place): Walk | Promise<Walk> {
  const { demands } = context.filter;
  switch (place.walk) {
    case "all":
      return walkAll(context, place, demands.bounds.get("createdAt"));
    case "named":
      return walkNamed(place, demands.userIds ?? []);
    case "range": {
      const range = rangeOf(place.column, demands.bounds.get(place.column));
      if (range === null) throw foreign();
      return walkRange(context, place, range);
    }
    case "order":
    case "rest":
      if (context.sort === null) throw foreign();
      return walkSorted(context, context.sort, place);
  }
}

/** A sorted walk has those whom the order does not have before or behind it, as if their value were the lowest. */
async function walkSorted(
  context: PlanContext,
  sort: Sort,
  place: Extract<Place, { walk: "order" | "rest" }>,
): Promise<Walk> {
  const order = orderOf(context, sort);
  const begin = async (at: typeof place): Promise<Walk> =>
    at.walk === "order" ? await walkOrder(context, at, order) : walkRest(context, at, order);
  let walk = await begin(place);
  let here = place.walk;
  return {
    async next(count) {
      const part = await walk.next(count);
      if (part.place !== null) return part;
      const follows =
        here === "order" ? sort.order === "desc" && hasRest(context, sort) : sort.order === "asc";
      if (!follows) return part;
      const following = here === "order" ? firstOfRest(place.at) : firstOfOrder(place.at);
      here = following.walk;
      walk = await begin(following);
      return { ...part, place: printPlace(following) };
    },
  };
}

function firstOfOrder(at: number): Extract<Place, { walk: "order" }> {
  return { walk: "order", at, after: null };
}

function firstOfRest(at: number): Extract<Place, { walk: "rest" }> {
  return { walk: "rest", at, shard: 0, after: null };
}

/** Whether users whom an order does not have may fit. Everybody was created. */
function hasRest({ filter, space }: PlanContext, { field }: Sort): boolean {
  if (field === "createdAt") return false;
  const bounds = filter.demands.bounds.get(field);
  if (bounds === undefined) return true;
  return field.startsWith(metricPrefix) && holds(bounds, valueOfNone(space, field));
}

function orderOf({ filter }: PlanContext, { field, order }: Sort): SortOrder {
  const { bounds, userIds } = filter.demands;
  const moves = field === "createdAt" ? "never" : field === "lastActiveAt" ? "score" : "tie";
  return { key: boardOf(field), direction: order, moves, bounds: bounds.get(field), userIds };
}

/** The column by which a part of an index is small enough to be walked; null: there is none. */
async function smallRange({
  store,
  organisationId,
  filter,
  built,
  space,
}: PlanContext): Promise<string | null> {
  const { bounds } = filter.demands;
  const usable = [...bounds].filter(
    ([column, demanded]) =>
      column === "lastActiveAt" ||
      (built.has(column.slice(metricPrefix.length)) &&
        column.startsWith(metricPrefix) &&
        !holds(demanded, valueOfNone(space, column))),
  );
  if (usable.length === 0) return null;
  const created = bounds.get("createdAt") ?? everything;
  const ranges = usable.map(([column, demanded]) => ({ key: boardOf(column), ...demanded }));
  const [all = 0, ...counts] = await sampleRanges(store, organisationId, [
    { key: userBoards.created, ...created },
    ...ranges,
  ]);
  const smallest = Math.min(...counts);
  if (smallest > rangeUsersMax || smallest * rangeAdvantageMin > all) return null;
  return usable[counts.indexOf(smallest)]?.[0] ?? null;
}

function rangeOf(column: string, bounds: Bounds | undefined): UserRange | null {
  return bounds === undefined ? null : { key: boardOf(column), ...bounds };
}

function boardOf(column: string): string {
  if (column === "createdAt") return userBoards.created;
  if (column === "lastActiveAt") return userBoards.active;
  return userBoards.metric(column.slice(metricPrefix.length));
}

/** What a metric is for users whom its index does not have. */
function valueOfNone(space: SpaceFacts, column: string): number {
  return space.metrics.get(column.slice(metricPrefix.length)) ?? 0;
}

function holds({ min, max }: Bounds, value: number): boolean {
  return value >= min && value <= max;
}

function foreign(): AppError {
  return new AppError(
    "validation_failed",
    "Cannot go on with the search as its cursor belongs to another one",
    {
      fields: [{ pointer: "cursor", detail: "Expected the cursor of a page of this search" }],
    },
  );
}
