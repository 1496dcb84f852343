/**
 * Rebuilding a board from what is recorded of its users, while it is read and fed.
 *
 * A user's entry is taken off and written anew in one commit, so that no reader misses it and whatever the board thought to
 * know of the user, a version from the future included, is forgotten. Should the feed have brought a newer score just
 * before, it is overwritten by that commit; so the record is read once more afterwards, and what has changed is brought as the
 * feed would. Memory holds one batch of users, however many there are.
 *
 * @module
 */

import type { Store } from "../../storage/mod.ts";
import type { BoardChange, EntryRemoval } from "./board_change.ts";
import { type BoardLocation, boardKey, entryPartition } from "./board_location.ts";
import { walkBoard } from "./board_walk.ts";
import { repairDistinct } from "./distinct_repair.ts";
import type { ReplayedScore } from "./replayed_score.ts";
import { changeScores } from "./score_batch.ts";

/** Number of users whose records are read side by side. */
export const rebuildLanes = 50;

/** What a board is rebuilt from. */
export interface RebuildSource {
  /** Everybody who may have to be on the board, in any order; who is named twice is looked at twice. */
  readonly users: AsyncIterable<string>;
  /** The score that a user must have now; null where the user must not be on the board. */
  readonly scoreOf: (userId: string) => Promise<ReplayedScore | null>;
}

/** What a rebuild did. */
export interface Rebuilt {
  /** Number of users whose entry was written. */
  readonly written: number;
  /** Number of entries that did not belong on the board. */
  readonly removed: number;
}

/**
 * Brings a board to what it must be: every user of the source who has a score is on it with that score, and nobody else.
 * It may be interrupted and done again.
 */
export async function rebuildBoard(
  store: Store,
  location: BoardLocation,
  source: RebuildSource,
): Promise<Rebuilt> {
  let written = 0;
  for await (const userIds of batches(source.users)) {
    written += await rewrite(store, location, { userIds, scoreOf: source.scoreOf });
  }
  let removed = 0;
  for (const partition of location.shards) {
    for await (const page of walkBoard(store, { partition, key: boardKey })) {
      const isHome = (member: string): boolean => entryPartition(location, member) === partition;
      const members = page.map(({ member }) => member).filter(isHome);
      const misplaced = page.map(({ member }) => member).filter(member => !isHome(member));
      await changeScores(store, { ...location, shards: [partition] }, misplaced.map(removal));
      removed += misplaced.length;
      for (let from = 0; from < members.length; from += rebuildLanes) {
        const userIds = members.slice(from, from + rebuildLanes);
        removed += await removeStrangers(store, location, { userIds, scoreOf: source.scoreOf });
      }
    }
  }
  if (location.rankStyle === "dense") await repairDistinct(store, location.shards[0]);
  return { written, removed };
}

function removal(userId: string): EntryRemoval {
  return { userId, operator: "remove" };
}

interface Some {
  readonly userIds: readonly string[];
  readonly scoreOf: RebuildSource["scoreOf"];
}

type Scores = readonly { readonly userId: string; readonly score: ReplayedScore | null }[];

async function rewrite(store: Store, location: BoardLocation, some: Some): Promise<number> {
  const known = (await scoresOf(some)).filter(({ score }) => score !== null);
  await changeScores(
    store,
    location,
    known.flatMap(({ userId, score }): BoardChange[] =>
      score === null
        ? []
        : [
            { userId, operator: "remove" },
            { userId, operator: "set", ...score },
          ],
    ),
  );
  const users = known.map(({ userId }) => userId);
  await catchUp(store, location, { before: known, after: await scoresOf({ ...some, userIds: users }) });
  return known.length;
}

async function removeStrangers(store: Store, location: BoardLocation, some: Some): Promise<number> {
  const strangers = (await scoresOf(some)).filter(({ score }) => score === null);
  if (strangers.length === 0) return 0;
  const users = strangers.map(({ userId }) => userId);
  await changeScores(store, location, users.map(removal));
  await catchUp(store, location, { before: strangers, after: await scoresOf({ ...some, userIds: users }) });
  return strangers.length;
}

/** Brings what has changed while the board was written. */
async function catchUp(
  store: Store,
  location: BoardLocation,
  { before, after }: { readonly before: Scores; readonly after: Scores },
): Promise<void> {
  const changes = after.flatMap(({ userId, score }, index): BoardChange[] => {
    const known = before[index]?.score ?? null;
    return score === null || score.asOf === known?.asOf ? [] : [{ userId, operator: "set", ...score }];
  });
  if (changes.length > 0) await changeScores(store, location, changes);
}

async function scoresOf({ userIds, scoreOf }: Some): Promise<Scores> {
  return await Promise.all(userIds.map(async userId => ({ userId, score: await scoreOf(userId) })));
}

async function* batches(users: AsyncIterable<string>): AsyncGenerator<readonly string[], void, void> {
  let batch = new Set<string>();
  for await (const userId of users) {
    batch.add(userId);
    if (batch.size < rebuildLanes) continue;
    yield [...batch];
    batch = new Set();
  }
  if (batch.size > 0) yield [...batch];
}
