/**
 * Reads the leading entries of a board and single entries, with their ranks.
 *
 * Ranks follow from the order of the board and are never stored. A board in one partition is read at one instant. The shards
 * of a larger one are read at the same time but not at one instant: while it changes, a rank may be off by what changed
 * between two reads.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { shardOf } from "../../../base/text/mod.ts";
import { retry } from "../../../storage/background/mod.ts";
import { compareBoardEntries } from "../../../storage/board_pages.ts";
import {
  type BoardEntry,
  type ReadBefore,
  type ReadBoard,
  type ReadStanding,
  type Standing,
  type Store,
  storageLimits,
} from "../../../storage/mod.ts";
import {
  type BoardLocation,
  boardKey,
  distinctKey,
  entryPartition,
  fromStoredScore,
} from "../scores/resolve_board.ts";

export interface RankedEntry {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
}

export interface Ranking {
  readonly entries: readonly RankedEntry[];
  readonly totalCount: number;
}

interface RankingQuery {
  readonly limit: number;
  /** Users to add, wherever they rank; those without an entry are left out. */
  readonly include: readonly string[];
  /** Users to leave out, though they keep their ranks. @default none */
  readonly hidden?: ReadonlySet<string>;
}

/** Entries to read beyond the page while users are hidden; if they do not suffice, the page is read again. */
const spare = 8;

/** Reads the leading entries and those of the included users, each once, in order. */
export function readRanking(store: Store, location: BoardLocation, query: RankingQuery): Promise<Ranking> {
  const { limit, include, hidden } = query;
  const isPlain = include.length === 0 && location.shards.length === 1 && (hidden?.size ?? 0) === 0;
  if (!isPlain) return readParted(store, location, query);
  return store.read(location.shards[0], [leadersQuery(limit)]).then(([{ entries, size }]) => ({
    entries: rankEntries(location, entries),
    totalCount: size,
  }));
}

async function readParted(
  store: Store,
  location: BoardLocation,
  { limit, include, hidden }: RankingQuery,
): Promise<Ranking> {
  if (hidden !== undefined && hidden.size > 0) {
    return await readVisible(store, location, { limit, include, hidden });
  }
  const { leaders, included, size } = await readParts(store, location, limit, include);
  return withIncluded(rankEntries(location, leaders), included, size);
}

/** Reads one user's entry, and the share of entries that rank there or below; null where there is none. */
export async function readUserEntry(
  store: Store,
  location: BoardLocation,
  userId: string,
): Promise<UserEntry | null> {
  if (location.shards.length > 1 || location.rankStyle === "dense") {
    const { included, size } = await readParts(store, location, 0, [userId]);
    const [entry] = included;
    return entry === undefined ? null : userEntry(entry, entry.ahead, size);
  }
  const [standing, { size }] = await store.read(location.shards[0], [
    standingQuery(location, userId),
    leadersQuery(0),
  ]);
  if (standing === null) return null;
  const ahead = entriesAhead(location, standing);
  const score = fromStoredScore(location, standing.score);
  return userEntry({ rank: ahead + 1, score, userId }, ahead, size);
}

interface UserEntry {
  readonly entry: RankedEntry;
  readonly totalCount: number;
  /** In percent with two decimals. */
  readonly percentile: number;
}

function userEntry({ rank, score, userId }: RankedEntry, ahead: number, size: number): UserEntry {
  const share = Math.min(Math.max(size - ahead, 0) / Math.max(size, 1), 1);
  return {
    entry: { rank, score, userId },
    totalCount: size,
    percentile: Math.round(share * 10_000) / 100,
  };
}

async function readVisible(
  store: Store,
  location: BoardLocation,
  { limit, include, hidden }: Required<RankingQuery>,
): Promise<Ranking> {
  const enough = limit + hidden.size;
  const shown = include.filter(userId => !hidden.has(userId));
  for (let count = Math.min(limit + spare, enough); ; count = enough) {
    const { leaders, included, size } = await readParts(store, location, count, shown);
    const visible = rankEntries(location, leaders).filter(({ userId }) => !hidden.has(userId));
    if (visible.length >= limit || count === enough || leaders.length < count) {
      return withIncluded(visible.slice(0, limit), included, size);
    }
  }
}

function withIncluded(
  leaders: readonly RankedEntry[],
  included: readonly IncludedEntry[],
  totalCount: number,
): Ranking {
  const listed = new Set(leaders.map(({ userId }) => userId));
  const others = included.filter(({ userId }) => !listed.has(userId));
  others.sort((left, right) => compareBoardEntries(left.stored, right.stored));
  return {
    entries: [...leaders, ...others.map(({ rank, score, userId }) => ({ rank, score, userId }))],
    totalCount,
  };
}

/** Ranks consecutive entries of a board; `start` says how many come before the first one, and its rank. */
function rankEntries(
  { order, rankStyle }: Pick<BoardLocation, "order" | "rankStyle">,
  entries: readonly BoardEntry[],
  start: { readonly index: number; readonly rank: number } = { index: 0, rank: 1 },
): RankedEntry[] {
  let { rank } = start;
  let previous = entries[0]?.score;
  return entries.map(({ member, score }, index) => {
    if (rankStyle === "ordinal") rank = start.index + index + 1;
    else if (score !== previous) rank = rankStyle === "dense" ? rank + 1 : start.index + index + 1;
    previous = score;
    return { rank, score: fromStoredScore({ order }, score), userId: member };
  });
}

