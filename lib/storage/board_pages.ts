/** Reads a board page by page while it changes: each page continues after an entry, not at an offset. */

import { AppError } from "../base/errors/mod.ts";
import { compareUtf8 } from "../base/text/mod.ts";
import {
  type BoardEntry,
  type Partition,
  type Read,
  type ReadBoard,
  type Results,
  type Store,
  storageLimits,
} from "./contract.ts";

/** Most attempts to read a page, which is repeated if entries before it came or went meanwhile. */
const pageAttemptsMax = 16;
/** Number of entries that a page found by position reaches back, so that few changes before it force another attempt. */
const overlap = 50;

/** The direction in which a board is read. */
export type WalkDirection = "asc" | "desc";

export interface BoardPageQuery {
  readonly key: string;
  readonly direction: WalkDirection;
  /** The entry after which the page begins; null: the first one of the direction. */
  readonly after: BoardEntry | null;
  /** Only scores from here. @default all */
  readonly min?: number | undefined;
  /** Only scores up to here. @default all */
  readonly max?: number | undefined;
  readonly limit: number;
}

interface BoardPage {
  readonly entries: readonly BoardEntry[];
  /** True if no entry was left beyond the page. */
  readonly isEnd: boolean;
}

/** Compares entries by the order of boards: score, tie, then the bytes of the member. */
export function compareBoardEntries(left: BoardEntry, right: BoardEntry): number {
  return left.score - right.score || left.tie - right.tie || compareUtf8(left.member, right.member);
}

/** Tells whether an entry follows a point in a direction; every entry follows null. */
export function isEntryAfter(entry: BoardEntry, point: BoardEntry | null, direction: WalkDirection): boolean {
  if (point === null) return true;
  const order = compareBoardEntries(entry, point);
  return direction === "asc" ? order > 0 : order < 0;
}

/**
 * Reads the page after an entry: one round trip, except within runs of equal scores that are longer than the page.
 *
 * @throws {AppError} `busy`: the board changes faster than it can be read.
 */
export async function readPageAfter(
  store: Store,
  partition: Partition,
  query: BoardPageQuery,
): Promise<BoardPage> {
  const { key, direction, after, limit } = query;
  const isUp = direction === "asc";
  const min = isUp && after !== null ? Math.max(after.score, query.min ?? after.score) : query.min;
  const max = !isUp && after !== null ? Math.min(after.score, query.max ?? after.score) : query.max;
  const read: ReadBoard = {
    type: "board",
    key,
    limit,
    reverse: !isUp,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
  const [{ entries: found }] = await store.read(partition, [read]);
  const entries = found.filter(entry => isEntryAfter(entry, after, direction));
  if (after === null || entries.length > 0 || found.length < limit) {
    return { entries, isEnd: found.length < limit };
  }
  return await readPageByPosition(store, partition, { ...query, after });
}

/**
 * Finds the page within a run of equal scores by the number of entries before the point. Point and page are read at one
 * instant, so that no entry is skipped: if the page no longer touches the point, it is read again.
 */
async function readPageByPosition(
  store: Store,
  partition: Partition,
  query: BoardPageQuery & { readonly after: BoardEntry },
): Promise<BoardPage> {
  const { key, direction, after, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = query;
  const isUp = direction === "asc";
  const { score, tie } = after;
  // No text sorts between a member and the same text with this character, so the point is just behind the member.
  const member = isUp ? `${after.member}\u0000` : after.member;
  const point = { type: "before", key, score, tie, member } as const;
  const limit = Math.min(query.limit + overlap, storageLimits.rangeLimitMax);
  const reach = isUp ? Math.min(overlap, limit - 1) : Math.min(query.limit, limit);
  let [position] = await store.read(partition, [point]);
  for (let attempt = 1; attempt <= pageAttemptsMax; attempt++) {
    const offset = Math.max(0, position - reach);
    const [now, { entries: found }] = await store.read(partition, [
      point,
      { type: "board", key, offset, limit },
    ]);
    const isBoardEnd = isUp ? found.length < limit : offset === 0;
    const touches = isUp ? offset <= now : now <= offset + limit;
    const following = found.filter(entry => isEntryAfter(entry, after, direction));
    if (touches && (following.length > 0 || isBoardEnd)) {
      const ordered = isUp ? following : following.toReversed();
      const inside = ordered.filter(entry => entry.score >= min && entry.score <= max);
      const isEnd = inside.length < ordered.length || isBoardEnd;
      return { entries: inside.slice(0, query.limit), isEnd: isEnd && inside.length <= query.limit };
    }
    position = now;
  }
  throw new AppError("busy", "Cannot read on in the board as it changes too fast");
}

/** Returns the results of queries in their order. */
export async function readMany<Q extends Read>(
  store: Store,
  partition: Partition,
  queries: readonly Q[],
): Promise<readonly Results<readonly Q[]>[number][]> {
  const { readsMax } = storageLimits;
  const starts = Array.from({ length: Math.ceil(queries.length / readsMax) }, (_, part) => part * readsMax);
  const parts = await Promise.all(
    starts.map(start => store.read(partition, queries.slice(start, start + readsMax))),
  );
  return parts.flat();
}
