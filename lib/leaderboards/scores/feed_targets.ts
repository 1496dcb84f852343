/**
 * Where the scores of a target of the score feed are kept.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { chain } from "../../http/mod.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { eventBoard, projectBoards } from "../settings/declarations.ts";
import { closesAt, seasonById } from "../settings/seasons.ts";
import { type BoardLocation, locateBoard } from "./board_location.ts";
import type { Retention, SeasonBoard } from "./retention.ts";

/** Number of places that a process keeps for each declared board; beyond it they are worked out anew. */
export const fedPlacesMax = 1_000;

/** Number of targets whose ids a process keeps taken apart; beyond it they are taken apart anew. */
export const fedTargetsMax = 10_000;

/** Why a score is not ranked: nothing declares its board as fed any more, or its season is over for too long. */
export type TargetRefusal = "undeclared" | "closed";

/** Finds where a target's scores go; without a promise while everything is fresh. */
export type ResolveTarget = (target: string) => Found | Promise<Found>;

type Found = BoardLocation | TargetRefusal;

/** What places are found with. */
export interface TargetResolverOptions {
  readonly directory: Directory;
  readonly clock: Clock;
  readonly retention: Pick<Retention, "note">;
}

interface Fed {
  readonly location: BoardLocation;
  /** Unix ms; infinite on a board without seasons. */
  readonly closesAt: number;
}

/** Finds the places of targets as the settings of their boards say. */
export function createTargetResolver({ directory, clock, retention }: TargetResolverOptions): ResolveTarget {
  const known = new WeakMap<BoardDeclaration, Map<string, Fed>>();

  function found(declaration: BoardDeclaration, target: string): Found | Promise<Found> {
    const fed = known.get(declaration)?.get(target);
    if (fed !== undefined) return clock() < fed.closesAt ? fed.location : "closed";
    const board = boardOf(declaration, target);
    if (board === null) return "undeclared";
    const { season } = board;
    const closes = season === null ? Number.POSITIVE_INFINITY : closesAt(declaration, season);
    if (clock() >= closes) return "closed";
    const location = locateBoard(declaration, board.address);
    return retention.note(board).then(() => keep(declaration, target, { location, closesAt: closes }));
  }

  function keep(declaration: BoardDeclaration, target: string, fed: Fed): BoardLocation {
    const locations = known.get(declaration) ?? new Map<string, Fed>();
    if (locations.size >= fedPlacesMax) locations.clear();
    known.set(declaration, locations.set(target, fed));
    return fed.location;
  }

  const split = new Map<string, TargetParts>();

  function partsOf(target: string): TargetParts {
    const known = split.get(target);
    if (known !== undefined) return known;
    if (split.size >= fedTargetsMax) split.clear();
    const made = parts(target);
    split.set(target, made);
    return made;
  }

  return target =>
    chain(fedDeclaration(directory, partsOf(target)), declaration =>
      declaration === undefined ? "undeclared" : found(declaration, target),
    );
}

type Declared = BoardDeclaration | undefined;

function fedDeclaration(
  directory: Directory,
  { projectId, eventId, leaderboardId }: TargetParts,
): Declared | Promise<Declared> {
  return chain(directory.project(projectId), (project): Declared | Promise<Declared> => {
    if (project === null) return undefined;
    if (eventId === "") return fed(projectBoards(project).get(leaderboardId));
    return chain(directory.event(projectId, eventId), event =>
      event === null ? undefined : fed(eventBoard(project, event, leaderboardId)),
    );
  });
}

function fed(declaration: Declared): Declared {
  return declaration?.source.type === "direct" ? undefined : declaration;
}

/** Null where the board has gained or lost its seasons, or no longer has this one. */
function boardOf(declaration: BoardDeclaration, target: string): SeasonBoard | null {
  const { projectId, eventId, leaderboardId, seasonId } = parts(target);
  const season = seasonId === "" ? null : seasonById(declaration, seasonId);
  if ((season === null) !== (declaration.seasons.type === "none")) return null;
  const address = {
    projectId,
    eventId: eventId === "" ? null : eventId,
    leaderboardId,
    season: season?.id ?? "",
  };
  return { declaration, address, season };
}

interface TargetParts {
  readonly projectId: string;
  readonly eventId: string;
  readonly leaderboardId: string;
  readonly seasonId: string;
}

function parts(target: string): TargetParts {
  const [, projectId = "", eventId = "", leaderboardId = "", seasonId = ""] = target.split("/");
  return { projectId, eventId, leaderboardId, seasonId };
}
