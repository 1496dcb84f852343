/**
 * The lease of the platform: a record that says which process works on something, with a fencing token.
 *
 * Every acquisition raises the token, and renewing and releasing check it. A process that was away for longer than its
 * lease can therefore not disturb its successor, whatever its clock says. Writes in the lease's own partition add
 * `lease.check` to their commit, and then fail once another process holds the lease.
 *
 * @module
 */

import {
  type Check,
  decide,
  type Partition,
  type ReadRecord,
  type Store,
  type Stored,
  type Version,
  type Write,
} from "../mod.ts";

/** A lease as it is stored. */
export interface LeaseState {
  /** Names the process that holds the lease. */
  readonly holder: string;
  /** Unix ms until which other processes leave the work alone. */
  readonly until: number;
  /** Grows with every acquisition. */
  readonly token: number;
}

/** A process that asks for a lease. */
export interface LeaseClaim {
  readonly holder: string;
  readonly durationMs: number;
  /** Unix ms. */
  readonly now: number;
}

/** Another process holds the lease. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/**
 * Returns the lease after a claim, or null where another process holds it. The same process may claim it again: the new
 * token locks out whatever else that process still does under the old one.
 */
export function claimLease(
  current: LeaseState | null,
  { holder, durationMs, now }: LeaseClaim,
): LeaseState | null {
  if (current !== null && current.holder !== holder && current.until > now) return null;
  // The record of an older lease may have expired, so the clock keeps tokens growing.
  return { holder, until: now + durationMs, token: Math.max(now, (current?.token ?? 0) + 1) };
}

/** Parses the record of a lease. A text that is not JSON names the holder of a lease that lasts as long as its record. */
export function parseLease(stored: Stored | null): LeaseState | null {
  if (stored === null) return null;
  if (!stored.value.startsWith("{")) {
    return { holder: stored.value, until: Number.POSITIVE_INFINITY, token: 0 };
  }
  return { token: 0, ...(JSON.parse(stored.value) as Omit<LeaseState, "token"> & Partial<LeaseState>) };
}

/** Returns the write that stores a lease. */
export function leaseWrite(key: string, lease: LeaseState): Write {
  return { type: "put", key, value: JSON.stringify(lease), expireAt: lease.until };
}

/** The record of a lease and the process that asks for it. */
export interface LeaseOptions {
  readonly store: Store;
  readonly partition: Partition;
  readonly key: string;
  /** Names this process among all. */
  readonly holder: string;
  readonly durationMs: number;
  /** Unix ms. */
  readonly clock: () => number;
}

/** A lease that this process holds. Calls must not overlap. */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #read: ReadRecord;
  #state: LeaseState;
  #version: Version;

  private constructor(options: LeaseOptions, state: LeaseState, version: Version) {
    this.#options = options;
    this.#read = { type: "record", key: options.key };
    this.#state = state;
    this.#version = version;
  }

  /** Acquires the lease; null where another process holds it. */
  static async acquire(options: LeaseOptions): Promise<Lease | null> {
    const { store, partition, key, holder, durationMs, clock } = options;
    return await decide(store, partition, {
      reads: [{ type: "record", key }],
      idempotent: true,
      apply([stored]) {
        const state = claimLease(parseLease(stored), { holder, durationMs, now: clock() });
        if (state === null) return { writes: [], answer: null };
        return {
          writes: [leaseWrite(key, state)],
          answer: ({ version }) => new Lease(options, state, version ?? ""),
        };
      },
    });
  }

  /** Fencing token, for work outside of the store. */
  get token(): number {
    return this.#state.token;
  }

  /** Unix ms until which this process holds the lease. */
  get until(): number {
    return this.#state.until;
  }

  /** Check for commits in the partition of the lease: they fail once another process holds it. */
  get check(): Check {
    return { key: this.#options.key, version: this.#version };
  }

  /** Extends the lease once a third of it is over. @throws {LeaseLost} */
  async renew(): Promise<void> {
    const { store, partition, key, durationMs, clock } = this.#options;
    const now = clock();
    if (this.#state.until - now > (durationMs * 2) / 3) return;
    const state = { ...this.#state, until: now + durationMs };
    this.#version = await decide(store, partition, {
      reads: [this.#read],
      idempotent: true,
      apply: ([stored]) => {
        if (!this.#isOwn(stored)) throw new LeaseLost("Another process holds the lease");
        return { writes: [leaseWrite(key, state)], answer: ({ version }) => version ?? "" };
      },
    });
    this.#state = state;
  }

  /** Releases the lease unless another process holds it by now. */
  async release(): Promise<void> {
    const { store, partition, key } = this.#options;
    await decide(store, partition, {
      reads: [this.#read],
      idempotent: true,
      apply: ([stored]) => ({
        writes: this.#isOwn(stored) ? [{ type: "delete", shape: "record", key }] : [],
        answer: null,
      }),
    });
  }

  #isOwn(stored: Stored | null): boolean {
    const current = parseLease(stored);
    return current !== null && isSameLease(current, this.#state);
  }
}

/** Returns true if both are the same acquisition. */
export function isSameLease(a: LeaseState, b: LeaseState): boolean {
  return a.holder === b.holder && a.token === b.token;
}
