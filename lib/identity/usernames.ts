/**
 * The names of users for boards: read when they are shown, and kept for a moment because the same leaders are shown
 * to everybody.
 *
 * @module
 */

import { FreshCache } from "../directory/mod.ts";
import type { Store } from "../storage/mod.ts";
import { userPartition } from "./users.ts";

/** Age in ms from which a name is read again. */
export const usernameAgeMsMax = 1_000;
/** Number of names that a process keeps. */
export const usernamesMax = 20_000;

/** Finds the names of users of a project; an unknown user's name is empty. */
export type Usernames = (
  projectId: string,
  userIds: readonly string[],
) => readonly string[] | Promise<readonly string[]>;

/** Creates the look-up of names over a store. */
export function createUsernames(options: { readonly store: Store; readonly clock: () => number }): Usernames {
  const { store, clock } = options;
  const names = new FreshCache(
    async key => {
      const slash = key.indexOf("/");
      const [projectId, userId] = [key.slice(0, slash), key.slice(slash + 1)];
      const [stored] = await store.read(userPartition(projectId, userId), [{ type: "record", key: "name" }]);
      return { version: stored?.version ?? null, value: stored?.value ?? "" };
    },
    { clock, ageMsMax: usernameAgeMsMax, entriesMax: usernamesMax },
  );
  return (projectId, userIds) => {
    const found = userIds.map(userId => names.get(`${projectId}/${userId}`));
    return found.every(name => typeof name === "string") ? found : Promise.all(found);
  };
}
