/**
 * External ids that former versions stored in the clear: in the key of the external id, in the records of users, and in the
 * claims of devices, addresses and identities.
 *
 * @module
 */

import { mapConcurrent } from "../../storage/background/mod.ts";
import {
  type PartitionLister,
  type PartitionParts,
  type Store,
  tenantPartition,
  tenantPartitions,
} from "../../storage/mod.ts";
import { type Users, userRead } from "./users.ts";

/** Records that are read at a time. */
const readsAtOnce = 16;

/** A record with an external id in the clear. */
export interface ClearId {
  /** Names the record without the external id, for people. */
  readonly name: string;
  /** Stores it as this version does. */
  seal(users: Users): Promise<void>;
}

/** Examines every user and lookup key, in groups: null for each without an external id in the clear. */
export async function* findClearIds(
  store: Store & PartitionLister,
): AsyncGenerator<readonly (ClearId | null)[], void> {
  for await (const group of tenantPartitions(store, { tenant: "project", record: userRead.key })) {
    yield await mapConcurrent(group, readsAtOnce, parts => clearIdOf(store, parts));
  }
}

async function clearIdOf(store: Store, { tenant, kind, ids }: PartitionParts): Promise<ClearId | null> {
  const { project } = tenant;
  if (project === undefined) return null;
  const partition = tenantPartition(tenant, kind, ...ids);
  const [stored] = await store.read(partition, [userRead]);
  const { userId = "", externalId } = (stored === null ? {} : JSON.parse(stored.value)) as {
    readonly userId?: string;
    readonly externalId?: string;
  };
  if (externalId === undefined) return null;
  return {
    name: `${kind === "user" ? "the record" : `the ${kind} key`} of user ${userId} in project ${project}`,
    async seal(users) {
      if (kind === "user") await users.sealUser(project, userId);
      else if (kind === "external") await users.moveClearKey(project, externalId);
      else await users.sealClaim(partition);
    },
  };
}
