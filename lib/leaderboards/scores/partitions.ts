/**
 * Where boards are kept: a partition for each season and shard.
 *
 * @module
 */

import { type Partition, tenantPartition } from "../../storage/mod.ts";

/** Names one part of a board. */
export interface BoardAddress {
  readonly projectId: string;
  /** Null on a project's board. */
  readonly eventId: string | null;
  readonly leaderboardId: string;
  /** The season's id; empty on a board without seasons. */
  readonly season: string;
  /** From 0; always 0 on a board that is not spread. */
  readonly shard: number;
}

/** The partition of one part of a board. */
export function boardPartition(address: BoardAddress): Partition {
  const { projectId, eventId, leaderboardId, season, shard } = address;
  const parts = shard > 0 ? [season, String(shard)] : season === "" ? [] : [season];
  return tenantPartition({ project: projectId }, "board", eventId ?? "", leaderboardId, ...parts);
}
