/**
 * Rebuilds a board from the recorded earnings of its users, while it is read and fed. The running sums that users go on from are
 * corrected first, so that the next action of a user adds to the rebuilt score.
 *
 * Each entry is removed and written in one commit, so that no reader misses it and the board forgets the entry's version,
 * even one from the future. A newer score that was delivered just before would be overwritten; so the record is read once
 * more afterwards and a changed score is written as the feed would.
 *
 * @module
 */

import { addBounded } from "../../../base/text/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import type { BoardChange } from "./board_change.ts";
import { boardKey, entryPartition, isWithinBounds } from "./board_location.ts";
import { changeScores } from "./change_scores.ts";
import { repairDistinctScores, walkBoard } from "./distinct_scores.ts";
import type { ResolvedBoard } from "./resolve_board.ts";
import type { RecordedScore, RecountedSum, UserEarnings } from "./score_feed.ts";
import { compileAmount, sourceOf } from "./score_targets.ts";

/** Number of users whose records are read at the same time. */
const concurrency = 50;

/** The records from which a board is rebuilt. */
export interface RebuildSource {
  /** Everyone who may belong on the board, in any order; repeated ids are processed again. */
  readonly users: AsyncIterable<string>;
  /**
   * Reads a user's recorded earnings; null where there is no such user. The user's running sum, on a board that has one, is the
   * recounted one from then on.
   */
  readonly earningsOf: (userId: string, sum: RecountedSum | null) => Promise<UserEarnings | null>;
}

/** The result of a rebuild. */
export interface Rebuilt {
  /** Number of users whose entry was written. */
  readonly written: number;
  /** Number of entries that did not belong on the board. */
  readonly removed: number;
}

/**
 * Rebuilds a board: every user of the source with a score gets an entry with that score, and all other entries are removed.
 * It may be interrupted and repeated.
 *
 * @throws {AppError} `conflict` for a board whose scores back ends write.
 */
export async function rebuildBoard(
  store: Store,
  board: ResolvedBoard,
  { users, earningsOf }: RebuildSource,
): Promise<Rebuilt> {
  const { location } = board;
  const { scoreOf, sum } = createReplay(board);

  async function scoresOf(userIds: readonly string[]): Promise<readonly UserScore[]> {
    return await Promise.all(
      userIds.map(async userId => {
        const earnings = await earningsOf(userId, sum);
        return { userId, score: earnings === null ? null : scoreOf(earnings) };
      }),
    );
  }

  /** Applies the changes that recorded scores require, then again where a record changed meanwhile. */
  async function apply(
    userIds: readonly string[],
    changesOf: (user: UserScore) => readonly BoardChange[],
  ): Promise<number> {
    const before = (await scoresOf(userIds)).filter(user => changesOf(user).length > 0);
    await changeScores(store, location, before.flatMap(changesOf));
    const after = await scoresOf(before.map(({ userId }) => userId));
    const newer = after.filter(({ score }, index) => score?.asOf !== before[index]?.score?.asOf);
    await changeScores(store, location, newer.flatMap(settingScore));
    return before.length;
  }

  let written = 0;
  for await (const userIds of batchesOf(users)) {
    written += await apply(userIds, user =>
      user.score === null ? [] : [removal(user.userId), ...settingScore(user)],
    );
  }
  let removed = 0;
  for (const partition of location.shards) {
    for await (const page of walkBoard(store, partition, boardKey)) {
      const members = page.map(({ member }) => member);
      const misplaced = members.filter(member => entryPartition(location, member) !== partition);
      await changeScores(store, { ...location, shards: [partition] }, misplaced.map(removal));
      removed += misplaced.length;
      const placed = members.filter(member => !misplaced.includes(member));
      for (let from = 0; from < placed.length; from += concurrency) {
        removed += await apply(placed.slice(from, from + concurrency), ({ userId, score }) =>
          score === null ? [removal(userId)] : [],
        );
      }
    }
  }
  if (location.rankStyle === "dense") await repairDistinctScores(store, location.shards[0]);
  return { written, removed };
}

type UserScore = { readonly userId: string; readonly score: RecordedScore | null };

