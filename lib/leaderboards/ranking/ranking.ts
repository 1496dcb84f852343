/**
 * Reading a board: its leaders, single users, and how both rank.
 *
 * A board in one partition is read at one instant. A sharded board is read shard by shard, side by side: its leaders are
 * merged from the leaders of every shard, and an entry's rank is counted over all shards once its score is known, a round
 * trip later. So are dense ranks of single entries. As soon as nothing changes any more all of it is exact.
 *
 * @module
 */

import type { BoardEntry, ReadBefore, ReadBoard, ReadStanding, Standing, Store } from "../../storage/mod.ts";
import { compareUtf8 } from "../../text/mod.ts";
import { type BoardLocation, boardKey, distinctKey, toStoredScore } from "../scores/board_location.ts";
import { shardOf } from "../scores/shard_of.ts";
import { percentile, type RankedEntry, rankEntries } from "./ranks.ts";

/** A part of a board. */
export interface Ranking {
  readonly entries: readonly RankedEntry[];
  readonly totalCount: number;
}

/** What a list shows. */
export interface RankingQuery {
  /** Number of leading users. */
  readonly limit: number;
  /** Users to show besides, wherever they stand; those without an entry are left out. */
  readonly include: readonly string[];
  /** Users whom the list leaves out, though they keep their ranks. @default nobody */
  readonly hidden?: ReadonlySet<string>;
}

/** One user's place among all. */
export interface UserEntry {
  readonly entry: RankedEntry;
  readonly totalCount: number;
  /** The share of entries that rank here or below, in percent with two decimals. */
  readonly percentile: number;
}

/** Entries read beyond the page while there are hidden users; where that is not enough, the page is read once more. */
const spare = 8;

/** Reads the leading users and the included ones, each once, in order. */
export function readRanking(store: Store, location: BoardLocation, query: RankingQuery): Promise<Ranking> {
  const { limit, include, hidden } = query;
  if (hidden !== undefined && hidden.size > 0)
    return readVisible(store, location, { limit, include, hidden });
  if (include.length === 0 && location.shards.length === 1) return readLeaders(store, location, limit);
  return readAll(store, location, query);
}

/** Reads one user's place, or null where the user has no entry. */
export function readUserEntry(
  store: Store,
  location: BoardLocation,
  userId: string,
): Promise<UserEntry | null> {
  const isPlain = location.shards.length === 1 && location.rankStyle !== "dense";
  return isPlain ? readPlainEntry(store, location, userId) : readOtherEntry(store, location, userId);
}

async function readPlainEntry(
  store: Store,
  location: BoardLocation,
  userId: string,
): Promise<UserEntry | null> {
  const [standing, { size }] = await store.read(location.shards[0], [
    standingOf(location, userId),
    sizeQuery,
  ]);
  if (standing === null) return null;
  const ahead = aheadOf(location, standing);
  const user = { rank: ahead + 1, score: toStoredScore(location, standing.score), userId };
  return { entry: user, totalCount: size, percentile: percentile(size, ahead) };
}

async function readOtherEntry(
  store: Store,
  location: BoardLocation,
  userId: string,
): Promise<UserEntry | null> {
  const { others, size } = await readParts(store, location, { limit: 0, include: [userId] });
  const [other] = others;
  if (other === undefined) return null;
  return { entry: userOf(location, other), totalCount: size, percentile: percentile(size, other.ahead) };
}

/** What everybody asks for most often, with nothing around it. */
async function readLeaders(store: Store, location: BoardLocation, limit: number): Promise<Ranking> {
  const [{ entries, size }] = await store.read(location.shards[0], [{ type: "board", key: boardKey, limit }]);
  return { entries: rankEntries(location, entries), totalCount: size };
}

async function readAll(store: Store, location: BoardLocation, query: PartsQuery): Promise<Ranking> {
  const { entries, others, size } = await readParts(store, location, query);
  return shown(location, { users: rankEntries(location, entries), others, size });
}

async function readVisible(
  store: Store,
  location: BoardLocation,
  { limit, include, hidden }: Required<RankingQuery>,
): Promise<Ranking> {
  const enough = limit + hidden.size;
  const wanted = include.filter(userId => !hidden.has(userId));
  for (let count = Math.min(limit + spare, enough); ; count = enough) {
    const { entries, others, size } = await readParts(store, location, { limit: count, include: wanted });
    const users = rankEntries(location, entries).filter(({ userId }) => !hidden.has(userId));
    if (users.length < limit && count < enough && entries.length === count) continue;
    return shown(location, { users: users.slice(0, limit), others, size });
  }
}

const sizeQuery: ReadBoard = { type: "board", key: boardKey, limit: 0 };

/** An entry that was read apart from those around it. */
interface Other extends BoardEntry {
  readonly rank: number;
  /** Number of entries that rank before it. */
  readonly ahead: number;
}

interface Parts {
  /** The leaders. */
  readonly entries: readonly BoardEntry[];
  /** The included users that have an entry, leaders or not. */
  readonly others: readonly Other[];
  readonly size: number;
}

type PartsQuery = Pick<RankingQuery, "limit" | "include">;

