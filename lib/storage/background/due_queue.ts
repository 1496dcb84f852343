/**
 * The due queue of the platform: a board of members by the time at which each has work to do.
 *
 * A process claims due members under a lease, works on them, and then says when each is due next. Scheduling a member
 * renews a gate record. So a member that is scheduled while a process works on it stays due, and no work is missed.
 * The work itself may be repeated: a process can die after it and before the new time is stored.
 */

import {
  type Check,
  decide,
  type Partition,
  type Read,
  type ReadRecord,
  type Standing,
  type Store,
  type Stored,
  type Version,
  type Write,
} from "../mod.ts";
import { keyName } from "../names.ts";
import { mapConcurrent } from "./mod.ts";

interface DueQueueOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  readonly partition: Partition;
  /** Key of the board. @default "due" */
  readonly board?: string;
  /** Unit that one process claims at a time, with a gate and a lease of its own: the whole queue or a single member. */
  readonly claims: "queue" | "member";
  readonly holder: string;
  /** Time in ms for which other processes leave a claimed unit alone. */
  readonly leaseMs: number;
}

export interface DueWork {
  /** Does the work of a member. Returns when it is due next, in Unix ms, or null for never. May be repeated. */
  handle(member: string): Promise<number | null>;
  /** Receives failures of `handle`; the member is due again after `retryMs`. */
  onFailed(member: string, error: unknown): void;
  readonly retryMs: number;
  /** Members that are handled at the same time. @default 1 */
  readonly concurrency?: number;
  /** Members of one page, at most 500. @default 100 */
  readonly pageMax?: number;
  /** Pages of one call. Of single members it is always one. @default until nothing is due */
  readonly pagesMax?: number;
}

interface DueResult {
  readonly processed: number;
  readonly failed: number;
}

interface Claim {
  readonly members: readonly string[];
  readonly lease: LeaseState;
  readonly gate: Version | null;
  /** Unix ms until which the members were due. */
  readonly now: number;
}

interface Handled {
  readonly member: string;
  readonly at: number | null;
  readonly isFailed: boolean;
}

type Found = readonly [lease: Stored | null, gate: Stored | null, ...standings: (Standing | null)[]];

export class DueQueue {
  readonly #options: DueQueueOptions;
  readonly #board: string;

  constructor(options: DueQueueOptions) {
    this.#options = options;
    this.#board = options.board ?? "due";
  }

