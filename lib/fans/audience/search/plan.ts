/** Plans of searches: the walk that finds the candidates. */

import type { Store } from "../../../storage/mod.ts";
import type { FactsReader } from "../../loyalty/views/loyalty_reader.ts";
import { sampleRanges, userBoards } from "../../users/mod.ts";
import { fieldPrefix, foldedName } from "./columns.ts";
import type { Filter } from "./filter.ts";
import type { ValueRange } from "./filter_demands.ts";
import { invalidSearchCursor, type PositionIn, printPosition, type SearchPosition } from "./search_cursor.ts";
import type { SortOrder } from "./types.ts";
import type { Walk } from "./walks.ts";
import { type BoardOrder, walkAll, walkNamed, walkOrder, walkRange, walkRest } from "./walks.ts";

/** Most users of one shard, on average, for which a range of an index is walked instead of all users. */
const rangeUsersMax = 2_000;
/** Factor by which a range must be smaller than the number of all users. */
const rangeAdvantageMin = 2;

export interface PlanContext {
  readonly store: Store;
  readonly organisationId: string;
  readonly space: FactsReader;
  readonly filter: Filter;
  /** The boards of indexes that may be walked. */
  readonly indexes: ReadonlySet<string>;
  /** Null: in no particular order. */
  readonly sort: SortOrder | null;
}

const metricPrefix = "metrics.";
const everything: ValueRange = { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };

/**
 * Chooses the first position of a search.
 *
 * @param now Users that move in an order after this instant (Unix ms) are skipped.
 */
export async function firstPosition(context: PlanContext, now: number): Promise<SearchPosition> {
  const { sort, filter } = context;
  if (sort !== null)
    return sort.order === "asc" && hasRest(context, sort) ? firstOfRest(now) : firstOfOrder(now);
  if (filter.demands.userIds !== null) return { walk: "named", after: "" };
  const column = await findSmallRange(context);
  if (column !== null) return { walk: "range", column, shard: 0, after: "" };
  return { walk: "all", shard: 0, after: null };
}

/**
 * Returns the walk that continues at a position.
 *
 * @throws {AppError} `validation_failed`: the position belongs to another search.
 */
export async function walkFrom(context: PlanContext, position: SearchPosition): Promise<Walk> {
  const { ranges, userIds } = context.filter.demands;
  switch (position.walk) {
    case "all":
      return walkAll(context, position, ranges.get("createdAt"));
    case "named":
      return walkNamed(position, userIds ?? []);
    case "range": {
      const range = ranges.get(position.column);
      if (range === undefined) throw invalidSearchCursor();
      return walkRange(context, position, { key: boardOf(position.column), ...range });
    }
    case "order":
    case "rest":
      if (context.sort === null) throw invalidSearchCursor();
      return await walkSorted(context, context.sort, position);
  }
}

/** Walks over an order and over the users without an entry in it, who come where the lowest value would. */
async function walkSorted(
  context: PlanContext,
  sort: SortOrder,
  position: PositionIn<"order" | "rest">,
): Promise<Walk> {
  const order = boardOrderOf(context, sort);
  const begin = async (at: PositionIn<"order" | "rest">): Promise<Walk> =>
    at.walk === "order" ? await walkOrder(context, at, order) : walkRest(context, at, order);
  let walk = await begin(position);
  let current = position.walk;
  return {
    async next(count) {
      const part = await walk.next(count);
      if (part.position !== null) return part;
      const isFirst =
        current === "order" ? sort.order === "desc" && hasRest(context, sort) : sort.order === "asc";
      if (!isFirst) return part;
      const following = current === "order" ? firstOfRest(position.at) : firstOfOrder(position.at);
      current = following.walk;
      walk = await begin(following);
      return { ...part, position: printPosition(following) };
    },
  };
}

function firstOfOrder(at: number): PositionIn<"order"> {
  return { walk: "order", at, after: null };
}

function firstOfRest(at: number): PositionIn<"rest"> {
  return { walk: "rest", at, shard: 0, after: null };
}

/** Tells whether users without an entry in an order may match. Every user has a time of creation. */
function hasRest({ filter, space }: PlanContext, { field }: SortOrder): boolean {
  if (field === "createdAt") return false;
  const range = filter.demands.ranges.get(field);
  if (range === undefined) return true;
  return field.startsWith(metricPrefix) && contains(range, defaultOf(space, field));
}

function boardOrderOf({ filter }: PlanContext, { field, order }: SortOrder): BoardOrder {
  const { ranges, userIds } = filter.demands;
  const moves = field === "createdAt" ? "never" : field === "lastActiveAt" ? "score" : "tie";
  return { key: boardOf(field), direction: order, moves, range: ranges.get(field), userIds };
}

/** Finds the column whose demanded range of an index is small enough to be walked; null if there is none. */
async function findSmallRange(context: PlanContext): Promise<string | null> {
  const { store, organisationId, filter, indexes, space } = context;
  const { ranges } = filter.demands;
  const usable = [...ranges].filter(([column, range]) => {
    if (column === "lastActiveAt") return true;
    const lacksEntries = column.startsWith(metricPrefix) && contains(range, defaultOf(space, column));
    return indexes.has(boardOf(column)) && !lacksEntries;
  });
  if (usable.length === 0) return null;
  const [all = 0, ...counts] = await sampleRanges(store, organisationId, [
    { key: userBoards.created, ...(ranges.get("createdAt") ?? everything) },
    ...usable.map(([column, range]) => ({ key: boardOf(column), ...range })),
  ]);
  const smallest = Math.min(...counts);
  if (smallest > rangeUsersMax || smallest * rangeAdvantageMin > all) return null;
  return usable[counts.indexOf(smallest)]?.[0] ?? null;
}

function boardOf(column: string): string {
  if (column === "createdAt") return userBoards.created;
  if (column === "lastActiveAt") return userBoards.active;
  if (column === foldedName) return userBoards.name;
  if (column.startsWith(fieldPrefix)) return userBoards.field(column.slice(fieldPrefix.length));
  return userBoards.metric(column.slice(metricPrefix.length));
}

/** Returns the value of a metric for users without an entry in its index. */
function defaultOf(space: FactsReader, column: string): number {
  return space.metrics.get(column.slice(metricPrefix.length)) ?? 0;
}

function contains({ min, max }: ValueRange, value: number): boolean {
  return value >= min && value <= max;
}
