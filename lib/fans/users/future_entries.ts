/**
 * Entries of the index of users that a process wrote whose clock was far ahead.
 *
 * @module
 */

import { type Partition, type Store, storageLimits, type Write } from "../../storage/mod.ts";
import { userBoards } from "./user_index.ts";

/** Most that a stored time may be ahead of now, in ms: as far as clocks of processes may be ahead of the store's. */
export const aheadMsMax = 300_000;
/** The boards of a shard whose scores are times in the past; loyalty lists its users on the last one. */
const boards: readonly string[] = [userBoards.created, userBoards.active, "users"];

/** An entry that is dated ahead. */
interface FutureEntry {
  readonly key: string;
  readonly member: string;
}

/** Finds entries of a shard that are dated ahead of now (Unix ms), at most 1,000 of each board. */
export async function futureEntries(
  store: Store,
  partition: Partition,
  now: number,
): Promise<readonly FutureEntry[]> {
  const { rangeLimitMax: limit } = storageLimits;
  const found = await store.read(
    partition,
    boards.map(key => ({ type: "board", key, min: now + aheadMsMax, limit }) as const),
  );
  return found.flatMap(({ entries }, index) =>
    entries.map(({ member }) => ({ key: boards[index] ?? "", member })),
  );
}

export async function redateEntries(
  store: Store,
  partition: Partition,
  entries: readonly FutureEntry[],
  now: number,
): Promise<void> {
  const { maxWrites } = store.traits;
  for (let from = 0; from < entries.length; from += maxWrites) {
    const writes = entries
      .slice(from, from + maxWrites)
      .map(({ key, member }): Write => ({ type: "score", op: "min", key, member, score: now }));
    await store.commit(partition, { writes });
  }
}
