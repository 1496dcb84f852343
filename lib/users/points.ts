/**
 * Going on with a board at a point of its order, however many entries have come or gone before it.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";
import type { BoardEntry, Partition, ReadBoard, Store } from "../storage/mod.ts";
import { compareUtf8 } from "../text/mod.ts";

/** How often a part of a board is read anew because entries before it came or went in between. */
export const partAttemptsMax = 16;

/** In which direction a board is walked. */
export type WalkDirection = "asc" | "desc";

/** A part of a board. */
export interface BoardPageQuery {
  readonly key: string;
  readonly direction: WalkDirection;
  /** The entry after which the part begins; null: the first one of the direction. */
  readonly after: BoardEntry | null;
  /** Only scores from here. @default all */
  readonly min?: number | undefined;
  /** Only scores up to here. @default all */
  readonly max?: number | undefined;
  readonly limit: number;
}

/** A part of a board in the direction of the walk. */
export interface BoardPage {
  readonly entries: readonly BoardEntry[];
  /** Whether nothing was left beyond the part. */
  readonly isEnd: boolean;
}

/** Compares entries by the order of boards. */
export function compareUserEntries(left: BoardEntry, right: BoardEntry): number {
  return left.score - right.score || left.tie - right.tie || compareUtf8(left.member, right.member);
}

/** Whether an entry comes after a point in a direction. */
export function isAfter(entry: BoardEntry, point: BoardEntry | null, direction: WalkDirection): boolean {
  if (point === null) return true;
  const order = compareUserEntries(entry, point);
  return direction === "asc" ? order > 0 : order < 0;
}

/**
 * The entries that follow a point: one read, but for runs of equal scores that are longer than the part.
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
  const low = isUp && after !== null ? Math.max(after.score, query.min ?? after.score) : query.min;
  const high = !isUp && after !== null ? Math.min(after.score, query.max ?? after.score) : query.max;
  const [{ entries: found }] = await store.read(partition, [
    boardRead({ key, limit, reverse: !isUp }, low, high),
  ]);
  const entries = found.filter(entry => isAfter(entry, after, direction));
  if (after === null || entries.length > 0 || found.length < limit) {
    return { entries, isEnd: found.length < limit };
  }
  return await partByPosition(store, partition, { ...query, after });
}

/**
 * A run of equal scores is found again by its position: the number of entries before the point. Both are read at one
 * instant, so nothing is passed over where entries before the point come and go.
 */
async function partByPosition(
  store: Store,
  partition: Partition,
  { key, direction, after, min, max, limit }: BoardPageQuery & { readonly after: BoardEntry },
): Promise<BoardPage> {
  const { score, tie, member } = after;
  const isUp = direction === "asc";
  // No text stands between a member and the same with this character, so the point is just behind the member.
  const point = { type: "before", key, score, tie, member: isUp ? `${member}\u0000` : member } as const;
  let [position] = await store.read(partition, [point]);
  for (let attempt = 1; attempt <= partAttemptsMax; attempt++) {
    const count = isUp ? limit : Math.min(limit, position);
    if (count === 0) return { entries: [], isEnd: true };
    const offset = isUp ? position : position - count;
    const [now, { entries: found }] = await store.read(partition, [
      point,
      { type: "board", key, offset, limit: count },
    ]);
    if (now === position) {
      const inside = found.filter(
        entry => entry.score >= (min ?? entry.score) && entry.score <= (max ?? entry.score),
      );
      const isEnd = inside.length < found.length || (isUp ? found.length < count : offset === 0);
      return { entries: isUp ? inside : inside.toReversed(), isEnd };
    }
    position = now;
  }
  throw new AppError("busy", "Cannot go on with the board as it changes too fast");
}

function boardRead(
  board: Pick<ReadBoard, "key" | "limit" | "reverse">,
  min: number | undefined,
  max: number | undefined,
): ReadBoard {
  return {
    type: "board",
    ...board,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
}
