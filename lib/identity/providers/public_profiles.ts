/**
 * What boards show of users: read when it is shown, and kept for a moment because the same leaders are shown to everybody.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { Cache, type Loaded } from "../../background/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { userPartition } from "../users.ts";

/** Age in ms from which a profile is read again. */
export const publicProfileAgeMsMax = 1_000;
/** Number of profiles of one project that a process keeps. */
export const publicProfilesMax = 20_000;
/** Number of projects whose profiles a process keeps. */
export const publicProfileProjectsMax = 64;

/** What everybody may see of a user. */
export interface PublicProfile {
  /** Empty where the user is unknown or has no name. */
  readonly username: string;
}

/**
 * Finds the public profiles of users of a project, in order. While a profile is unchanged the object is the same.
 */
export type PublicProfiles = (
  projectId: string,
  userIds: readonly string[],
) => readonly PublicProfile[] | Promise<readonly PublicProfile[]>;

/** Creates the look-up over a store. */
export function createPublicProfiles(options: {
  readonly store: Store;
  readonly clock: Clock;
}): PublicProfiles {
  const { store, clock } = options;
  const projects = new Map<string, Cache<PublicProfile>>();
  function profilesOf(projectId: string): Cache<PublicProfile> {
    const known = projects.get(projectId);
    if (known !== undefined) return known;
    const created = new Cache<PublicProfile>({
      clock,
      maxAgeMs: publicProfileAgeMsMax,
      entriesMax: publicProfilesMax,
    });
    const [oldest] = projects.keys();
    if (oldest !== undefined && projects.size >= publicProfileProjectsMax) projects.delete(oldest);
    projects.set(projectId, created);
    return created;
  }
  return (projectId, userIds) => {
    const profiles = profilesOf(projectId);
    const now = clock();
    const find = (userId: string): Promise<Loaded<PublicProfile>> => load(store, projectId, userId);
    const found = userIds.map(userId => profiles.getOrLoad(userId, find, now));
    return found.some(profile => profile instanceof Promise)
      ? Promise.all(found)
      : (found as PublicProfile[]);
  };
}

async function load(store: Store, projectId: string, userId: string): Promise<Loaded<PublicProfile>> {
  const [stored] = await store.read(userPartition(projectId, userId), [{ type: "record", key: "name" }]);
  return { version: stored?.version ?? null, value: Object.freeze({ username: stored?.value ?? "" }) };
}
