/**
 * Compares the leading entries of boards with the records of their users.
 *
 * @module
 */

import { mapConcurrent } from "../../../storage/background/mod.ts";
import type { ReadBoard } from "../../../storage/mod.ts";
import { type Project, projectEvents } from "../../directory/mod.ts";
import type { LeaderboardServices } from "../services.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { declaredEventBoards, projectBoards } from "../settings/declared_boards.ts";
import { seasonAt } from "../settings/seasons.ts";
import {
  type BoardAddress,
  type BoardLocation,
  boardKey,
  fromStoredScore,
  isWithinBounds,
  locateBoard,
} from "./board_location.ts";
import type { ReadRecordedScore } from "./score_feed.ts";
import { createRecordReader, sourceOf } from "./score_targets.ts";

/** Most entries of a shard that are compared, the leading ones. */
const entriesMax = 100;
/** Users whose records are read at a time. */
const concurrency = 16;

/** An entry with another score than its user's record has. */
export interface Difference {
  readonly userId: string;
  readonly shown: number;
  readonly recorded: number;
}

/** A board whose leading entries can be compared. */
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
    const compared = await mapConcurrent(entries, concurrency, async ({ userId, shown }) => {
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
