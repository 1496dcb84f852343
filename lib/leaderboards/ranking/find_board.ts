/**
 * From the names in a path to a board and its season.
 *
 * @module
 */

import type { Directory, Event, Project } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { chain } from "../../http/mod.ts";
import { type BoardLocation, locateBoard } from "../scores/board_location.ts";
import { type BoardDeclaration, declarationsMax } from "../settings/board_settings.ts";
import { eventBoard, projectBoards } from "../settings/declarations.ts";
import type { Season } from "../settings/season_settings.ts";
import { openSeason, resolveSeason } from "../settings/seasons.ts";

/** A board that exists: of its seasons, the one that was asked for. */
export interface ResolvedBoard {
  readonly location: BoardLocation;
  readonly declaration: BoardDeclaration;
  readonly project: Project;
  /** Null on a project's board. */
  readonly event: Event | null;
  /** Null on a board without seasons. */
  readonly season: Season | null;
  /** The members of `meta` that all answers of the board have, as JSON text without the braces. */
  readonly meta: string;
}

/** Names a board as paths do. */
export interface BoardPath {
  readonly projectId: string;
  readonly eventId: string | null;
  readonly leaderboardId: string;
}

/** Which season of a board is meant. */
export interface SeasonQuery {
  /** Unix ms. */
  readonly now: number;
  /** The season as a query names it. @default the running one, else the one that ended last */
  readonly season?: string | undefined;
  /** When a score was reached (Unix ms) that is to be written: the season that holds this time, if it still takes scores. */
  readonly at?: number;
}

/**
 * The board that a path names; without a promise while its project and event are fresh.
 *
 * @throws {AppError} `not_found` for an unknown project or event; `validation_failed` for an id that is not declared; those
 *   of `resolveSeason`, or with `at` those of `openSeason`.
 */
export function resolveBoard(
  directory: Directory,
  path: BoardPath,
  when: SeasonQuery,
): ResolvedBoard | Promise<ResolvedBoard> {
  const { projectId, eventId, leaderboardId } = path;
  return chain(directory.project(projectId), project => {
    if (project === null) throw unknown("project");
    if (eventId === null) return boardOf({ project, event: null }, leaderboardId, when);
    return chain(directory.event(projectId, eventId), event => {
      if (event === null) throw unknown("event");
      return boardOf({ project, event }, leaderboardId, when);
    });
  });
}

interface Owner {
  readonly project: Project;
  readonly event: Event | null;
}

/** Boards by the directory's object of their project or event, which stays the same while that is unchanged. */
const knownBoards = new WeakMap<Project | Event, Map<string, ResolvedBoard>>();

function boardOf(owner: Owner, id: string, when: SeasonQuery): ResolvedBoard {
  const known = knownBoards.get(owner.event ?? owner.project) ?? new Map<string, ResolvedBoard>();
  const found = known.get(id);
  if (found?.project === owner.project && isMeant(found.season, when)) return found;
  const board = createBoard(owner, id, when);
  // A path may name any of thousands of rounds; only as many boards as can be declared are worth keeping.
  const isKept = when.season === undefined && (known.size < declarationsMax || found !== undefined);
  if (isKept) known.set(id, board);
  knownBoards.set(owner.event ?? owner.project, known);
  return board;
}

/** Whether a season that is known is the one that is asked for. */
function isMeant(season: Season | null, { now, season: name, at = now }: SeasonQuery): boolean {
  if (name !== undefined) return false;
  // Of the running season every score counts that it holds: a season is not closed before it has ended.
  return season === null || [now, at].every(time => time >= season.startsAt && time < season.endsAt);
}

function createBoard(
  { project, event }: Owner,
  id: string,
  { now, season: name, at }: SeasonQuery,
): ResolvedBoard {
  const declaration = event === null ? projectBoards(project).get(id) : eventBoard(project, event, id);
  if (declaration === undefined) throw undeclared();
  const season =
    at === undefined
      ? resolveSeason(declaration, { season: name, now })
      : openSeason(declaration, { at, now });
  const location = locateBoard(declaration, {
    projectId: project.id,
    eventId: event?.id ?? null,
    leaderboardId: id,
    season: season?.id ?? "",
  });
  return { location, declaration, project, event, season, meta: metaOf(declaration, season) };
}

function metaOf({ rankStyle }: BoardDeclaration, season: Season | null): string {
  if (season === null) return `"rankStyle":"${rankStyle}"`;
  const { id, startsAt, endsAt } = season;
  const times = { startsAt: new Date(startsAt).toISOString(), endsAt: new Date(endsAt).toISOString() };
  return `"rankStyle":"${rankStyle}","season":${JSON.stringify({ id, ...times })}`;
}

function unknown(parent: "project" | "event"): AppError {
  return new AppError("not_found", `Cannot find the leaderboard as its ${parent} is unknown`);
}

function undeclared(): AppError {
  return new AppError("validation_failed", "Cannot find the leaderboard as none of this id is declared", {
    fields: [{ pointer: "leaderboardId", detail: "Expected the id of a declared leaderboard" }],
  });
}
