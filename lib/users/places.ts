import { keyName, type Partition, platformPartition, tenantPartition } from "../storage/mod.ts";
import { shardOf } from "../text/mod.ts";

/** Over how many partitions the users of an organisation are spread. */
export const userShards = 64;

/** The boards of a shard, whose members are ids of users. */
export const userBoards = {
  /** When a user was first met, in Unix ms. */
  created: "created",
  /** When something last happened to a user, in Unix ms, to the hour. */
  active: "active",
  /** The values of a metric; ties are the times, in Unix ms, at which they were written. */
  metric: (metricId: string): string => keyName("metric", metricId),
} as const;

/** The board of organisations that have users. */
export const organisationsKey = "organisations";

/** Where the organisations that have users are listed. */
export function organisationsPartition(): Partition {
  return platformPartition("agenda");
}

/** One shard of an organisation's users. Its agenda is in the same partition, so that one commit feeds both. */
export function userShardPartition(organisationId: string, shard: number): Partition {
  return tenantPartition({ organisation: organisationId }, "agenda", String(shard));
}

/** The shard in which a user is found. */
export function userShardOf(userId: string): number {
  return shardOf(userId, userShards);
}

/** The shard in which a user is found, as a partition. */
export function userPartition(organisationId: string, userId: string): Partition {
  return userShardPartition(organisationId, userShardOf(userId));
}

/** Every shard of an organisation. */
export function userShardPartitions(organisationId: string): readonly Partition[] {
  return Array.from({ length: userShards }, (_, shard) => userShardPartition(organisationId, shard));
}
