/**
 * Ranks: read off the order of a board, never stored.
 *
 * @module
 */

import type { BoardEntry } from "../../storage/mod.ts";
import { type BoardLocation, toStoredScore } from "../scores/board_location.ts";

/** A user's place. */
export interface RankedEntry {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
}

/** Where a run of consecutive entries begins. */
export interface RunStart {
  /** Number of entries before the first one. */
  readonly index: number;
  /** Rank of the first one. */
  readonly rank: number;
}

/** The run that begins with the leader. */
export const fromLeader: RunStart = { index: 0, rank: 1 };

/** Consecutive entries of a board, in its order, with their ranks. */
export function rankEntries(
  { order, rankStyle }: Pick<BoardLocation, "order" | "rankStyle">,
  entries: readonly BoardEntry[],
  start: RunStart = fromLeader,
): RankedEntry[] {
  let { rank } = start;
  let previous = entries[0]?.score;
  return entries.map(({ member, score }, index) => {
    if (rankStyle === "ordinal") rank = start.index + index + 1;
    else if (score !== previous) rank = rankStyle === "dense" ? rank + 1 : start.index + index + 1;
    previous = score;
    return { rank, score: toStoredScore({ order }, score), userId: member };
  });
}

/** The share of a board's entries that rank at an entry or below it, in percent with two decimals; the leader's is 100. */
export function percentile(entries: number, ahead: number): number {
  const share = Math.min(Math.max(entries - ahead, 0) / Math.max(entries, 1), 1);
  return Math.round(share * 10_000) / 100;
}
