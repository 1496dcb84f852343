/**
 * Which boards a project or event has, as its settings declare them in the section `leaderboards`.
 *
 * A project has `overall` if it declares nothing. An event has `overall` and every `round_N` besides what it declares;
 * where it declares nothing under an id, the project's `eventLeaderboards` say how that board works.
 *
 * @module
 */

import * as v from "valibot";
import type { Event, Project, Settings } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";

/** Most boards that a project or event may declare. */
export const declarationsMax = 200;
/** Largest amount, either way, that one action may add to a board. */
export const boardAmountMax = 1_000_000_000;
/** Highest number in `round_N`. */
export const roundMax = 9_999;

/** Where a board's scores come from. */
export type BoardSource =
  /** A backend writes them. */
  | { readonly type: "direct" }
  /** The value of a metric; on an event's board what the metric gained through actions of the event. */
  | { readonly type: "metric"; readonly metricId: string }
  /** The number of actions, weighted with `amount`, that meet the condition; on an event's board those of the event. */
  | { readonly type: "action"; readonly action: string; readonly when?: unknown; readonly amount: number };

/** How a new score meets the stored one. */
export type BoardOperator = "set" | "best" | "sum" | "latest";

/** A declared board. */
export interface BoardDeclaration {
  readonly id: string;
  /** `desc`: the highest score leads. */
  readonly order: "desc" | "asc";
  /** What a direct write does unless it names an operator itself. */
  readonly operator: BoardOperator;
  readonly source: BoardSource;
}

/** Checks the name of an operator. */
export const BoardOperatorSchema: v.GenericSchema<BoardOperator, BoardOperator> = v.picklist([
  "set",
  "best",
  "sum",
  "latest",
]);

const SourceSchema = v.variant("type", [
  v.object({ type: v.literal("direct") }),
  v.object({ type: v.literal("metric"), metricId: v.pipe(v.string(), v.minLength(1), v.maxLength(64)) }),
  v.object({
    type: v.literal("action"),
    action: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
    when: v.exactOptional(v.unknown()),
    amount: v.optional(v.pipe(v.number(), v.minValue(-boardAmountMax), v.maxValue(boardAmountMax)), 1),
  }),
]);

const DeclarationsSchema = v.optional(
  v.pipe(
    v.array(
      v.object({
        id: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/)),
        order: v.optional(v.picklist(["desc", "asc"]), "desc"),
        operator: v.optional(BoardOperatorSchema, "set"),
        source: v.optional(SourceSchema, { type: "direct" }),
      }),
    ),
    v.maxLength(declarationsMax),
  ),
  [],
);

const roundShape = /^round_([1-9]\d{0,8})$/;
const byDefault = { order: "desc", operator: "set", source: { type: "direct" } } as const;
const parsedSections = new WeakMap<Settings, Map<string, ReadonlyMap<string, BoardDeclaration>>>();

/** The boards that a project has. */
export function projectBoards(project: Project): ReadonlyMap<string, BoardDeclaration> {
  const declared = section(project.settings, "leaderboards");
  return declared.size > 0 ? declared : defaultBoards;
}

const defaultBoards: ReadonlyMap<string, BoardDeclaration> = new Map([
  ["overall", { id: "overall", ...byDefault }],
]);

/** The board of an event under an id, or undefined where there can be none. */
export function eventBoard(project: Project, event: Event, id: string): BoardDeclaration | undefined {
  const declared =
    section(event.settings, "leaderboards").get(id) ?? section(project.settings, "eventLeaderboards").get(id);
  if (declared !== undefined) return declared;
  return id === "overall" || isRound(id) ? { id, ...byDefault } : undefined;
}

function isRound(id: string): boolean {
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
  const known = parsedSections.get(settings) ?? new Map<string, ReadonlyMap<string, BoardDeclaration>>();
  parsedSections.set(settings, known);
  const parsed = known.get(name) ?? parse(settings[name], name);
  known.set(name, parsed);
  return parsed;
}

function parse(value: unknown, name: string): ReadonlyMap<string, BoardDeclaration> {
  const result = v.safeParse(DeclarationsSchema, value);
  if (!result.success) {
    const cause = v.flatten(result.issues);
    throw new AppError("internal_error", `Cannot use the settings section ${name} as it is not valid`, {
      cause,
    });
  }
  return new Map((result.output as BoardDeclaration[]).map(declaration => [declaration.id, declaration]));
}
