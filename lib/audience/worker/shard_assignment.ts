/**
 * Who works on which shard. One record says it for all workers: until when each of them counts as alive, and who holds each
 * shard. So a shard has one worker at a time, its actions keep their order, and the shards of a worker that has ended go to
 * the others when its time is over.
 *
 * @module
 */

import { decide, platformPartition, type Store } from "../../storage/mod.ts";

/** What the record says. */
export interface Assignment {
  /** Until when a worker counts as alive, Unix ms, by its name. */
  readonly workers: Readonly<Record<string, number>>;
  /** The worker of each shard; null: nobody yet. */
  readonly shards: readonly (string | null)[];
}

/** A worker that says that it is alive. */
export interface Claim {
  readonly worker: string;
  /** Until when, Unix ms. */
  readonly until: number;
  readonly now: number;
  /** Shards that it has done with, for others to take. */
  readonly given: readonly number[];
}

/** What a worker has been told. */
export interface Claimed {
  readonly shards: readonly number[];
  /** How many of them it should give up, because others have fewer. */
  readonly surplus: number;
}

/**
 * The record after a claim. Shards of workers that are no longer alive are free, and whoever has less than its fair share,
 * which is all shards divided by the living workers, rounded up, takes what is free until it has.
 */
export function claimShards(before: Assignment, claim: Claim): { after: Assignment; claimed: Claimed } {
  const { worker, until, now, given } = claim;
  const alive = Object.entries(before.workers).filter(([name, end]) => name !== worker && end > now);
  const workers = Object.fromEntries([...alive, [worker, until]]);
  const shares = before.shards.map((holder, shard) =>
    holder === null || !Object.hasOwn(workers, holder) || (holder === worker && given.includes(shard))
      ? null
      : holder,
  );
  const fair = Math.ceil(shares.length / (alive.length + 1));
  let own = shares.filter(holder => holder === worker).length;
  const shards = shares.map((holder, shard) => {
    if (holder !== null || own >= fair || given.includes(shard)) return holder;
    own += 1;
    return worker;
  });
  const held = shards.flatMap((holder, shard) => (holder === worker ? [shard] : []));
  return { after: { workers, shards }, claimed: { shards: held, surplus: Math.max(0, own - fair) } };
}

/** The record after a worker has left. */
export function leaveShards({ workers, shards }: Assignment, worker: string): Assignment {
  return {
    workers: Object.fromEntries(Object.entries(workers).filter(([name]) => name !== worker)),
    shards: shards.map(holder => (holder === worker ? null : holder)),
  };
}

/** The assignment as it is stored. */
export interface Assignments {
  /** Says that a worker is alive, and answers what it holds from now on. */
  claim(claim: Claim): Promise<Claimed>;
  /** Takes a worker out, which holds nothing any more. */
  leave(worker: string): Promise<void>;
}

/** Opens the assignment of a number of shards. */
export function createAssignments(store: Store, shards: number): Assignments {
  const partition = platformPartition("action_workers");
  const query = { type: "record", key: `shards:${shards}` } as const;
  const none: Assignment = { workers: {}, shards: Array.from({ length: shards }, () => null) };
  async function change<A>(make: (before: Assignment) => { after: Assignment; answer: A }): Promise<A> {
    return await decide(store, partition, {
      reads: [query],
      // What a worker says of itself is the same however often it is said.
      idempotent: true,
      apply([stored]) {
        const { after, answer } = make(stored === null ? none : (JSON.parse(stored.value) as Assignment));
        return { writes: [{ type: "put", key: query.key, value: JSON.stringify(after) }], answer };
      },
    });
  }
  return {
    claim: claim =>
      change(before => {
        const { after, claimed } = claimShards(before, claim);
        return { after, answer: claimed };
      }),
    leave: worker => change(before => ({ after: leaveShards(before, worker), answer: undefined })),
  };
}
