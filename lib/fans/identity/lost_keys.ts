/** Users whom a lookup key does not find any more, for the examination of a deployment. */

import { mapConcurrent } from "../../storage/background/mod.ts";
import type { PartitionLister, Store } from "../../storage/mod.ts";
import { tenantPartitions } from "../../storage/names.ts";
import { isAnonymous, isWithdrawn, type Users, userRead } from "./users.ts";

/** Users that are examined at a time. */
const usersAtOnce = 16;
const names = {
  external: "external id",
  device: "device",
  email: "e-mail address",
  origin: "identity at its provider",
} as const;

interface LostKeys {
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
  const keys = (await users.keysOf(user)).filter(({ kind }) => kind !== "device" || isAnonymous(user));
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

async function* allUserIds(
  store: PartitionLister,
): AsyncGenerator<readonly { readonly projectId: string; readonly userId: string }[], void> {
  for await (const group of tenantPartitions(store, { tenant: "project", record: userRead.key })) {
    yield group.flatMap(({ tenant: { project }, kind, ids: [userId] }) =>
      kind === "user" && project !== undefined && userId !== undefined
        ? [{ projectId: project, userId }]
        : [],
    );
  }
}
