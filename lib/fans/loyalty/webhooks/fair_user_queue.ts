import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";

/** Most users whose changes wait in a process; the sweep finds those beyond. */
export const queuedUsersMax = 100_000;
/** Most users of one space that are in process: a slow service of one must not delay the others. */
const perSpaceMax = 16;

/** A queue of users whose changes are to be sent. Spaces take turns; within one the users come in their order. */
export class FairUserQueue {
  readonly #bySpace = new Map<string, Map<string, SpaceUser>>();
  /** Number of users of a space that are in process. */
  readonly #underWay = new Map<string, number>();
  #size = 0;

  /** Number of users who wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds a user, once. Beyond {@linkcode queuedUsersMax} users it has no effect. */
  add(user: SpaceUser): void {
    if (this.#size >= queuedUsersMax) return;
    const name = spaceUserPartition(user);
    const users = this.#bySpace.get(user.spaceId) ?? new Map<string, SpaceUser>();
    if (!users.has(name)) this.#size += 1;
    users.set(name, user);
    this.#bySpace.set(user.spaceId, users);
  }

  /** Takes the next user who is not `busy`; null if there is none, or too many of their spaces are in process. */
  take(busy: ReadonlyMap<string, unknown>): SpaceUser | null {
    for (const [spaceId, users] of this.#bySpace) {
      if ((this.#underWay.get(spaceId) ?? 0) >= perSpaceMax) continue;
      for (const [name, user] of users) {
        if (busy.has(name)) continue;
        users.delete(name);
        this.#size -= 1;
        this.#bySpace.delete(spaceId);
        if (users.size > 0) this.#bySpace.set(spaceId, users);
        this.#underWay.set(spaceId, (this.#underWay.get(spaceId) ?? 0) + 1);
        return user;
      }
    }
    return null;
  }

  /** Ends the turn of a user who was taken. */
  done({ spaceId }: SpaceUser): void {
    const left = (this.#underWay.get(spaceId) ?? 0) - 1;
    if (left > 0) this.#underWay.set(spaceId, left);
    else this.#underWay.delete(spaceId);
  }
}
