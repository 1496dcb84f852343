/**
 * Which boards of an event have scores although no settings declare them: `round_N` exists for thousands of N, and whoever
 * looks through all boards of an event must know which of them are worth it.
 *
 * @module
 */

import type { Event } from "../../directory/mod.ts";
import { type Partition, type Store, storageLimits, tenantPartition } from "../../storage/mod.ts";

const key = "rounds";

/** By the directory's object of the event, which stays the same while the event is unchanged. */
const noted = new WeakMap<Event, Set<string>>();

/** Notes a board before its first score is written; a process that has noted it already does nothing. */
export async function noteRound(store: Store, event: Event, leaderboardId: string): Promise<void> {
  const known = noted.get(event) ?? new Set<string>();
  if (known.has(leaderboardId)) return;
  await store.commit(partitionOf(event), {
    writes: [{ type: "score", op: "set", key, member: leaderboardId, score: 0 }],
  });
  noted.set(event, known.add(leaderboardId));
}

/** The boards of an event that were noted. */
export async function usedRounds(store: Store, event: Event): Promise<readonly string[]> {
  const found: string[] = [];
  for (let offset = 0; ; offset += storageLimits.rangeLimitMax) {
    const [{ entries }] = await store.read(partitionOf(event), [
      { type: "board", key, offset, limit: storageLimits.rangeLimitMax },
    ]);
    found.push(...entries.map(({ member }) => member));
    if (entries.length < storageLimits.rangeLimitMax) return found;
  }
}

function partitionOf({ projectId, id }: Event): Partition {
  return tenantPartition({ project: projectId }, "leaderboards", id);
}
