/**
 * Taking a user off the boards of a project.
 *
 * What remains of the user is in seasons that are no longer kept or declared, until they are removed. Scores that the user earns
 * or that are delivered afterwards make new entries.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { type Directory, type Event, type Project, projectEvents } from "../../directory/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { declaredEventBoards, eventBoard, projectBoards } from "../settings/declarations.ts";
import { listSeasons } from "../settings/seasons.ts";
import type { EntryRemoval } from "./board_change.ts";
import { type BoardLocation, locateBoard } from "./board_location.ts";
import { changeScores } from "./score_batch.ts";
import { usedBoards, usedName } from "./used_boards.ts";
import { usedRounds } from "./used_rounds.ts";

/** Number of boards that are changed side by side. */
export const removalLanes = 16;

/** What removing users works with. */
export interface UserRemovalOptions {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
}

/** Takes a user off boards. */
export type RemoveUserFromBoards = (projectId: string, userId: string) => Promise<void>;

/**
 * Creates the function that takes a user off every board of a project and of its events, in the running season and in those
 * that are kept. It may be called again after it was interrupted; a user without entries is no fault. Users who are removed
 * while a walk over the project's boards is under way share the next one.
 */
export function createBoardRemoval(options: UserRemovalOptions): RemoveUserFromBoards {
  const waiting = new Map<string, { readonly userIds: string[]; readonly walk: Promise<void> }>();
  const running = new Map<string, Promise<void>>();

  async function walk(projectId: string, userIds: readonly string[]): Promise<void> {
    await running.get(projectId)?.catch(() => {});
    waiting.delete(projectId);
    const done = removeUsers(options, projectId, userIds);
    running.set(projectId, done);
    try {
      await done;
    } finally {
      if (running.get(projectId) === done) running.delete(projectId);
    }
  }

  return (projectId, userId) => {
    const shared = waiting.get(projectId);
    if (shared !== undefined) {
      shared.userIds.push(userId);
      return shared.walk;
    }
    const userIds = [userId];
    const next = { userIds, walk: Promise.resolve().then(() => walk(projectId, userIds)) };
    waiting.set(projectId, next);
    return next.walk;
  };
}

async function removeUsers(
  options: UserRemovalOptions,
  projectId: string,
  userIds: readonly string[],
): Promise<void> {
  const removals = userIds.map((userId): EntryRemoval => ({ userId, operator: "remove" }));
  let locations: BoardLocation[] = [];
  async function removeFromAll(): Promise<void> {
    await Promise.all(locations.map(location => changeScores(options.store, location, removals)));
    locations = [];
  }
  for await (const location of locationsOf(options, projectId)) {
    locations.push(location);
    if (locations.length >= removalLanes) await removeFromAll();
  }
  await removeFromAll();
}

/** Where the boards of a project and its events keep their scores. */
async function* locationsOf(
  { store, directory, clock }: UserRemovalOptions,
  projectId: string,
): AsyncGenerator<BoardLocation, void, void> {
  const project = await directory.project(projectId);
  if (project === null) return;
  const declared = new Set<string>();
  function locations(declaration: BoardDeclaration, eventId: string | null): readonly BoardLocation[] {
    const address = { projectId, eventId, leaderboardId: declaration.id };
    if (declaration.seasons.type === "none") declared.add(usedName(address, declaration));
    return seasonLocations(declaration, { projectId, eventId, now: clock() });
  }
  for (const declaration of projectBoards(project).values()) yield* locations(declaration, null);
  for await (const event of projectEvents(store, projectId)) {
    for (const declaration of await boardsOf(store, project, event)) yield* locations(declaration, event.id);
  }
  // Boards that are declared no more, have seasons now, or keep their scores elsewhere.
  for await (const { name, location } of usedBoards(store, projectId))
    if (!declared.has(name)) yield location;
}

async function boardsOf(store: Store, project: Project, event: Event): Promise<readonly BoardDeclaration[]> {
  const rounds = await usedRounds(store, event);
  const ids = new Set(["overall", ...declaredEventBoards(project, event).keys(), ...rounds]);
  return [...ids].flatMap(id => eventBoard(project, event, id) ?? []);
}

function seasonLocations(
  declaration: BoardDeclaration,
  of: { readonly projectId: string; readonly eventId: string | null; readonly now: number },
): readonly BoardLocation[] {
  const { projectId, eventId, now } = of;
  const address = { projectId, eventId, leaderboardId: declaration.id };
  if (declaration.seasons.type === "none") return [locateBoard(declaration, { ...address, season: "" })];
  return listSeasons(declaration, now).map(({ id }) => locateBoard(declaration, { ...address, season: id }));
}
