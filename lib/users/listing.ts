import type { Write } from "../storage/mod.ts";
import { organisationsKey, userBoards } from "./places.ts";

/** How exactly the index knows when a user was last active, in ms: it is told at most once an hour by each process. */
export const activityMs = 3_600_000;

/** What listing a user writes to its shard. Listing twice is listing once. */
export function listingWrites(userId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "min", key: userBoards.created, member: userId, score: now }];
}

/** What noting that something happened to a user writes to its shard. A late note changes nothing. */
export function activityWrites(userId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "max", key: userBoards.active, member: userId, score: now }];
}

/** What listing an organisation that has users writes to the platform. Listing twice is listing once. */
export function organisationWrites(organisationId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "min", key: organisationsKey, member: organisationId, score: now }];
}
