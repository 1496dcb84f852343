import { type Member, memberPartition } from "../user/member.ts";

/** Number of users whose events a process sends side by side. */
export const webhookConcurrency = 20;
/** Most of them that are of one space: a slow service of one must not keep the events of others waiting. */
export const webhookConcurrencyPerSpaceMax = 16;
/** Most users who wait for that in a process; the sweep finds those beyond. */
export const queuedUsersMax = 100_000;

/** Users whose events are to be sent. Spaces take turns; within one the users come in their order. */
export class FairUserQueue {
  readonly #bySpace = new Map<string, Map<string, Member>>();
  /** How many of a space are being dealt with. */
  readonly #underWay = new Map<string, number>();
  #size = 0;

  /** Number of users who wait. */
  get size(): number {
    return this.#size;
  }

  /** Lets a user wait, once; nobody beyond {@linkcode queuedUsersMax}. */
  add(member: Member): void {
    if (this.#size >= queuedUsersMax) return;
    const name = memberPartition(member);
    const members = this.#bySpace.get(member.spaceId) ?? new Map<string, Member>();
    if (!members.has(name)) this.#size += 1;
    members.set(name, member);
    this.#bySpace.set(member.spaceId, members);
  }

  /** The next user who is not `busy`, under way from now on; null: none, or too many of their spaces are. */
  take(busy: ReadonlyMap<string, unknown>): Member | null {
    for (const [spaceId, members] of this.#bySpace) {
      if ((this.#underWay.get(spaceId) ?? 0) >= webhookConcurrencyPerSpaceMax) continue;
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

  /** Says that a user who was taken is dealt with. */
  done({ spaceId }: Member): void {
    const left = (this.#underWay.get(spaceId) ?? 0) - 1;
    if (left > 0) this.#underWay.set(spaceId, left);
    else this.#underWay.delete(spaceId);
  }
}
