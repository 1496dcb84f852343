/**
 * Rebuilds a board from the recorded earnings of its users, while it is read and fed. The running sums that users go on from are
 * corrected first, so that the next action of a user adds to the rebuilt score.
 *
 * Each entry is removed and written in one commit, so that no reader misses it and the board forgets the entry's version,
 * even one from the future. A newer score that was delivered just before would be overwritten; so the record is read once
 * more afterwards and a changed score is written as the feed would.
 */

import { addBounded } from "../../../base/text/mod.ts";
import { mapConcurrent } from "../../../storage/background/mod.ts";
import type { ReadBoard, Store } from "../../../storage/mod.ts";
import { projectEvents } from "../../directory/directory.ts";
import type { Project, Settings } from "../../directory/mod.ts";
import {
  type BoardDeclaration,
  declaredEventBoards,
  parseBoards,
  projectBoards,
} from "../settings/board_settings.ts";
import { seasonAt } from "../settings/seasons.ts";
import { type BoardChange, changeScores, repairDistinctScores, walkBoard } from "./change_scores.ts";
import {
  type BoardAddress,
  type BoardLocation,
  boardKey,
  entryPartition,
  fromStoredScore,
  isWithinBounds,
  type LeaderboardServices,
  locateBoard,
  type ResolvedBoard,
} from "./resolve_board.ts";
import {
  compileAmount,
  createRecordReader,
  type ReadRecordedScore,
  type RecordedScore,
  type RecountedSum,
  sourceOf,
  type UserEarnings,
} from "./score_delivery.ts";

/** Number of users whose records are read at the same time. */
const concurrency = 50;

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

interface ReplayedBoard extends Pick<ResolvedBoard, "declaration" | "season"> {
  readonly project: Pick<ResolvedBoard["project"], "id">;
  readonly event: { readonly id: string } | null;
  readonly location: Pick<ResolvedBoard["location"], "bounds">;
}

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
function createReplay(board: ReplayedBoard): BoardReplay {
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

/** The boards that the settings of a project declare and that users' earnings change. */
export interface BoardPreview {
  /**
   * Returns the score of a user at an instant (Unix ms), in the season of that time; null: the user is not on the board. Undefined
   * where no such board is declared, or back ends write its scores.
   */
  scoreOf(
    board: Pick<BoardAddress, "eventId" | "leaderboardId">,
    user: Omit<UserEarnings, "projectId">,
    at: number,
  ): number | null | undefined;
}

/**
 * Creates the preview of the boards in the sections `leaderboards` and `eventLeaderboards` of a project's settings.
 *
 * @param pointer JSON Pointer to the settings, for errors.
 * @throws {AppError} `validation_failed` where they are not valid.
 */
export function createBoardPreview(settings: Settings, pointer: string): BoardPreview {
  const sections = {
    ofProject: parseBoards(settings.leaderboards, `${pointer}/leaderboards`),
    ofEvents: parseBoards(settings.eventLeaderboards, `${pointer}/eventLeaderboards`),
  };
  return {
    scoreOf({ eventId, leaderboardId }, user, at) {
      const boards = eventId === null ? sections.ofProject : sections.ofEvents;
      const declaration = boards.find(({ id }) => id === leaderboardId);
      if (declaration === undefined || declaration.source.type === "direct") return undefined;
      const season = seasonAt(declaration, at);
      if (season === null && declaration.seasons.type !== "none") return null;
      const project = { id: "" };
      const event = eventId === null ? null : { id: eventId.toLowerCase() };
      const board = { declaration, project, event, season, location: declaration };
      return createReplay(board).scoreOf({ ...user, projectId: project.id })?.score ?? null;
    },
  };
}

/** Most entries of a shard that are compared, the leading ones. */
const entriesMax = 100;
/** Users whose records are read at a time. */
const comparedUsers = 16;

export interface Difference {
  readonly userId: string;
  readonly shown: number;
  readonly recorded: number;
}

export interface ComparedBoard {
  readonly address: BoardAddress;
  readonly differences: () => Promise<readonly Difference[]>;
}

/** Lists the boards that users' actions feed, of a project and its events, with their running season. */
export async function* comparedBoards(
  services: LeaderboardServices & { readonly readRecordedScore: ReadRecordedScore },
  project: Project,
): AsyncGenerator<ComparedBoard, void, void> {
  const { store, clock } = services;
  for (const board of projectBoards(project).values()) yield* comparedBoard(services, project, null, board);
  for await (const event of projectEvents(store, project.id, clock())) {
    for (const board of declaredEventBoards(project, event).values()) {
      yield* comparedBoard(services, project, event.id, board);
    }
  }
}

function comparedBoard(
  { store, directory, clock, readRecordedScore }: Parameters<typeof comparedBoards>[0],
  project: Project,
  eventId: string | null,
  board: BoardDeclaration,
): readonly ComparedBoard[] {
  const now = clock();
  const target = sourceOf(board, project.id, eventId)[0]?.targetAt(now);
  if (target === undefined || target === null) return [];
  const season = seasonAt(board, now)?.id ?? "";
  const address: BoardAddress = { projectId: project.id, eventId, leaderboardId: board.id, season };
  const location = locateBoard(board, address);
  const read = createRecordReader({ store, directory }, readRecordedScore);
  async function differences(): Promise<readonly Difference[]> {
    const entries = await leadingEntries(store, location);
    const compared = await mapConcurrent(entries, comparedUsers, async ({ userId, shown }) => {
      const recorded = (await read(target?.id ?? "", userId))?.score ?? shown;
      return recorded === shown || !isWithinBounds(location, recorded) ? [] : [{ userId, shown, recorded }];
    });
    return compared.flat();
  }
  return [{ address, differences }];
}

async function leadingEntries(
  store: LeaderboardServices["store"],
  location: BoardLocation,
): Promise<readonly Omit<Difference, "recorded">[]> {
  const query: ReadBoard = { type: "board", key: boardKey, limit: entriesMax };
  const pages = await Promise.all(location.shards.map(partition => store.read(partition, [query])));
  return pages.flatMap(([{ entries }]) =>
    entries.map(({ member, score }) => ({ userId: member, shown: fromStoredScore(location, score) })),
  );
}
