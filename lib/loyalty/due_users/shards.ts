import type { Partition } from "../../storage/mod.ts";
import { userShardOf, userShardPartition, userShards } from "../../users/mod.ts";
import type { Member } from "../user/member.ts";

/** Over how many partitions the users of an organisation are spread. */
export const dueUserShards: number = userShards;

/** The keys of a shard. */
export const dueUserKeys = {
  /** Board: when a user is to be looked at next, in Unix ms. */
  due: "due",
  /** Board: when a user was first met, in Unix ms. */
  users: "users",
  /** Record: put anew by every registration, so that a sweep notices one that came in between. */
  gate: "gate",
  /** Record: which process sweeps the shard, for a while. */
  lease: "lease",
} as const;

/** A user as the agenda knows one. */
export type DueUser = Pick<Member, "organisationId" | "spaceId" | "userId">;

/** One shard of an organisation's agenda, which is the shard of the same users in the index. */
export function dueUsersPartition(organisationId: string, shard: number): Partition {
  return userShardPartition(organisationId, shard);
}

/** The shard in which a user is found. */
export function dueUserShardOf(userId: string): number {
  return userShardOf(userId);
}

/** A user's name on the boards of a shard. Ids of spaces have no slash. */
export function boardMemberOf({ spaceId, userId }: DueUser): string {
  return `${spaceId}/${userId}`;
}

/** The user of that name. */
export function userOfBoardMember(organisationId: string, member: string): DueUser {
  const slash = member.indexOf("/");
  return { organisationId, spaceId: member.slice(0, slash), userId: member.slice(slash + 1) };
}
