/**
 * The boards of a project or event: those that its settings declare, and those that exist without a declaration.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { memoize } from "../../../storage/background/mod.ts";
import type { Event, Project, Settings } from "../../directory/mod.ts";
import { type BoardDeclaration, defaultBoard, parseBoards } from "./board_settings.ts";

/** Highest number in `round_N`. */
export const roundMax = 9_999;

const roundPattern = /^round_([1-9]\d{0,8})$/;

type Boards = ReadonlyMap<string, BoardDeclaration>;

const overallOnly: Boards = new Map([["overall", defaultBoard("overall")]]);

/** Returns the boards of a project: those it declares, or `overall` if it declares none. */
export function projectBoards(project: Project): Boards {
  const declared = sections.leaderboards(project.settings);
  return declared.size > 0 ? declared : overallOnly;
}

export function declaredEventBoards(project: Project, event: Event): Boards {
  const ofProject = sections.eventLeaderboards(project.settings);
  const ofEvent = sections.leaderboards(event.settings);
  return ofProject.size === 0 ? ofEvent : new Map([...ofProject, ...ofEvent]);
}

/** Returns a board of an event. `overall` and every `round_N` exist without a declaration. */
export function eventBoard(project: Project, event: Event, id: string): BoardDeclaration | undefined {
  const declared =
    sections.leaderboards(event.settings).get(id) ?? sections.eventLeaderboards(project.settings).get(id);
  if (declared !== undefined) return declared;
  return id === "overall" || isRound(id) ? defaultBoard(id) : undefined;
}

function isRound(id: string): boolean {
  const number = roundPattern.exec(id)?.[1];
  return number !== undefined && Number(number) <= roundMax;
}

/** Keyed by the settings object, which the directory keeps while the settings are unchanged. */
const sections = {
  leaderboards: memoize((settings: Settings) => parseSection(settings, "leaderboards")),
  eventLeaderboards: memoize((settings: Settings) => parseSection(settings, "eventLeaderboards")),
};

function parseSection(settings: Settings, name: "leaderboards" | "eventLeaderboards"): Boards {
  try {
    return new Map(parseBoards(settings[name], `/${name}`).map(board => [board.id, board]));
  } catch (cause) {
    throw new AppError("internal_error", `Cannot use the settings section ${name} as it is not valid`, {
      cause,
    });
  }
}
