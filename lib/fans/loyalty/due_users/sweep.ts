/**
 * The sweep: runs due work of users, shard by shard.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { DueQueue } from "../../../storage/background/due_queue.ts";
import type { Store } from "../../../storage/mod.ts";
import { listedOrganisations, userShardPartition, userShards } from "../../users/mod.ts";
import { type DueUser, dueUserKeys, userOfBoardMember } from "./users.ts";

/** Time in ms for which a process keeps a shard while it sweeps a page of it. */
const leaseMs = 60_000;
/** Pause in ms before a user whose work failed is processed again. */
const retryMs = 60_000;
/** Number of users that are processed at the same time. */
const concurrency = 16;

/** Processes every due user of every organisation. Sweeps may overlap, in one process or several. */
export async function sweepDueUsers({
  store,
  clock,
  holder,
  processUser,
  onFailed,
}: {
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process among those that sweep. */
  readonly holder: string;
  /** Runs due work of a user and returns when to do so next, in Unix ms, or null for never. May be repeated. */
  readonly processUser: (user: DueUser) => Promise<number | null>;
  /** Receives failures; the user is processed again later. */
  readonly onFailed: (user: DueUser, error: unknown) => void;
}): Promise<{ readonly processed: number; readonly failed: number }> {
  let processed = 0;
  let failed = 0;
  for await (const organisationId of listedOrganisations(store)) {
    for (let shard = 0; shard < userShards; shard++) {
      const partition = userShardPartition(organisationId, shard);
      const board = dueUserKeys.due;
      const queue = new DueQueue({ store, clock, partition, board, claims: "queue", holder, leaseMs });
      const done = await queue.processDue({
        handle: member => processUser(userOfBoardMember(organisationId, member)),
        onFailed: (member, error) => onFailed(userOfBoardMember(organisationId, member), error),
        retryMs,
        concurrency,
      });
      processed += done.processed;
      failed += done.failed;
    }
  }
  return { processed, failed };
}
