/**
 * Removes a user's entries from all boards of a project.
 *
 * Entries in seasons that are no longer kept or declared go when those are removed. Scores that the user earns or that are
 * delivered afterwards create new entries.
 *
 * @module
 */

import { Batcher } from "../../../storage/background/mod.ts";
import { projectEvents } from "../../directory/mod.ts";
import type { LeaderboardServices } from "../services.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { declaredEventBoards, projectBoards } from "../settings/declared_boards.ts";
import { listSeasons } from "../settings/seasons.ts";
import type { BoardChange } from "./board_change.ts";
import { type BoardLocation, locateBoard } from "./board_location.ts";
import { changeScores } from "./change_scores.ts";
import { trackedLocations } from "./retention.ts";

/** Number of boards that are changed at the same time. */
const concurrency = 16;

/**
 * Creates the removal from every board of a project and of its events, in all seasons that are kept. It may be repeated after
 * an interruption. Users who are removed while a walk over the project's boards runs share the next walk.
 */
export function createEntryRemoval(services: LeaderboardServices) {
  const walks = new Batcher<string>({
    run: (projectId, userIds) => removeUsers(services, projectId, userIds),
  });
  return (projectId: string, userId: string): Promise<void> => walks.add(projectId, userId);
}

async function removeUsers(
  services: LeaderboardServices,
  projectId: string,
  userIds: readonly string[],
): Promise<void> {
  const removals = userIds.map((userId): BoardChange => ({ userId, operator: "remove" }));
  let locations: BoardLocation[] = [];
  async function removeFromAll(): Promise<void> {
    await Promise.all(locations.map(location => changeScores(services.store, location, removals)));
    locations = [];
  }
  for await (const location of locationsOf(services, projectId)) {
    locations.push(location);
    if (locations.length >= concurrency) await removeFromAll();
  }
  await removeFromAll();
}

/** Lists the locations of all boards of a project and its events that may have scores. */
async function* locationsOf(
  { store, directory, clock }: LeaderboardServices,
  projectId: string,
): AsyncGenerator<BoardLocation, void, void> {
  const project = await directory.project(projectId);
  if (project === null) return;
  function seasonLocations(declaration: BoardDeclaration, eventId: string | null): BoardLocation[] {
    const path = { projectId, eventId, leaderboardId: declaration.id };
    return listSeasons(declaration, clock()).map(({ id }) =>
      locateBoard(declaration, { ...path, season: id }),
    );
  }
  for (const board of projectBoards(project).values()) yield* seasonLocations(board, null);
  for await (const event of projectEvents(store, projectId, clock())) {
    for (const board of declaredEventBoards(project, event).values()) yield* seasonLocations(board, event.id);
  }
  // Boards without seasons are noted with their first score, also those that are no longer declared or were moved.
  yield* trackedLocations(store, projectId);
}
