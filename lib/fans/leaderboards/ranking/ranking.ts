/**
 * Reads the leading entries of a board and single entries, with their ranks.
 *
 * Ranks follow from the order of the board and are never stored. A board in one partition is read at one instant. The shards
 * of a larger one are read at the same time but not at one instant: while it changes, a rank may be off by what changed
 * between two reads.
 *
 * @module
 */

import { shardOf } from "../../../base/text/mod.ts";
import {
  type BoardEntry,
  compareBoardEntries,
  type ReadBefore,
  type ReadBoard,
  type ReadStanding,
  type Standing,
  type Store,
} from "../../../storage/mod.ts";
import { type BoardLocation, boardKey, distinctKey, fromStoredScore } from "../scores/board_location.ts";

export interface RankedEntry {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
}

/** A part of a board. */
export interface Ranking {
  readonly entries: readonly RankedEntry[];
  readonly totalCount: number;
}

/** Selects the entries of a list. */
export interface RankingQuery {
  /** Number of leading entries. */
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
export async function readUserEntry(store: Store, location: BoardLocation, userId: string) {
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

function userEntry({ rank, score, userId }: RankedEntry, ahead: number, size: number) {
  const share = Math.min(Math.max(size - ahead, 0) / Math.max(size, 1), 1);
  return {
    entry: { rank, score, userId },
    totalCount: size,
    /** In percent with two decimals. */
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
export function rankEntries(
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

/** The entry of an included user. */
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
