/**
 * The queue of due users: whom the sweep looks at next, and when.
 *
 * Effects of a command outside the user's partition follow after the commit. A process may end before them, and nobody would know
 * whom to look at. So the user is registered before the first change within an hour, and the sweep finds the user after that hour.
 * One commit registers many users, at the same time as the read that each change begins with.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { Batcher, Cache } from "../../../storage/background/mod.ts";
import type { Partition, Store, Write } from "../../../storage/mod.ts";
import {
  activityMs,
  activityWrites,
  listingWrites,
  organisationsKey,
  organisationsPartition,
  userShardOf,
  userShardPartition,
} from "../../users/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import { CachedUser, UserCache } from "../user/space_user.ts";
import { boardMemberOf, type DueUser, dueUserKeys } from "./users.ts";

/** Duration of a registration in ms: the sweep looks at a user an hour after it. */
export const registrationMs = 3_600_000;
/** Time in ms by which processes renew a registration early, because their clocks may differ. */
const marginMs = 60_000;
/** Most registrations of one commit. */
const batchMax = 240;
/** Attempts to register while the outcome of the last one is unknown. */
const attemptsMax = 3;
const organisationsMax = 10_000;
/** Record that every registration renews, so that a sweep notices those that come while it works. */
const gateKey = "gate";

interface Registration {
  readonly user: CachedUser;
  readonly isActivity: boolean;
}

/** The queue of a process. */
export type DueUserQueue = ReturnType<typeof createDueUserQueue>;

/** Creates the queue of a process. */
export function createDueUserQueue({
  store,
  clock,
  users = new UserCache(),
}: Pick<LoyaltyServices, "store" | "clock"> & { readonly users?: UserCache }) {
  const organisations = new Cache<true>({ entriesMax: organisationsMax });
  const batcher = new Batcher<Registration>({
    batchMax,
    async run(partition, registrations) {
      const now = clock();
      const writes = registrations.flatMap(one => registrationWrites(one, now));
      await commitRepeatedly(store, partition, [{ type: "put", key: gateKey, value: "" }, ...writes]);
      for (const { user, isActivity } of registrations) {
        user.registeredUntil = now + registrationMs - marginMs;
        if (isActivity) user.activeUntil = now + activityMs - marginMs;
      }
    },
  });

  /** Lists the organisation among those that are swept. */
  async function listOrganisation(organisationId: string): Promise<{ readonly value: true }> {
    const score = clock();
    const write: Write = { type: "score", op: "min", key: organisationsKey, member: organisationId, score };
    await commitRepeatedly(store, organisationsPartition(), [write]);
    return { value: true };
  }

  return {
    /**
     * Makes sure that a sweep will look at the user. Undefined where that is certain; else the change may be committed once the
     * promise resolves. Without activity, as when only time passes, the user is not listed as active.
     */
    register(
      dueUser: DueUser,
      { isActivity = true }: { readonly isActivity?: boolean } = {},
    ): Promise<void> | undefined {
      const user = dueUser instanceof CachedUser ? dueUser : users.get(dueUser);
      const now = clock();
      if (user.registeredUntil > now && (!isActivity || user.activeUntil > now)) return undefined;
      const partition = userShardPartition(user.organisationId, userShardOf(user.userId));
      const listed = organisations.getOrLoad(user.organisationId, listOrganisation);
      return Promise.resolve(listed).then(() => batcher.add(partition, { user, isActivity }));
    },
  };
}

/** Commits writes that may be repeated, until the outcome is known. */
async function commitRepeatedly(store: Store, partition: Partition, writes: readonly Write[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store.commit(partition, { writes });
      return;
    } catch (error) {
      const isUnknown = error instanceof AppError && error.code === "outcome_unknown";
      if (!isUnknown || attempt >= attemptsMax) throw error;
    }
  }
}

function registrationWrites({ user, isActivity }: Registration, now: number): readonly Write[] {
  const member = boardMemberOf(user);
  return [
    // Replaces any planned time: a sweep at an earlier one might come before the change, at a later one its effects would wait.
    { type: "score", op: "set", key: dueUserKeys.due, member, score: now + registrationMs },
    { type: "score", op: "min", key: dueUserKeys.users, member, score: now },
    ...listingWrites(user.userId, now),
    ...(isActivity ? activityWrites(user.userId, now) : []),
  ];
}