interface IncludedEntry extends RankedEntry {
  readonly stored: BoardEntry;
  /** Number of entries that rank before it. */
  readonly ahead: number;
}

interface Parts {
  readonly leaders: readonly BoardEntry[];
  /** Also of those who are among the leaders. */
  readonly included: readonly IncludedEntry[];
  readonly size: number;
}

interface FoundEntry {
  readonly stored: BoardEntry;
  readonly shard: number;
  /** Number of entries of its shard that rank before it. */
  readonly ahead: number;
}

async function readParts(
  store: Store,
  location: BoardLocation,
  limit: number,
  include: readonly string[],
): Promise<Parts> {
  const { shards, rankStyle } = location;
  const read = await Promise.all(
    shards.map(async (partition, shard) => {
      const members = include.filter(userId => shardOf(userId, shards.length) === shard);
      // A single entry needs the leaders of no shard, and at first no shard but its own.
      if (limit === 0 && members.length === 0) return { entries: [], size: 0, found: [] };
      const queries = members.map(member => standingQuery(location, member));
      const [range, ...standings] = await store.read(partition, [leadersQuery(limit), ...queries]);
      const found = members.flatMap((member, index): FoundEntry[] => {
        const standing = standings[index] ?? null;
        if (standing === null) return [];
        const { score, tie } = standing;
        return [{ stored: { member, score, tie }, shard, ahead: entriesAhead(location, standing) }];
      });
      return { ...range, found };
    }),
  );
  const leaders = read.flatMap(({ entries }) => entries);
  if (shards.length > 1) leaders.sort(compareBoardEntries).splice(limit);
  const found = read.flatMap(shard => shard.found);
  const size = read.reduce((sum, shard) => sum + shard.size, 0);
  if (found.length === 0) return { leaders, included: [], size };
  if (rankStyle === "dense") return { leaders, included: await rankDensely(store, location, found), size };
  if (shards.length > 1) return { leaders, ...(await countOverShards(store, location, found)) };
  return { leaders, included: found.map(entry => included(location, entry, entry.ahead)), size };
}

function included(
  location: BoardLocation,
  { stored }: FoundEntry,
  ahead: number,
  rank: number = ahead + 1,
): IncludedEntry {
  return { rank, score: fromStoredScore(location, stored.score), userId: stored.member, stored, ahead };
}

/** Counts distinct scores, in one more round trip. */
async function rankDensely(
  store: Store,
  location: BoardLocation,
  found: readonly FoundEntry[],
): Promise<readonly IncludedEntry[]> {
  const points = found.map(
    ({ stored }): ReadBefore => ({ type: "before", key: distinctKey, score: stored.score }),
  );
  const better = await store.read(location.shards[0], points);
  return found.map((entry, index) => included(location, entry, entry.ahead, (better[index] ?? 0) + 1));
}

/** Adds up how many entries of the other shards rank before each entry, in one more round trip. */
async function countOverShards(
  store: Store,
  location: BoardLocation,
  found: readonly FoundEntry[],
): Promise<Pick<Parts, "included" | "size">> {
  const ahead = found.map(entry => entry.ahead);
  const sizes = await Promise.all(
    location.shards.map(async (partition, shard) => {
      const others = [...found.keys()].filter(index => found[index]?.shard !== shard);
      const points = others.flatMap(index => pointQuery(location, found[index]));
      const [{ size }, ...counts] = await store.read(partition, [leadersQuery(0), ...points]);
      for (const [at, index] of others.entries()) ahead[index] = (ahead[index] ?? 0) + (counts[at] ?? 0);
      return size;
    }),
  );
  return {
    included: found.map((entry, index) => included(location, entry, ahead[index] ?? 0)),
    size: sizes.reduce((sum, size) => sum + size, 0),
  };
}

function leadersQuery(limit: number): ReadBoard {
  return { type: "board", key: boardKey, limit };
}

function standingQuery({ rankStyle }: BoardLocation, member: string): ReadStanding {
  const standing = { type: "standing", key: boardKey, member } as const;
  return rankStyle === "ordinal" ? { ...standing, position: true } : standing;
}

/** Counts the entries of another shard that rank before an entry. */
function pointQuery({ rankStyle }: BoardLocation, found: FoundEntry | undefined): ReadBefore[] {
  if (found === undefined) return [];
  const { score, tie, member } = found.stored;
  const point = { type: "before", key: boardKey, score } as const;
  return [rankStyle === "ordinal" ? { ...point, tie, member } : point];
}

/** Returns how many entries of its own shard rank before an entry. */
function entriesAhead({ rankStyle }: BoardLocation, { below, position = below }: Standing): number {
  return rankStyle === "ordinal" ? position : below;
}

const attemptsMax = 8;
const { rangeLimitMax } = storageLimits;

interface AroundQuery {
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
  const wider = { userId, limit: Math.min(limit + 2, rangeLimitMax) };
  const message = "Cannot show the part of the leaderboard as the user keeps moving";
  const exhausted = () => new AppError("busy", message, { retryAfterMs: 1_000 });
  return await retry(
    async () => {
      const found = await findUser(store, location, userId);
      return found === null ? null : await mergeParts(store, location, found, wider);
    },
    { attemptsMax, exhausted },
  );
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
): Promise<Part | undefined> {
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
  if (index === -1) return undefined;
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
