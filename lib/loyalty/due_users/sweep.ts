/**
 * The sweep: looks at the users whose time on the agenda has come.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { mapConcurrent } from "../../background/mod.ts";
import { decide, type Read, type Standing, type Store, type Stored, type Write } from "../../storage/mod.ts";
import { listedOrganisations } from "../../users/mod.ts";
import { type DueUser, dueUserKeys, dueUserShards, dueUsersPartition, userOfBoardMember } from "./shards.ts";

/** Most users of one shard that are looked at before the shard's agenda is updated. */
export const sweepBatchMax = 100;
/** How many users are looked at side by side. */
export const sweepConcurrency = 16;
/** How long a process keeps a shard for itself while it sweeps it, in ms. */
export const sweepLeaseMs = 60_000;
/** After how long a user who could not be attended is looked at again, in ms. */
export const sweepRetryMs = 60_000;

/** What a sweep needs. */
export interface SweepOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process among those that sweep. */
  readonly holder: string;
  /** Does what is due for a user, and says when to look again, in Unix ms, or null for never. May be repeated. */
  readonly processUser: (user: DueUser) => Promise<number | null>;
  /** Told of users who could not be attended; they are looked at again later. */
  readonly onFailed: (user: DueUser, error: unknown) => void;
}

/** What a sweep did. */
export interface SweepResult {
  readonly processed: number;
  readonly failed: number;
}

/** Attends every user of every organisation who is due. Sweeps that overlap, in one process or several, do no harm. */
export async function sweepDueUsers(options: SweepOptions): Promise<SweepResult> {
  let processed = 0;
  let failed = 0;
  for await (const organisationId of listedOrganisations(options.store)) {
    for (let shard = 0; shard < dueUserShards; shard++) {
      const done = await sweepShard(options, organisationId, shard);
      processed += done.processed;
      failed += done.failed;
    }
  }
  return { processed, failed };
}

async function sweepShard(
  options: SweepOptions,
  organisationId: string,
  shard: number,
): Promise<SweepResult> {
  const partition = dueUsersPartition(organisationId, shard);
  const done = { processed: 0, failed: 0 };
  for (;;) {
    const now = options.clock();
    const [{ entries }] = await options.store.read(partition, [
      { type: "board", key: dueUserKeys.due, max: now, limit: sweepBatchMax },
    ]);
    if (entries.length === 0 || !(await takeLease(options, partition))) return done;
    const members = entries.map(({ member }) => member);
    const next = await mapConcurrent(members, sweepConcurrency, member =>
      attendOne(options, organisationId, member),
    );
    await reschedule(options.store, { partition, now, next });
    for (const { isFailed } of next) done[isFailed ? "failed" : "processed"] += 1;
    if (entries.length < sweepBatchMax) return done;
  }
}

interface Next {
  readonly member: string;
  readonly at: number | null;
  readonly isFailed: boolean;
}

async function attendOne(options: SweepOptions, organisationId: string, member: string): Promise<Next> {
  const user = userOfBoardMember(organisationId, member);
  try {
    return { member, at: await options.processUser(user), isFailed: false };
  } catch (error) {
    options.onFailed(user, error);
    return { member, at: options.clock() + sweepRetryMs, isFailed: true };
  }
}

interface Rescheduling {
  readonly partition: string;
  /** Until when users were due. */
  readonly now: number;
  readonly next: readonly Next[];
}

/** Whoever was registered anew meanwhile keeps that later time; the gate in the reads makes sure that none is missed. */
async function reschedule(store: Store, { partition, now, next }: Rescheduling): Promise<void> {
  const standings = next.map(({ member }): Read => ({ type: "standing", key: dueUserKeys.due, member }));
  await decide(store, partition, {
    reads: [{ type: "record", key: dueUserKeys.gate }, ...standings],
    idempotent: true,
    apply(results) {
      const [, ...found] = results as readonly [Stored | null, ...(Standing | null)[]];
      const writes = next.flatMap(({ member, at }, index): readonly Write[] => {
        const standing = found[index] ?? null;
        if (standing === null || standing.score > now) return [];
        if (at === null) return [{ type: "unscore", key: dueUserKeys.due, member }];
        return [{ type: "score", op: "set", key: dueUserKeys.due, member, score: Math.max(at, now + 1) }];
      });
      return { writes, answer: null };
    },
  });
}

interface Lease {
  readonly holder: string;
  readonly until: number;
}

/** Several processes would do the same work; the lease only spares that, nothing rests on it. */
async function takeLease({ store, clock, holder }: SweepOptions, partition: string): Promise<boolean> {
  return await decide(store, partition, {
    reads: [{ type: "record", key: dueUserKeys.lease }],
    idempotent: true,
    apply([stored]) {
      const now = clock();
      const lease = stored === null ? null : (JSON.parse(stored.value) as Lease);
      if (lease !== null && lease.holder !== holder && lease.until > now)
        return { writes: [], answer: false };
      const until = now + sweepLeaseMs;
      const value = JSON.stringify({ holder, until } satisfies Lease);
      return { writes: [{ type: "put", key: dueUserKeys.lease, value, expireAt: until }], answer: true };
    },
  });
}
