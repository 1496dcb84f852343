/**
 * What this process knows of users beside their records. What is forgotten is merely done once more: a user is registered
 * again, a score delivered again.
 *
 * @module
 */

import type { ScoreUpdate } from "../../leaderboards/scores/score_feed.ts";
import { BoundedCache, type Partition } from "../../storage/mod.ts";
import { type Member, memberPartition } from "./member.ts";

/** Most users that a process knows. */
export const knownUsersMax = 100_000;

/** A user as places outside the user's partition know one. */
export type UserKey = Pick<Member, "organisationId" | "spaceId" | "userId">;

/** What is known of one user, all found by one look-up. */
export class CachedUser implements UserKey {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  /** Always the same string, which maps find faster than an equal one. */
  readonly partition: Partition;
  /** Until when the agenda is certain to look at the user, Unix ms. */
  registeredUntil = 0;
  /** Until when the user need not be noted as active once more, Unix ms. */
  activeUntil = 0;
  /** The project that the user's record named last; a decision that rests on another one is made again. */
  projectId: string | null = null;
  #arrived = -1;

  /** @throws {AppError} `validation_failed`: an id is ill-formed or too long. */
  constructor({ organisationId, spaceId, userId }: UserKey) {
    this.organisationId = organisationId;
    this.spaceId = spaceId;
    this.userId = userId;
    this.partition = memberPartition({ organisationId, userId });
  }

  /** The updates that are not known to have arrived. */
  undelivered(updates: readonly ScoreUpdate[]): readonly ScoreUpdate[] {
    const left: ScoreUpdate[] = [];
    for (const update of updates) if (update.asOf > this.#arrived) left.push(update);
    return left.length === updates.length ? updates : left;
  }

  /** Notes that all of the user's updates that waited have arrived. */
  markDelivered(updates: readonly ScoreUpdate[]): void {
    for (const { asOf } of updates) if (asOf > this.#arrived) this.#arrived = asOf;
  }
}

/** The users that a process has met. */
export class UserCache {
  readonly #users = new BoundedCache<CachedUser>(knownUsersMax);

  /** What is known of a user. */
  get(address: UserKey): CachedUser {
    const { organisationId, spaceId, userId } = address;
    const known = this.#users.get(userId);
    if (known?.spaceId === spaceId && known.organisationId === organisationId) return known;
    const met = new CachedUser(address);
    this.#users.set(userId, met);
    return met;
  }
}
