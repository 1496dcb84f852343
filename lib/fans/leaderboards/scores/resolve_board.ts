/**
 * Resolves the names in a path to a board and its season.
 *
 * @module
 */

import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { chain } from "../../../http/mod.ts";
import type { Directory, Event, Project } from "../../directory/mod.ts";
import { type BoardDeclaration, declarationsMax } from "../settings/board_settings.ts";
import { eventBoard, projectBoards } from "../settings/declared_boards.ts";
import type { Season } from "../settings/season_settings.ts";
import { type SeasonQuery, selectSeason } from "../settings/seasons.ts";
import { type BoardAddress, type BoardLocation, locateBoard } from "./board_location.ts";

/** A board that exists, with the season that was asked for. */
export interface ResolvedBoard {
  readonly declaration: BoardDeclaration;
  readonly project: Project;
  /** Null on a project's board. */
  readonly event: Event | null;
  /** Null on a board without seasons. */
  readonly season: Season | null;
  readonly address: BoardAddress;
  readonly location: BoardLocation;
}

/** Names a board as paths do. */
export type BoardPath = Omit<BoardAddress, "season">;

/**
 * Resolves a path to its board; without a promise while its project and event are cached.
 *
 * @throws {AppError} `not_found` for an unknown project or event; `validation_failed` for an id that is not declared; and the
 *   errors of `selectSeason`.
 */
export function resolveBoard(
  directory: Directory,
  { projectId, eventId, leaderboardId }: BoardPath,
  query: SeasonQuery,
): ResolvedBoard | Promise<ResolvedBoard> {
  return chain(directory.project(projectId), project => {
    if (project === null) throw unknownParent("project");
    if (eventId === null) return cachedBoard(project, null, leaderboardId, query);
    return chain(directory.event(projectId, eventId), event => {
      if (event === null) throw unknownParent("event");
      return cachedBoard(project, event, leaderboardId, query);
    });
  });
}

/** Keyed by the directory's object of the project or event, which lives as long as that is unchanged. */
const boards = new WeakMap<Project | Event, Map<string, ResolvedBoard>>();

function cachedBoard(project: Project, event: Event | null, id: string, query: SeasonQuery): ResolvedBoard {
  const cached = boards.get(event ?? project) ?? new Map<string, ResolvedBoard>();
  const found = cached.get(id);
  if (found?.project === project && isSelected(found.season, query)) return found;
  const board = createBoard(project, event, id, query);
  // A path may name thousands of rounds: no more boards are cached than can be declared.
  const isCached = query.season === undefined && (found !== undefined || cached.size < declarationsMax);
  if (isCached) boards.set(event ?? project, cached.set(id, board));
  return board;
}

/** Tells whether a cached season is the one that the query selects. */
function isSelected(season: Season | null, { now, season: id, at = now }: SeasonQuery): boolean {
  if (id !== undefined) return false;
  return season === null || [now, at].every(time => time >= season.startsAt && time < season.endsAt);
}

function createBoard(project: Project, event: Event | null, id: string, query: SeasonQuery): ResolvedBoard {
  const declaration = event === null ? projectBoards(project).get(id) : eventBoard(project, event, id);
  if (declaration === undefined) {
    const message = "Cannot find the leaderboard as none of this id is declared";
    throw invalidField(message, "leaderboardId", "Expected the id of a declared leaderboard");
  }
  const season = selectSeason(declaration, query);
  const address = {
    projectId: project.id,
    eventId: event?.id ?? null,
    leaderboardId: id,
    season: season?.id ?? "",
  };
  return { declaration, project, event, season, address, location: locateBoard(declaration, address) };
}

function unknownParent(parent: "project" | "event"): AppError {
  return new AppError("not_found", `Cannot find the leaderboard as its ${parent} is unknown`);
}
