/**
 * The assignment of shards to workers, one record for all of them: until when each worker counts as alive, and the worker of
 * each shard. A shard has one worker at a time, which keeps its actions in order.
 */

import { decide, type Store } from "../../../storage/mod.ts";
import { platformPartition } from "../../../storage/names.ts";

const partition = platformPartition("action_workers");

export interface ShardAssignment {
  /** Until when a worker counts as alive, Unix ms, by its name. */
  readonly workers: Readonly<Record<string, number>>;
  /** The worker of each shard; null for a free one. */
  readonly shards: readonly (string | null)[];
  /** Names of workers that are alive and that the queue refuses; absent where there are none. */
  readonly stalled?: readonly string[];
}

interface ShardClaim {
  readonly worker: string;
  readonly now: number;
  /** Until when the worker counts as alive, Unix ms. */
  readonly until: number;
  readonly released: readonly number[];
  /** True if the queue refuses the worker. @default false */
  readonly isStalled?: boolean;
}

/**
 * Returns the assignment after a claim. Shards of expired workers are free. A worker takes free shards up to its fair share: all
 * shards divided by the living workers, rounded up. `surplus` is how many of its shards it should give up because others have
 * fewer.
 */
export function claimShards(
  before: ShardAssignment,
  { worker, now, until, released, isStalled = false }: ShardClaim,
): {
  readonly after: ShardAssignment;
  readonly claimed: { readonly shards: readonly number[]; readonly surplus: number };
} {
  const alive = Object.entries(before.workers).filter(([name, end]) => name !== worker && end > now);
  const workers = Object.fromEntries([...alive, [worker, until]]);
  const owners = before.shards.map((owner, shard) => {
    const isFree = owner === null || !Object.hasOwn(workers, owner);
    return isFree || (owner === worker && released.includes(shard)) ? null : owner;
  });
  const fair = Math.ceil(owners.length / (alive.length + 1));
  let count = owners.filter(owner => owner === worker).length;
  const shards = owners.map((owner, shard) => {
    if (owner !== null || count >= fair || released.includes(shard)) return owner;
    count += 1;
    return worker;
  });
  const claimedShards = shards.flatMap((owner, shard) => (owner === worker ? [shard] : []));
  const others = (before.stalled ?? []).filter(name => name !== worker && Object.hasOwn(workers, name));
  const stalled = isStalled ? [...others, worker] : others;
  return {
    after: { workers, shards, ...(stalled.length === 0 ? {} : { stalled }) },
    claimed: { shards: claimedShards, surplus: Math.max(0, count - fair) },
  };
}

export function removeWorker(before: ShardAssignment, worker: string): ShardAssignment {
  const { workers, shards } = before;
  const stalled = before.stalled?.filter(name => name !== worker) ?? [];
  return {
    ...(stalled.length === 0 ? {} : { stalled }),
    workers: Object.fromEntries(Object.entries(workers).filter(([name]) => name !== worker)),
    shards: shards.map(owner => (owner === worker ? null : owner)),
  };
}

/** Claims and releases a number of shards in the store. */
export class ShardAssignments {
  readonly #store: Store;
  readonly #shards: number;

  constructor(store: Store, shards: number) {
    this.#store = store;
    this.#shards = shards;
  }

  claim(claim: ShardClaim): Promise<ReturnType<typeof claimShards>["claimed"]> {
    return this.#change(before => claimShards(before, claim));
  }

  /** Returns true if a worker of any process is alive and can take messages. */
  async hasWorker(now: number): Promise<boolean> {
    const [stored] = await this.#store.read(partition, [{ type: "record", key: this.#key }]);
    if (stored === null) return false;
    const { workers, stalled = [] } = JSON.parse(stored.value) as ShardAssignment;
    return Object.entries(workers).some(([name, end]) => end > now && !stalled.includes(name));
  }

  leave(worker: string): Promise<void> {
    return this.#change(before => ({ after: removeWorker(before, worker), claimed: undefined }));
  }

  get #key(): string {
    return `shards:${this.#shards}`;
  }

  async #change<A>(
    make: (before: ShardAssignment) => { readonly after: ShardAssignment; readonly claimed: A },
  ): Promise<A> {
    const key = this.#key;
    const none = { workers: {}, shards: Array.from({ length: this.#shards }, () => null) };
    return await decide(this.#store, partition, {
      reads: [{ type: "record", key }],
      // A repeated heartbeat has the same effect.
      idempotent: true,
      apply([stored]) {
        const { after, claimed } = make(
          stored === null ? none : (JSON.parse(stored.value) as ShardAssignment),
        );
        return { writes: [{ type: "put", key, value: JSON.stringify(after) }], answer: claimed };
      },
    });
  }
}