function removal(userId: string): BoardChange {
  return { userId, operator: "remove" };
}

function settingScore({ userId, score }: UserScore): readonly BoardChange[] {
  return score === null ? [] : [{ userId, operator: "set", ...score }];
}

async function* batchesOf(users: AsyncIterable<string>): AsyncGenerator<readonly string[], void, void> {
  let batch = new Set<string>();
  for await (const userId of users) {
    batch.add(userId);
    if (batch.size < concurrency) continue;
    yield [...batch];
    batch = new Set();
  }
  if (batch.size > 0) yield [...batch];
}

/** A board with a season of it, or null where it has none. */
interface ReplayedBoard extends Pick<ResolvedBoard, "declaration" | "season"> {
  readonly project: Pick<ResolvedBoard["project"], "id">;
  readonly event: { readonly id: string } | null;
  readonly location: Pick<ResolvedBoard["location"], "bounds">;
}

/** Computes what a board shows of users from their recorded earnings. */
interface BoardReplay {
  /** Computes a user's score; null: the user does not belong on the board. */
  readonly scoreOf: (user: UserEarnings) => RecordedScore | null;
  /** The running sum behind the scores; null on a board that shows a metric. */
  readonly sum: RecountedSum | null;
}

/**
 * Creates the replay of a board.
 *
 * Where the oldest gains are no longer recorded, a board that sums them counts only the others. An event's board ignores
 * actions that named their event by an alias while it had no boards, as no record says which event that was.
 *
 * @throws {AppError} `conflict` for a board whose scores back ends write.
 */
export function createReplay(board: ReplayedBoard): BoardReplay {
  const { declaration, project, event, season, location } = board;
  const { source } = declaration;
  const amountOf = compileAmount(declaration);
  const totalId = source.type === "metric" && event === null && season === null ? source.metricId : null;
  const [targets] = sourceOf(declaration, project.id, event?.id ?? null);

  function counts({ gain: { data }, at }: UserEarnings["earnings"][number]): boolean {
    const isInSeason = season === null || (at >= season.startsAt && at < season.endsAt);
    if (event === null || !isInSeason) return isInSeason;
    const eventId = Object.hasOwn(data, "eventId") ? data.eventId : undefined;
    return typeof eventId === "string" && eventId.toLowerCase() === event.id;
  }

  function stepsOf(user: UserEarnings): { readonly at: number; readonly by: number }[] {
    if (user.projectId !== project.id) return [];
    return user.earnings
      .filter(counts)
      .map(({ gain, at }) => ({ at, by: amountOf(gain) }))
      .filter(({ by }) => by !== 0);
  }

  function scoreOf(user: UserEarnings): RecordedScore | null {
    if (user.projectId !== project.id) return null;
    const steps = stepsOf(user);
    let value = 0;
    if (totalId !== null) {
      if (!Object.hasOwn(user.metrics, totalId)) return null;
      // The value of the metric before the first step that is recorded.
      value = steps.reduce((start, { by }) => addBounded(start, -by), user.metrics[totalId] ?? 0);
      if (steps.length === 0) steps.push({ at: user.changedAt, by: 0 });
    }
    let last = null as RecordedScore | null;
    for (const { at, by } of steps) {
      value = addBounded(value, by);
      // A score that is reached again right away keeps its time.
      if (isWithinBounds(location, value) && last?.score !== value) {
        last = { score: value, at, asOf: user.revision };
      }
    }
    return last;
  }

  function sumOf(user: UserEarnings): ReturnType<RecountedSum["sumOf"]> {
    const steps = stepsOf(user);
    const last = steps.at(-1);
    const target = last === undefined ? null : (targets?.targetAt(last.at) ?? null);
    if (target?.kind !== "sum") return null;
    const { keepUntil } = target;
    const total = steps.reduce((sum, { by }) => addBounded(sum, by), 0);
    return keepUntil === undefined ? { total } : { total, keepUntil };
  }

  const target = targets?.targetAt(season?.startsAt ?? 0);
  return { scoreOf, sum: target?.kind === "sum" ? { id: target.id, sumOf } : null };
}