function shown(
  location: BoardLocation,
  { users, others, size }: Omit<Parts, "entries"> & { readonly users: readonly RankedEntry[] },
): Ranking {
  if (others.length === 0) return { entries: users, totalCount: size };
  const listed = new Set(users.map(({ userId }) => userId));
  const besides = others.filter(({ member }) => !listed.has(member)).sort(compareBoardEntries);
  return { entries: [...users, ...besides.map(other => userOf(location, other))], totalCount: size };
}

function userOf(location: BoardLocation, { member, score, rank }: Other): RankedEntry {
  return { rank, score: toStoredScore(location, score), userId: member };
}

function readParts(store: Store, location: BoardLocation, query: PartsQuery): Promise<Parts> {
  return location.shards.length > 1 ? readShards(store, location, query) : readOne(store, location, query);
}

async function readOne(store: Store, location: BoardLocation, query: PartsQuery): Promise<Parts> {
  const [partition] = location.shards;
  const leaders = { type: "board", key: boardKey, limit: query.limit } as const;
  const standings = query.include.map(member => standingOf(location, member));
  const [range, ...found] = await store.read(partition, [leaders, ...standings]);
  const standing = query.include.flatMap((member, index) => placed(member, found[index] ?? null));
  if (location.rankStyle !== "dense") {
    return { ...range, others: standing.map(one => counted(one, aheadOf(location, one))) };
  }
  const below = await store.read(
    partition,
    standing.map(({ score }): ReadBefore => ({ type: "before", key: distinctKey, score })),
  );
  const others = standing.map((one, index) => ({
    ...counted(one, one.below),
    rank: (below[index] ?? 0) + 1,
  }));
  return { ...range, others };
}

/** An included user as one shard knows it. */
interface Placed extends BoardEntry, Pick<Standing, "below" | "position"> {}

function standingOf({ rankStyle }: BoardLocation, member: string): ReadStanding {
  const standing = { type: "standing", key: boardKey, member } as const;
  return rankStyle === "ordinal" ? { ...standing, position: true } : standing;
}

function placed(member: string, standing: Standing | null): Placed[] {
  return standing === null ? [] : [{ member, ...standing }];
}

/** How many entries of its own shard rank before an entry. */
function aheadOf(
  { rankStyle }: BoardLocation,
  { below, position = below }: Pick<Standing, "below" | "position">,
): number {
  return rankStyle === "ordinal" ? position : below;
}

function counted({ member, score, tie }: Placed, ahead: number): Other {
  return { member, score, tie, ahead, rank: ahead + 1 };
}

async function readShards(
  store: Store,
  location: BoardLocation,
  { limit, include }: PartsQuery,
): Promise<Parts> {
  const { shards } = location;
  const members = shards.map((_, shard) =>
    include.filter(userId => shardOf(userId, shards.length) === shard),
  );
  const first = await Promise.all(
    shards.map(async (partition, shard) => {
      const own = members[shard] ?? [];
      // One user's place needs the leaders of no shard, and at first no shard but the user's own.
      if (limit === 0 && own.length === 0) return { entries: [], size: 0, found: [] };
      const leaders = { type: "board", key: boardKey, limit } as const;
      const standings = own.map(member => standingOf(location, member));
      const [range, ...found] = await store.read(partition, [leaders, ...standings]);
      return { ...range, found: own.flatMap((member, index) => placed(member, found[index] ?? null)) };
    }),
  );
  const entries = first
    .flatMap(shard => shard.entries)
    .sort(compareBoardEntries)
    .slice(0, limit);
  const size = first.reduce((sum, shard) => sum + shard.size, 0);
  if (first.every(({ found }) => found.length === 0)) return { entries, others: [], size };
  const others = await countOverShards(
    store,
    location,
    first.map(({ found }) => found),
  );
  return { entries, ...others };
}

/** Adds up, for entries that one shard each has placed, how many entries of the other shards rank before them. */
async function countOverShards(
  store: Store,
  location: BoardLocation,
  byShard: readonly (readonly Placed[])[],
): Promise<Pick<Parts, "others" | "size">> {
  const all = byShard.flatMap((found, home) =>
    found.map(one => ({ one, home, ahead: aheadOf(location, one) })),
  );
  const sizes = await Promise.all(
    location.shards.map(async (partition, shard) => {
      const foreign = all.filter(({ home }) => home !== shard);
      const points = foreign.map(({ one }) => pointOf(location, one));
      const [range, ...counts] = await store.read(partition, [sizeQuery, ...points]);
      for (const [index, entry] of foreign.entries()) entry.ahead += counts[index] ?? 0;
      return range.size;
    }),
  );
  return {
    others: all.map(({ one, ahead }) => counted(one, ahead)),
    size: sizes.reduce((sum, size) => sum + size, 0),
  };
}

/** The point of the order before which an entry of another shard ranks ahead. */
function pointOf({ rankStyle }: BoardLocation, { score, tie, member }: BoardEntry): ReadBefore {
  const point = { type: "before", key: boardKey, score } as const;
  return rankStyle === "ordinal" ? { ...point, tie, member } : point;
}

/** The order of boards. */
export function compareBoardEntries(a: BoardEntry, b: BoardEntry): number {
  return a.score - b.score || a.tie - b.tie || compareUtf8(a.member, b.member);
}
