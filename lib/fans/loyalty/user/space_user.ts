/**
 * Users of a space, and their cache in a process.
 *
 * @module
 */

import { Cache } from "../../../storage/background/mod.ts";
import { type Partition, tenantPartition } from "../../../storage/mod.ts";
import type { ScoreUpdate } from "../../leaderboards/mod.ts";

/** A user of a space. */
export interface SpaceUser {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  /** The project that the user signed in to; null where a back end acts. */
  readonly projectId: string | null;
}

const noElements: ReadonlySet<string> = new Set();
/** Elements of a user of which a process remembers that the user is listed. */
const listedMax = 32;

/** The ids that identify a user, without a project. */
export type UserKey = Omit<SpaceUser, "projectId">;

/** Returns the partition of a user's loyalty. User ids are unique in an organisation. */
export function spaceUserPartition({
  organisationId,
  userId,
}: Pick<SpaceUser, "organisationId" | "userId">): Partition {
  return tenantPartition({ organisation: organisationId }, "member", userId);
}

/**
 * Facts about a user that a process remembers beside the user's record. Forgetting them repeats work without effect: the user is registered
 * again, or a score delivered again.
 */
export class CachedUser implements UserKey {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  readonly partition: Partition;
  /** Unix ms until which the due queue is certain to contain the user. */
  registeredUntil = 0;
  /** Unix ms until which the user counts as active without another write. */
  activeUntil = 0;
  /** The project in the user's record. A command that was decided for another one is decided again. */
  projectId: string | null = null;
  /** Unix ms until which the user, who has no project, counts as one who did not sign up in any. */
  hasNoProjectUntil = 0;
  /** True once the user's record was seen. */
  hasRecord = false;
  /** The revision whose metrics the index of users has, as far as this process knows. */
  indexedRevision = 0;
  /** Revision of the newest delivered score. */
  #delivered = -1;
  /** Elements among whose voters the user is listed. */
  #listed: ReadonlySet<string> = noElements;

  /** @throws {AppError} `validation_failed`: an id is ill-formed or too long. */
  constructor({ organisationId, spaceId, userId }: UserKey) {
    this.organisationId = organisationId;
    this.spaceId = spaceId;
    this.userId = userId;
    this.partition = spaceUserPartition({ organisationId, userId });
  }

  /** Forgets a user whose record is gone: who is removed is no longer in the due queue. */
  forget(): void {
    this.registeredUntil = 0;
    this.activeUntil = 0;
    this.projectId = null;
    this.hasNoProjectUntil = 0;
    this.hasRecord = false;
    this.indexedRevision = 0;
    this.#delivered = -1;
    this.#listed = noElements;
  }

  /** Filters out the elements among whose voters the user is listed. */
  unlisted(elementIds: readonly string[]): readonly string[] {
    if (elementIds.length === 0 || this.#listed.size === 0) return elementIds;
    return elementIds.filter(id => !this.#listed.has(id));
  }

  /** Remembers that the user is listed among the voters of an element. The newest are enough: another one is listed twice. */
  markListed(elementId: string): void {
    this.#listed = new Set([...this.#listed, elementId].slice(-listedMax));
  }

  /** Filters out the updates that were delivered. */
  undelivered(updates: readonly ScoreUpdate[]): readonly ScoreUpdate[] {
    return updates.every(({ asOf }) => asOf > this.#delivered)
      ? updates
      : updates.filter(({ asOf }) => asOf > this.#delivered);
  }

  /** Remembers that updates were delivered, and so all earlier ones. */
  markDelivered(updates: readonly ScoreUpdate[]): void {
    for (const { asOf } of updates) if (asOf > this.#delivered) this.#delivered = asOf;
  }
}

/** The users that a process remembers. */
export class UserCache {
  readonly #users: Cache<CachedUser>;

  constructor(entriesMax = 100_000) {
    this.#users = new Cache({ entriesMax });
  }

  /** Returns a user, who is new to the process if need be. */
  get(key: UserKey): CachedUser {
    const { organisationId, spaceId, userId } = key;
    const cached = this.#users.get(userId);
    if (cached?.spaceId === spaceId && cached.organisationId === organisationId) return cached;
    const user = new CachedUser(key);
    this.#users.set(userId, user);
    return user;
  }
}
