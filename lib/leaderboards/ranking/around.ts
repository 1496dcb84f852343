/**
 * The part of a board around one user.
 *
 * The user is found first, then those before and behind; on a sharded board every shard is asked how many of its entries
 * come before the user, and the neighbours are merged from those on both sides of that point. Should the user have left the
 * part by then, it is looked for again. Where ranks do not follow from the part alone, because its first entries are equal
 * or because ranks are dense, the rank of its first entry is counted in one more round trip.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { BoardEntry, ReadBefore, Store } from "../../storage/mod.ts";
import { type BoardLocation, boardKey, distinctKey, entryPartition } from "../scores/board_location.ts";
import { compareBoardEntries, type Ranking } from "./ranking.ts";
import { rankEntries } from "./ranks.ts";

/** Attempts to find a user who keeps moving over the board. */
export const aroundAttemptsMax = 8;

/** Which part of a board to show. */
export interface AroundQuery {
  readonly userId: string;
  /** Number of users, this one included. */
  readonly limit: number;
  /** Users whom the part leaves out, though they keep their ranks; never the user that it is around. @default nobody */
  readonly hidden?: ReadonlySet<string>;
}

/** Entries read on each side beyond those shown while there are hidden users; where it is not enough, all are counted in. */
const spare = 8;

/**
 * Reads the `limit` users around a user: as many before as behind, one more behind where the limit is even, and at the ends
 * of the board more on the other side, so that the part is full if the board has so many entries. Null where the user has
 * no entry.
 *
 * @throws {AppError} `busy`: the user had moved on each time.
 */
export async function readAround(
  store: Store,
  location: BoardLocation,
  query: AroundQuery,
): Promise<Ranking | null> {
  const { userId, limit, hidden = new Set<string>() } = query;
  let beyond = Math.min(spare, hidden.size);
  for (let attempt = 1; attempt <= aroundAttemptsMax; attempt++) {
    const home = await find(store, location, userId);
    if (home === null) return null;
    const part = await readPart(store, location, { home, reach: limit - 1 + beyond });
    const visible = part.entries.filter(({ member }) => member === userId || !hidden.has(member));
    const own = visible.findIndex(({ member }) => member === userId);
    if (own === -1) continue;
    const first = Math.max(0, Math.min(own - Math.floor((limit - 1) / 2), visible.length - limit));
    const window = visible.slice(first, first + limit);
    if (window.length < limit && part.entries.length < part.size && beyond < hidden.size) {
      beyond = hidden.size;
      continue;
    }
    const start = { index: part.offset, rank: await firstRank(store, location, { part, window }) };
    const shown = new Set(window.map(({ member }) => member));
    const users = rankEntries(location, part.entries, start).filter(user => shown.has(user.userId));
    return { entries: users, totalCount: part.size };
  }
  throw new AppError("busy", "Cannot show the part of the leaderboard as the user keeps moving", {
    retryAfterMs: 1_000,
  });
}

/** Where a user stands in the order: the number of entries before the user on each shard. */
type Home = readonly number[];

async function find(store: Store, location: BoardLocation, userId: string): Promise<Home | null> {
  const partition = entryPartition(location, userId);
  const [standing] = await store.read(partition, [
    { type: "standing", key: boardKey, member: userId, position: true },
  ]);
  if (standing === null) return null;
  const { score, tie, position = 0 } = standing;
  const point = { type: "before", key: boardKey, score, tie, member: userId } as const;
  return await Promise.all(
    location.shards.map(async shard => {
      if (shard === partition) return position;
      const [before] = await store.read(shard, [point]);
      return before;
    }),
  );
}

interface Part {
  readonly entries: readonly BoardEntry[];
  /** Number of entries before the first. */
  readonly offset: number;
  readonly size: number;
}

async function readPart(
  store: Store,
  { shards }: BoardLocation,
  { home, reach }: { readonly home: Home; readonly reach: number },
): Promise<Part> {
  const parts = await Promise.all(
    shards.map(async (partition, shard) => {
      const at = home[shard] ?? 0;
      const offset = Math.max(0, at - reach);
      const [before, behind] = await store.read(partition, [
        { type: "board", key: boardKey, offset, limit: at - offset },
        { type: "board", key: boardKey, offset: at, limit: reach + 1 },
      ]);
      return { before: before.entries, behind: behind.entries, size: behind.size };
    }),
  );
  const before = merged(parts.map(part => part.before)).slice(-reach);
  const behind = merged(parts.map(part => part.behind)).slice(0, reach + 1);
  const position = home.reduce((sum, at) => sum + at, 0);
  return {
    entries: [...before, ...behind],
    offset: Math.max(0, position - before.length),
    size: parts.reduce((sum, part) => sum + part.size, 0),
  };
}

function merged(lists: readonly (readonly BoardEntry[])[]): BoardEntry[] {
  const all = lists.flat();
  return lists.length === 1 ? all : all.sort(compareBoardEntries);
}

/** The rank of the first entry of a part; where no entry that is shown rests on it, any. */
async function firstRank(
  store: Store,
  { rankStyle, shards }: BoardLocation,
  { part, window }: { readonly part: Part; readonly window: readonly BoardEntry[] },
): Promise<number> {
  const score = part.entries[0]?.score ?? 0;
  if (part.offset === 0 || rankStyle === "ordinal") return part.offset + 1;
  if (rankStyle === "competition" && window[0]?.score !== score) return part.offset + 1;
  const point: ReadBefore = { type: "before", key: rankStyle === "dense" ? distinctKey : boardKey, score };
  const counts = await Promise.all(shards.map(partition => store.read(partition, [point])));
  return counts.reduce((sum, [before]) => sum + before, 1);
}
