/**
 * Lookup keys that no longer lead to their users, as their claims were lost and the users were not: nobody finds the user by them, and
 * somebody else may claim them.
 *
 * @module
 */

import { mapConcurrent } from "../../storage/background/mod.ts";
import type { PartitionLister, Store } from "../../storage/mod.ts";
import { allUserIds, isAnonymous, isWithdrawn, type Users } from "./users.ts";

/** Users that are examined at a time. */
const usersAtOnce = 16;
const names = {
  external: "external id",
  device: "device",
  email: "e-mail address",
  origin: "identity at its provider",
} as const;

/** A user with lookup keys that lead nowhere or to another user. */
export interface LostKeys {
  /** Names the user and the keys, for people. */
  readonly name: string;
  /** Claims the keys that nobody has; returns whether the user has all of its keys then. */
  repair(): Promise<boolean>;
}

/** Examines every user, in groups: null for each whom all lookup keys find. */
export async function* findLostKeys(
  store: PartitionLister & Store,
  users: Users,
): AsyncGenerator<readonly (LostKeys | null)[], void> {
  for await (const group of allUserIds(store)) {
    yield await mapConcurrent(group, usersAtOnce, user => lostKeysOf(users, user));
  }
}

async function lostKeysOf(
  users: Users,
  { projectId, userId }: { readonly projectId: string; readonly userId: string },
): Promise<LostKeys | null> {
  const user = await users.findById(projectId, userId);
  if (user === null || isWithdrawn(user)) return null;
  // A device whose user has an account by now belongs to the next anonymous user.
  const keys = users.keysOf(user).filter(({ kind }) => kind !== "device" || isAnonymous(user));
  const holders = await Promise.all(keys.map(key => users.holderOf(projectId, key)));
  const lost = keys.filter((_, index) => holders[index] !== userId);
  if (lost.length === 0) return null;
  const isTaken = holders.some(holder => holder !== null && holder !== userId);
  const list = lost.map(({ kind }) => names[kind]).join(" and ");
  const fault = isTaken ? "another user has its" : "is not found by its";
  return {
    name: `user ${userId} of project ${projectId}: ${fault} ${list}`,
    async repair() {
      const held = await Promise.all(lost.map(key => users.restore(projectId, key, user)));
      return held.every(holder => holder === userId);
    },
  };
}
