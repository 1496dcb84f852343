/**
 * The public profiles of users, for boards. They are cached for a second, because boards show the same leaders
 * to all.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import { Cache, type Loaded } from "../background/mod.ts";
import type { Store } from "../storage/mod.ts";
import { userPartition } from "./users.ts";

const maxAgeMs = 1_000;
const profilesMax = 20_000;
const projectsMax = 64;

/** The public members of a user. */
export interface PublicProfile {
  /** Empty for an unknown user and for one without a name. */
  readonly username: string;
}

/** Finds the public profiles of users of a project, in order. An unchanged profile is the same object. */
export type PublicProfiles = (
  projectId: string,
  userIds: readonly string[],
) => readonly PublicProfile[] | Promise<readonly PublicProfile[]>;

/** Creates the look-up over a store. */
export function createPublicProfiles({
  store,
  clock,
}: {
  readonly store: Store;
  readonly clock: Clock;
}): PublicProfiles {
  const projects = new Cache<Cache<PublicProfile>>({ entriesMax: projectsMax });
  return (projectId, userIds) => {
    const profiles =
      projects.get(projectId) ?? new Cache<PublicProfile>({ clock, maxAgeMs, entriesMax: profilesMax });
    projects.set(projectId, profiles);
    const now = clock();
    const load = (userId: string): Promise<Loaded<PublicProfile>> => loadProfile(store, projectId, userId);
    const found = userIds.map(userId => profiles.getOrLoad(userId, load, now));
    return found.some(profile => profile instanceof Promise)
      ? Promise.all(found)
      : (found as PublicProfile[]);
  };
}

async function loadProfile(store: Store, projectId: string, userId: string): Promise<Loaded<PublicProfile>> {
  const [stored] = await store.read(userPartition(projectId, userId), [{ type: "record", key: "name" }]);
  return { version: stored?.version ?? null, value: Object.freeze({ username: stored?.value ?? "" }) };
}