  /** Returns the writes that make members due, for a commit in the queue's partition. `min` only brings the time forward. */
  schedule(members: readonly string[], at: number, op: "set" | "min" = "set"): readonly Write[] {
    const gates = new Set(members.map(member => this.#key("gate", member)));
    return [
      ...Array.from(gates, (key): Write => ({ type: "put", key, value: "" })),
      ...members.map((member): Write => ({ type: "score", op, key: this.#board, member, score: at })),
    ];
  }

  /** Returns members that are due, longest due first. */
  async due(limit: number): Promise<readonly string[]> {
    const { store, partition, clock } = this.#options;
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: this.#board, max: clock(), limit },
    ]);
    return entries.map(({ member }) => member);
  }

  /** Works on all members that are due and that no other process has claimed. */
  async processDue(work: DueWork): Promise<DueResult> {
    const { pageMax = 100, pagesMax = Number.POSITIVE_INFINITY, concurrency = 1 } = work;
    const isWhole = this.#options.claims === "queue";
    const done = { processed: 0, failed: 0 };
    for (let page = 0; page < pagesMax; page++) {
      const members = await this.due(pageMax);
      const units = isWhole ? [members] : members.map(member => [member]);
      const handled = (await mapConcurrent(units, concurrency, unit => this.#process(unit, work))).flat();
      for (const { isFailed } of handled) done[isFailed ? "failed" : "processed"] += 1;
      if (!isWhole || members.length < pageMax || handled.length === 0) break;
    }
    return done;
  }

  /** Works on one member if it is due and no other process has claimed it. */
  async process(member: string, work: DueWork): Promise<void> {
    await this.#process([member], work);
  }

  async #process(members: readonly string[], work: DueWork): Promise<readonly Handled[]> {
    const claim = members.length === 0 ? null : await this.#claim(members);
    if (claim === null) return [];
    const handled = await mapConcurrent(claim.members, work.concurrency ?? 1, async member => {
      try {
        return { member, at: await work.handle(member), isFailed: false };
      } catch (error) {
        work.onFailed(member, error);
        return { member, at: this.#options.clock() + work.retryMs, isFailed: true };
      }
    });
    await this.#finish(claim, handled);
    return handled;
  }

  async #claim(members: readonly string[]): Promise<Claim | null> {
    const { store, partition, clock, holder, leaseMs: durationMs } = this.#options;
    return await decide(store, partition, {
      reads: this.#reads(members),
      idempotent: true,
      apply: results => {
        const [stored, gate, ...standings] = results as Found;
        const now = clock();
        const due = members.filter((_, index) => isDue(standings[index] ?? null, now));
        const lease = due.length === 0 ? null : claimLease(parseLease(stored), { holder, durationMs, now });
        if (lease === null) return { writes: [], answer: null };
        const answer = { members: due, lease, gate: gate?.version ?? null, now };
        return { writes: [leaseWrite(this.#key("lease", members[0] ?? ""), lease)], answer };
      },
    });
  }

  /** Stores the next due times and releases the lease. A process that has lost the lease leaves both to its successor. */
  async #finish({ members, lease, gate, now }: Claim, handled: readonly Handled[]): Promise<void> {
    const { store, partition, claims } = this.#options;
    await decide(store, partition, {
      reads: this.#reads(members),
      idempotent: true,
      apply: results => {
        const [stored, found, ...standings] = results as Found;
        const current = parseLease(stored);
        // A lease that ran out without a successor does not waste the work.
        if (current !== null && !isSameLease(current, lease)) return { writes: [], answer: null };
        const [first = ""] = members;
        const released = { type: "delete", shape: "record", key: this.#key("lease", first) } as const;
        // The gate of a whole queue is renewed for other members too; there the due times show which were scheduled anew.
        const isStale = claims === "member" && (found?.version ?? null) !== gate;
        if (isStale) return { writes: [released], answer: null };
        const open = handled.filter((_, index) => isDue(standings[index] ?? null, now));
        return { writes: [released, ...open.flatMap(done => this.#nextWrites(done, now))], answer: null };
      },
    });
  }

  #reads(members: readonly string[]): readonly Read[] {
    const [first = ""] = members;
    return [
      { type: "record", key: this.#key("lease", first) },
      { type: "record", key: this.#key("gate", first) },
      ...members.map((member): Read => ({ type: "standing", key: this.#board, member })),
    ];
  }

  #nextWrites({ member, at }: Handled, now: number): readonly Write[] {
    const key = this.#board;
    // A later time than that of the claim, so that the next page does not meet the member again.
    if (at !== null) return [{ type: "score", op: "set", key, member, score: Math.max(at, now + 1) }];
    const gate = { type: "delete", shape: "record", key: this.#key("gate", member) } as const;
    return [{ type: "unscore", key, member }, ...(this.#options.claims === "member" ? [gate] : [])];
  }

  #key(kind: "lease" | "gate", member: string): string {
    return this.#options.claims === "queue" ? kind : keyName(kind, member);
  }
}

function isDue(standing: Standing | null, now: number): boolean {
  return standing !== null && standing.score <= now;
}

export interface LeaseState {
  readonly holder: string;
  /** Unix ms until which other processes leave the work alone. */
  readonly until: number;
  readonly token: number;
}

interface LeaseClaim {
  readonly holder: string;
  readonly durationMs: number;
  /** Unix ms. */
  readonly now: number;
}

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

function parseLease(stored: Stored | null): LeaseState | null {
  return stored === null ? null : (JSON.parse(stored.value) as LeaseState);
}

function leaseWrite(key: string, lease: LeaseState): Write {
  return { type: "put", key, value: JSON.stringify(lease), expireAt: lease.until };
}

interface LeaseOptions {
  readonly store: Store;
  readonly partition: Partition;
  readonly key: string;
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
