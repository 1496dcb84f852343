/**
 * The agenda: which users somebody has to look at again, and when.
 *
 * What an action causes outside its user's partition is delivered after the commit, and some things happen to users by
 * time alone. If the process ends in between, nobody would know whom to look at. So a user is registered before the
 * first change within an hour, and from then on a sweep finds the user once that hour is over. Registration costs one
 * commit for many users, in parallel with the read that every change begins with.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Partition, Store, Write } from "../../storage/mod.ts";
import {
  activityMs,
  activityWrites,
  listingWrites,
  organisationsKey,
  organisationsPartition,
} from "../../users/mod.ts";
import { CachedUser, UserCache } from "../user/member.ts";
import { boardMemberOf, type DueUser, dueUserKeys, dueUserShardOf, dueUsersPartition } from "./shards.ts";

/** How long a registration lasts, in ms. */
export const registrationMs = 3_600_000;
/** How much earlier processes renew it, in ms, because their clocks may differ. */
export const registrationMarginMs = 60_000;
/** Most registrations that one commit carries. */
export const registrationBatchMax = 240;
/** Attempts to register while it cannot be known whether the last one worked. */
export const registrationAttemptsMax = 3;

/** Registers users whose state is about to change. */
export interface DueUserQueue {
  /**
   * Sees to it that a sweep will look at the user. Undefined where that is certain already; else the change may be
   * committed once the promise resolves. What is no activity, as when nothing but time passes, does not make the user active.
   * @default an activity
   */
  register(user: DueUser, options?: { readonly isActivity?: boolean }): Promise<void> | undefined;
}

interface Waiting {
  readonly user: CachedUser;
  readonly isActivity: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What an agenda needs. */
export interface DueUserQueueOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** What the process knows of users. @default nothing yet */
  readonly users?: UserCache;
}

/** Creates the agenda of a process over a store. */
export function createDueUserQueue({
  store,
  clock,
  users = new UserCache(),
}: DueUserQueueOptions): DueUserQueue {
  const organisations = new Map<string, Promise<void>>();
  const lists = new Map<string, Waiting[]>();

  function listOrganisation(organisationId: string): Promise<void> {
    const known = organisations.get(organisationId);
    if (known !== undefined) return known;
    const write: Write = {
      type: "score",
      op: "min",
      key: organisationsKey,
      member: organisationId,
      score: clock(),
    };
    const listed = commitSurely(store, organisationsPartition(), [write]);
    organisations.set(organisationId, listed);
    listed.catch(() => organisations.delete(organisationId));
    return listed;
  }

  async function commit(partition: string, batch: readonly Waiting[]): Promise<void> {
    const now = clock();
    const writes = batch.flatMap(waiting => registration(waiting, now));
    try {
      await commitSurely(store, partition, [{ type: "put", key: dueUserKeys.gate, value: "" }, ...writes]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const { user, isActivity, resolve } of batch) {
      user.registeredUntil = now + registrationMs - registrationMarginMs;
      if (isActivity) user.activeUntil = now + activityMs - registrationMarginMs;
      resolve();
    }
  }

  async function run(partition: string, list: Waiting[]): Promise<void> {
    // Whoever registers in the same turn shares the commit.
    await Promise.resolve();
    while (list.length > 0) await commit(partition, list.splice(0, registrationBatchMax));
    lists.delete(partition);
  }

  function enqueue(partition: string, waiting: Waiting): void {
    const list = lists.get(partition);
    if (list !== undefined) {
      list.push(waiting);
      return;
    }
    const created = [waiting];
    lists.set(partition, created);
    void run(partition, created);
  }

  return {
    register(indexed, { isActivity = true } = {}) {
      const user = indexed instanceof CachedUser ? indexed : users.get(indexed);
      const now = clock();
      if (user.registeredUntil > now && (!isActivity || user.activeUntil > now)) return undefined;
      const partition = dueUsersPartition(user.organisationId, dueUserShardOf(user.userId));
      return listOrganisation(user.organisationId).then(
        () => new Promise((resolve, reject) => enqueue(partition, { user, isActivity, resolve, reject })),
      );
    },
  };
}

/** Registering twice is registering once, so what may have been written is written again. */
async function commitSurely(store: Store, partition: Partition, writes: readonly Write[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store.commit(partition, { writes });
      return;
    } catch (error) {
      const isUnknown = error instanceof AppError && error.code === "outcome_unknown";
      if (!isUnknown || attempt >= registrationAttemptsMax) throw error;
    }
  }
}

function registration({ user, isActivity }: Waiting, now: number): readonly Write[] {
  const member = boardMemberOf(user);
  return [
    // Whatever was planned: sooner, the change may come after the look; later, what it leaves behind would wait as long.
    { type: "score", op: "set", key: dueUserKeys.due, member, score: now + registrationMs },
    { type: "score", op: "min", key: dueUserKeys.users, member, score: now },
    ...listingWrites(user.userId, now),
    ...(isActivity ? activityWrites(user.userId, now) : []),
  ];
}
