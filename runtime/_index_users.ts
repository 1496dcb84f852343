import { systemClock } from "../lib/auth/mod.ts";
import type { IndexingProgress, UserIndexing } from "../lib/cli/mod.ts";
import { createDirectory } from "../lib/directory/mod.ts";
import { buildUserIndex } from "../lib/mod.ts";
import { inStore } from "./_direct_store.ts";

/** Least time between two messages of how far it is, in ms. */
const progressMsMin = 1_000;

/**
 * Lists users who are on record in the store that the settings name, and not in the index of users.
 *
 * @throws {CliError} The settings name no store that lasts.
 */
export async function indexUsers({ store: flags, onProgress }: UserIndexing): Promise<IndexingProgress> {
  let told = systemClock();
  return await inStore({
    command: "users index",
    flags,
    needsSecret: false,
    work: ({ store }) =>
      buildUserIndex({
        store,
        directory: createDirectory({ store, clock: systemClock }),
        clock: systemClock,
        onProgress(progress) {
          const now = systemClock();
          if (now - told < progressMsMin) return;
          told = now;
          onProgress(progress);
        },
      }),
  });
}
