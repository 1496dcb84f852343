/**
 * Reads the part of a board around one user.
 *
 * A board in one partition answers with the part itself, and with the rank of its first entry unless ranks are dense: then one
 * more read counts it. On a sharded board the first read finds the user's position and the second reads the entries around it,
 * both from every shard. If the user has left that part meanwhile, both are repeated. If the rank of the first entry does not
 * follow from the part alone, one more read counts it.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import {
  type BoardEntry,
  compareBoardEntries,
  type ReadBefore,
  type ReadBoard,
  type Store,
  storageLimits,
} from "../../../storage/mod.ts";
import { type BoardLocation, boardKey, distinctKey, entryPartition } from "../scores/board_location.ts";
import { type Ranking, rankEntries } from "./ranking.ts";

const attemptsMax = 8;
const { rangeLimitMax } = storageLimits;

/** Selects a part of a board. */
export interface AroundQuery {
  readonly userId: string;
  /** Number of entries, the user's own included. */
  readonly limit: number;
  /** Users to leave out, though they keep their ranks; never the user of the query. @default none */
  readonly hidden?: ReadonlySet<string>;
}

/** Entries to read on each side beyond the part while users are hidden; if they do not suffice, more are read. */
const spareMax = 8;

/**
 * Reads the `limit` entries around a user: as many before as behind, one more behind where the limit is even. At the ends of
 * the board the other side is longer, so that the part is full if the board has enough entries. Null: the user has no entry.
 * It is also longer on one side where nearly 500 hidden users stand side by side on the other.
 *
 * @throws {AppError} `busy`: the user of a sharded board had moved on each time.
 */
export async function readAround(
  store: Store,
  location: BoardLocation,
  query: AroundQuery,
): Promise<Ranking | null> {
  const { userId, limit, hidden = new Set() } = query;
  const half = Math.floor((limit - 1) / 2);
  const read = location.shards.length === 1 ? readPart : readShardedPart;
  for (let spare = Math.min(spareMax, hidden.size); ; spare = hidden.size) {
    const part = await read(store, location, { userId, limit: Math.min(limit + 2 * spare, rangeLimitMax) });
    if (part === null) return null;
    const { entries, offset, size } = part;
    const visible = entries.filter(({ member }) => member === userId || !hidden.has(member));
    const index = visible.findIndex(({ member }) => member === userId);
    const behind = visible.length - index;
    const lacksBefore = offset > 0 && index < Math.max(half, limit - behind);
    const lacksBehind = offset + entries.length < size && behind < limit - Math.min(index, half);
    if ((lacksBefore || lacksBehind) && spare < hidden.size) continue;
    const first = Math.max(0, Math.min(index - half, visible.length - limit));
    const shown = visible.slice(first, first + limit);
    const rank = await firstRank(store, location, part, shown);
    const ranked = rankEntries(location, entries, { index: offset, rank });
    const members = new Set(shown.map(({ member }) => member));
    return { entries: ranked.filter(entry => members.has(entry.userId)), totalCount: size };
  }
}

/** Consecutive entries of a board. */
interface Part {
  readonly entries: readonly BoardEntry[];
  /** Number of entries before the first. */
  readonly offset: number;
  readonly size: number;
  /** Number of entries with a better score than the first. */
  readonly below?: number;
}

type PartQuery = Pick<AroundQuery, "userId" | "limit">;

async function readPart(
  store: Store,
  { shards }: BoardLocation,
  { userId, limit }: PartQuery,
): Promise<Part | null> {
  const [part] = await store.read(shards[0], [{ type: "around", key: boardKey, member: userId, limit }]);
  return part;
}

/** Reads one entry more on each side, from which the rank of the first shown one mostly follows. */
async function readShardedPart(
  store: Store,
  location: BoardLocation,
  { userId, limit }: PartQuery,
): Promise<Part | null> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const found = await findUser(store, location, userId);
    if (found === null) return null;
    const wider = { userId, limit: Math.min(limit + 2, rangeLimitMax) };
    const part = await mergeParts(store, location, found, wider);
    if (part !== null) return part;
  }
  throw new AppError("busy", "Cannot show the part of the leaderboard as the user keeps moving", {
    retryAfterMs: 1_000,
  });
}

interface FoundUser {
  /** Number of entries before the user on each shard. */
  readonly positions: readonly number[];
  readonly size: number;
}

const sizeQuery: ReadBoard = { type: "board", key: boardKey, limit: 0 };

async function findUser(store: Store, location: BoardLocation, userId: string): Promise<FoundUser | null> {
  const partition = entryPartition(location, userId);
  const [standing, range] = await store.read(partition, [
    { type: "standing", key: boardKey, member: userId, position: true },
    sizeQuery,
  ]);
  if (standing === null) return null;
  const { score, tie, position = 0 } = standing;
  const point: ReadBefore = { type: "before", key: boardKey, score, tie, member: userId };
  const shards = await Promise.all(
    location.shards.map(async shard => {
      if (shard === partition) return { position, size: range.size };
      const [before, { size }] = await store.read(shard, [point, sizeQuery]);
      return { position: before, size };
    }),
  );
  return { positions: shards.map(shard => shard.position), size: sum(shards.map(({ size }) => size)) };
}

/** Reads the entries around the user's position from every shard; null: the user is not among them. */
async function mergeParts(
  store: Store,
  { shards }: BoardLocation,
  { positions, size }: FoundUser,
  { userId, limit }: PartQuery,
): Promise<Part | null> {
  const position = sum(positions);
  const before = position - Math.max(0, Math.min(position - Math.floor((limit - 1) / 2), size - limit));
  const behind = limit - before;
  const ranges = await Promise.all(
    shards.map(async (partition, shard) => {
      const at = positions[shard] ?? 0;
      const offset = Math.max(0, at - before);
      const [range] = await store.read(partition, [
        { type: "board", key: boardKey, offset, limit: at - offset + behind },
      ]);
      return range;
    }),
  );
  const entries = ranges.flatMap(range => range.entries).sort(compareBoardEntries);
  const index = entries.findIndex(({ member }) => member === userId);
  if (index === -1) return null;
  const start = Math.max(0, index - before);
  return {
    entries: entries.slice(start, index + behind),
    offset: Math.max(0, position - (index - start)),
    size: sum(ranges.map(range => range.size)),
  };
}

/** Returns the rank of the first entry of a part; any number where no shown entry depends on it. */
async function firstRank(
  store: Store,
  { rankStyle, shards }: BoardLocation,
  { entries, offset, below }: Part,
  shown: readonly BoardEntry[],
): Promise<number> {
  const score = entries[0]?.score ?? 0;
  if (offset === 0 || rankStyle === "ordinal") return offset + 1;
  if (rankStyle === "competition") {
    if (below !== undefined) return below + 1;
    if (shown[0]?.score !== score) return offset + 1;
  }
  const point: ReadBefore = { type: "before", key: rankStyle === "dense" ? distinctKey : boardKey, score };
  const counts = await Promise.all(shards.map(partition => store.read(partition, [point])));
  return sum(counts.map(([before]) => before)) + 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
