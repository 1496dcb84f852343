/**
 * Locates the index of users: an organisation's users are spread over shards by their id, and each shard has one board for
 * each order in which users are listed.
 *
 * @module
 */

import { keyName, type Partition, platformPartition, tenantPartition, type Write } from "../storage/mod.ts";
import { shardOf } from "../text/mod.ts";

/** Number of partitions over which the users of an organisation are spread. */
export const userShards = 64;

/** The boards of a shard, whose members are user ids. */
export const userBoards = {
  /** When a user was created, in Unix ms. */
  created: "created",
  /** When a user was last active, in Unix ms, to the hour. */
  active: "active",
  /** The values of a metric; ties are the times, in Unix ms, at which they were written. */
  metric: (metricId: string): string => keyName("metric", metricId),
} as const;

/** The board of organisations that have users. */
export const organisationsKey = "organisations";

/** Precision in ms of the time at which a user was last active: each process writes it at most once an hour. */
export const activityMs = 3_600_000;

/** Returns the partition that lists the organisations with users. */
export function organisationsPartition(): Partition {
  return platformPartition("agenda");
}

/** Returns one shard of an organisation's users. The queue of due users shares the partition, so that one commit writes both. */
export function userShardPartition(organisationId: string, shard: number): Partition {
  return tenantPartition({ organisation: organisationId }, "agenda", String(shard));
}

/** Returns the number of a user's shard. */
export function userShardOf(userId: string): number {
  return shardOf(userId, userShards);
}

/** Returns the partition of a user's shard. */
export function userIndexPartition(organisationId: string, userId: string): Partition {
  return userShardPartition(organisationId, userShardOf(userId));
}

/** Returns every shard of an organisation. */
export function userShardPartitions(organisationId: string): readonly Partition[] {
  return Array.from({ length: userShards }, (_, shard) => userShardPartition(organisationId, shard));
}

/** Returns the writes that list a user in its shard; repeating them changes nothing. */
export function listingWrites(userId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "min", key: userBoards.created, member: userId, score: now }];
}

/** Returns the writes that note a user's activity in its shard; late ones change nothing. */
export function activityWrites(userId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "max", key: userBoards.active, member: userId, score: now }];
}

/** Returns the writes that list an organisation with users; repeating them changes nothing. */
export function organisationWrites(organisationId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "min", key: organisationsKey, member: organisationId, score: now }];
}
