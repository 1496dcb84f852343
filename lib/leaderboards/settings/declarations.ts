/**
 * Which boards a project or event has, as its settings declare them in the section `leaderboards`.
 *
 * A project has `overall` if it declares nothing. An event has `overall` and every `round_N` besides what it declares;
 * where it declares nothing under an id, the project's `eventLeaderboards` say how that board works.
 *
 * @module
 */

import type { Event, Project, Settings } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type BoardDeclaration, declarationDefaults, parseBoards } from "./board_settings.ts";

/** Highest number in `round_N`. */
export const roundMax = 9_999;

const roundShape = /^round_([1-9]\d{0,8})$/;
const parsedSections = new WeakMap<Settings, Map<string, ReadonlyMap<string, BoardDeclaration>>>();

/** The boards that a project has. */
export function projectBoards(project: Project): ReadonlyMap<string, BoardDeclaration> {
  const declared = section(project.settings, "leaderboards");
  return declared.size > 0 ? declared : defaultBoards;
}

const defaultBoards: ReadonlyMap<string, BoardDeclaration> = new Map([
  ["overall", { id: "overall", ...declarationDefaults }],
]);

/** The board of an event under an id, or undefined where there can be none. */
export function eventBoard(project: Project, event: Event, id: string): BoardDeclaration | undefined {
  const declared =
    section(event.settings, "leaderboards").get(id) ?? section(project.settings, "eventLeaderboards").get(id);
  if (declared !== undefined) return declared;
  return id === "overall" || isRound(id) ? { id, ...declarationDefaults } : undefined;
}

/** Whether an id is that of a round, which every event has. */
export function isRound(id: string): boolean {
  const number = roundShape.exec(id)?.[1];
  return number !== undefined && Number(number) <= roundMax;
}

/** The boards that an event, or the project for its events, declares. */
export function declaredEventBoards(project: Project, event: Event): ReadonlyMap<string, BoardDeclaration> {
  const ofProject = section(project.settings, "eventLeaderboards");
  const ofEvent = section(event.settings, "leaderboards");
  return ofProject.size === 0 ? ofEvent : new Map([...ofProject, ...ofEvent]);
}

/** Parsed once per settings object: the directory keeps that object for as long as the settings are unchanged. */
function section(settings: Settings, name: string): ReadonlyMap<string, BoardDeclaration> {
  let sections = parsedSections.get(settings);
  if (sections === undefined) {
    sections = new Map();
    parsedSections.set(settings, sections);
  }
  let parsed = sections.get(name);
  if (parsed === undefined) {
    parsed = parse(settings[name], name);
    sections.set(name, parsed);
  }
  return parsed;
}

function parse(value: unknown, name: string): ReadonlyMap<string, BoardDeclaration> {
  try {
    return new Map(parseBoards(value, `/${name}`).map(board => [board.id, board]));
  } catch (cause) {
    throw new AppError("internal_error", `Cannot use the settings section ${name} as it is not valid`, {
      cause,
    });
  }
}
