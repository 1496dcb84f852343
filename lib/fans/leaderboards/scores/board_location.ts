/**
 * Locates the scores of a board: a partition for each season and shard.
 *
 * The store orders a board by ascending score. Where the highest score leads, the negated score is stored, so that equal
 * scores rank by "reached first, then user id by bytes" in both directions.
 *
 * @module
 */

import { shardOf } from "../../../base/text/mod.ts";
import { type Partition, tenantPartition } from "../../../storage/mod.ts";
import type { BoardDeclaration, RankStyle } from "../settings/board_settings.ts";

/** The board of entries in each partition. */
export const boardKey = "board";
/** The board of distinct scores, each its own member, from which dense ranks are counted. */
export const distinctKey = "scores";

/** Names the scores of one season of a board. */
export interface BoardAddress {
  readonly projectId: string;
  /** Null on a project's board. */
  readonly eventId: string | null;
  readonly leaderboardId: string;
  /** The id of the season; empty on a board without seasons. */
  readonly season: string;
}

/** Returns the partition of one shard of a board, counted from 0. */
export function boardPartition(address: BoardAddress, shard: number): Partition {
  const { projectId, eventId, leaderboardId, season } = address;
  const parts = shard > 0 ? [season, String(shard)] : season === "" ? [] : [season];
  return tenantPartition({ project: projectId }, "board", eventId ?? "", leaderboardId, ...parts);
}

/** The partitions of one season of a board, and the rules that its scores follow. */
export interface BoardLocation {
  /** One partition per shard. */
  readonly shards: readonly [Partition, ...Partition[]];
  readonly order: "desc" | "asc";
  readonly rankStyle: RankStyle;
  /** Omitted: every score is ranked. */
  readonly bounds?: { readonly min: number; readonly max: number };
  /**
   * True if each change is a decision guarded by a record: for dense ranks, which need a second board, and for bounds that
   * a sum must not leave.
   */
  readonly isGuarded: boolean;
}

/** Locates the scores of a declared board. */
export function locateBoard(declaration: BoardDeclaration, address: BoardAddress): BoardLocation {
  const { order, rankStyle, bounds, source } = declaration;
  const others = Array.from({ length: declaration.shards - 1 }, (_, index) =>
    boardPartition(address, index + 1),
  );
  return {
    shards: [boardPartition(address, 0), ...others],
    order,
    rankStyle,
    ...(bounds === undefined ? {} : { bounds }),
    // The score feed delivers whole scores, whose bounds need no decision.
    isGuarded: rankStyle === "dense" || (bounds !== undefined && source.type === "direct"),
  };
}

export function entryPartition({ shards }: Pick<BoardLocation, "shards">, userId: string): Partition {
  return shards[shardOf(userId, shards.length)] ?? shards[0];
}

/** Converts a score to the one that the store orders by. */
export function toStoredScore({ order }: Pick<BoardLocation, "order">, score: number): number {
  return order === "desc" && score !== 0 ? -score : score;
}

/** Converts a stored score back: negating twice gives the score. */
export const fromStoredScore = toStoredScore;

/** Tells whether a board ranks the score. */
export function isWithinBounds({ bounds }: Pick<BoardLocation, "bounds">, score: number): boolean {
  return bounds === undefined || (score >= bounds.min && score <= bounds.max);
}
