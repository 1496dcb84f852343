import { type Member, memberPartition } from "../user/member.ts";

/** Most users whose changes wait in a process; the sweep finds those beyond. */
export const queuedUsersMax = 100_000;
/** Most users of one space that are under way: a slow service of one must not delay the others. */
const perSpaceMax = 16;

/** A queue of users whose changes are to be sent. Spaces take turns; within one the users come in their order. */
export class FairUserQueue {
  readonly #bySpace = new Map<string, Map<string, Member>>();
  /** Number of users of a space that are under way. */
  readonly #underWay = new Map<string, number>();
  #size = 0;

  /** Number of users who wait. */
  get size(): number {
    return this.#size;
  }

  /** Adds a user, once. Beyond {@linkcode queuedUsersMax} users it has no effect. */
  add(member: Member): void {
    if (this.#size >= queuedUsersMax) return;
    const name = memberPartition(member);
    const members = this.#bySpace.get(member.spaceId) ?? new Map<string, Member>();
    if (!members.has(name)) this.#size += 1;
    members.set(name, member);
    this.#bySpace.set(member.spaceId, members);
  }

  /** Takes the next user who is not `busy`; null where there is none, or too many of their spaces are under way. */
  take(busy: ReadonlyMap<string, unknown>): Member | null {
    for (const [spaceId, members] of this.#bySpace) {
      if ((this.#underWay.get(spaceId) ?? 0) >= perSpaceMax) continue;
      for (const [name, member] of members) {
        if (busy.has(name)) continue;
        members.delete(name);
        this.#size -= 1;
        this.#bySpace.delete(spaceId);
        if (members.size > 0) this.#bySpace.set(spaceId, members);
        this.#underWay.set(spaceId, (this.#underWay.get(spaceId) ?? 0) + 1);
        return member;
      }
    }
    return null;
  }

  /** Ends the turn of a user who was taken. */
  done({ spaceId }: Member): void {
    const left = (this.#underWay.get(spaceId) ?? 0) - 1;
    if (left > 0) this.#underWay.set(spaceId, left);
    else this.#underWay.delete(spaceId);
  }
}
