/**
 * Where a board is kept.
 *
 * A stored board is always read in ascending order: where the highest score leads, the negated score is stored. So
 * "who reached the score first, then the user id by bytes" orders equal scores in both directions. A board of several
 * shards has its users' entries spread over as many partitions; each is a board of its own in the store.
 *
 * @module
 */

import type { Partition } from "../../storage/mod.ts";
import type { BoardDeclaration, RankStyle } from "../settings/board_settings.ts";
import { type BoardAddress, boardPartition } from "./partitions.ts";
import { shardOf } from "./shard_of.ts";

/** The key of the board in its partition. */
export const boardKey = "board";
/** The key of the board of distinct scores, each its own member, that dense ranks are counted on. */
export const distinctKey = "scores";

/** Where the scores of one season of a board are kept, and how they rank. */
export interface BoardLocation {
  /** One partition per shard. */
  readonly shards: readonly [Partition, ...Partition[]];
  readonly order: "desc" | "asc";
  readonly rankStyle: RankStyle;
  /** Omitted: every score is ranked. */
  readonly bounds?: { readonly min: number; readonly max: number };
  /**
   * Whether changes are decisions guarded by a record: for dense ranks, which rest on a second board, and for bounds that
   * a sum must stay within.
   */
  readonly isGuarded: boolean;
}

/** Where a declared board keeps the scores of a season. */
export function locateBoard(
  declaration: BoardDeclaration,
  address: Omit<BoardAddress, "shard">,
): BoardLocation {
  const { order, rankStyle, bounds, source } = declaration;
  const others = Array.from({ length: declaration.shards - 1 }, (_, index) =>
    boardPartition({ ...address, shard: index + 1 }),
  );
  return {
    shards: [boardPartition({ ...address, shard: 0 }), ...others],
    order,
    rankStyle,
    ...(bounds === undefined ? {} : { bounds }),
    // What a feed brings is the whole score, so that its bounds need no decision.
    isGuarded: rankStyle === "dense" || (bounds !== undefined && source.type === "direct"),
  };
}

/** The partition that has a user's entry. */
export function entryPartition({ shards }: Pick<BoardLocation, "shards">, userId: string): Partition {
  return shards[shardOf(userId, shards.length)] ?? shards[0];
}

/** Turns a score into the stored one or back. */
export function toStoredScore({ order }: Pick<BoardLocation, "order">, score: number): number {
  return order === "desc" && score !== 0 ? -score : score;
}

/** Whether a board ranks the score. */
export function isWithinBounds({ bounds }: Pick<BoardLocation, "bounds">, score: number): boolean {
  return bounds === undefined || (score >= bounds.min && score <= bounds.max);
}
