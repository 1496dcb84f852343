/** The settings of a leaderboard: one schema, from which the type follows. */

import * as v from "valibot";
import {
  instantExpectation,
  isTimeZone,
  parseInstant,
  timeZoneCharactersMax,
} from "../../../base/calendar/mod.ts";
import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import { type Condition, compileCondition, type Environment } from "../../../base/expressions/mod.ts";
import { fieldErrors } from "../../../http/requests/validate.ts";
import { memoize } from "../../../storage/background/mod.ts";
import type { Event, Project, Settings } from "../../directory/mod.ts";

export const declarationsMax = 200;
/** Largest amount, positive or negative, that one action may add to a score. */
export const boardAmountMax = 1_000_000_000;
/** Largest magnitude of a score: beyond it doubles cannot tell neighbouring integers apart. */
export const scoreMax: number = Number.MAX_SAFE_INTEGER;
/** Most partitions over which the entries of one board are spread. */
export const shardsMax = 64;
/** Longest time after the end of a season in which scores still count, in ms. */
export const graceMsMax: number = 7 * 24 * 60 * 60 * 1_000;
/** Default of `graceMs`: longer than recovering the work of a crashed process takes. */
const graceMsDefault: number = 2 * 60 * 60 * 1_000;
export const keepSeasonsMax = 400;
const keepSeasonsDefault = 12;

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
const score = v.pipe(v.number(), v.minValue(-scoreMax), v.maxValue(scoreMax));

const SourceSchema = v.variant("type", [
  v.strictObject({ type: v.literal("direct") }),
  v.strictObject({ type: v.literal("metric"), metricId: name }),
  v.strictObject({
    type: v.literal("action"),
    action: name,
    when: v.exactOptional(v.unknown()),
    amount: v.optional(v.pipe(v.number(), v.minValue(-boardAmountMax), v.maxValue(boardAmountMax)), 1),
  }),
]);

/** Validates the name of an operator: how a new score combines with the stored one. */
export const BoardOperatorSchema = v.picklist(["set", "best", "sum", "latest"]);

/**
 * Validates a rank style: `competition` gives equal scores one rank and skips as many ("1224"), `dense` skips none
 * ("1223"), `ordinal` ranks them in the order in which they were reached ("1234").
 */
export const RankStyleSchema = v.picklist(["competition", "dense", "ordinal"]);

export const BoardIdSchema = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected the id of a leaderboard"),
);

export const seasonsMax = 200;

/** Names that stand for a season found by its time, and that no season may have. */
const seasonAliases = ["current", "previous"] as const;

export const SeasonIdSchema = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected the id of a season"),
);

const TimeSchema = v.pipe(
  v.union([v.string(), v.number()], instantExpectation),
  v.transform((value): unknown => parseInstant(value)),
  v.number(instantExpectation),
);

const SeasonSchema = v.pipe(
  v.strictObject({
    /** As listed, or `2026-11-21`, `2026-W47` or `2026-11`. */
    id: v.pipe(
      SeasonIdSchema,
      v.check(
        id => !seasonAliases.some(alias => alias === id),
        `Expected an id other than ${seasonAliases.join(" and ")}`,
      ),
    ),
    /** Unix ms. */
    startsAt: TimeSchema,
    /** Unix ms, exclusive. */
    endsAt: TimeSchema,
  }),
  v.forward(
    v.check(({ startsAt, endsAt }) => startsAt < endsAt, "Expected a time after startsAt"),
    ["endsAt"],
  ),
);

const ListSchema = v.pipe(
  v.array(SeasonSchema),
  v.minLength(1, "Expected at least one season"),
  v.maxLength(seasonsMax, `Expected at most ${seasonsMax} seasons`),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: list } = dataset;
    list.forEach((season, index) => {
      const at = { type: "array", origin: "value", input: list, key: index, value: season } as const;
      const member = { type: "object", origin: "value", input: { ...season } } as const;
      if (list.slice(0, index).some(({ id }) => id === season.id)) {
        const path = [at, { ...member, key: "id", value: season.id }] as const;
        addIssue({ message: "Expected an id that no earlier season has", path: [...path] });
      }
      if ((list[index - 1]?.endsAt ?? Number.NEGATIVE_INFINITY) > season.startsAt) {
        const path = [at, { ...member, key: "startsAt", value: season.startsAt }] as const;
        addIssue({ message: "Expected a time at which the season before has ended", path: [...path] });
      }
    });
  }),
);

const TimeZoneSchema = v.pipe(
  v.string(),
  v.maxLength(timeZoneCharactersMax),
  v.check(isTimeZone, "Expected a time zone of the IANA database, such as Europe/Berlin"),
);

/** Validates a schedule: no seasons, a list in ascending order, or every day, ISO week or month of a time zone. */
export const SeasonScheduleSchema = v.variant("type", [
  v.strictObject({ type: v.literal("none") }),
  v.strictObject({ type: v.literal("explicit"), list: ListSchema }),
  v.strictObject({
    type: v.picklist(["daily", "weekly", "monthly"]),
    timeZone: v.optional(TimeZoneSchema, "UTC"),
  }),
]);

/** A period in which a board counts separately. */
export type Season = Readonly<v.InferOutput<typeof SeasonSchema>>;
export type SeasonSchedule = Readonly<v.InferOutput<typeof SeasonScheduleSchema>>;

const DeclarationSchema = v.pipe(
  v.strictObject({
    id: BoardIdSchema,
    /** `desc`: the highest score leads. */
    order: v.optional(v.picklist(["desc", "asc"]), "desc"),
    /** Operator of direct writes that name none. */
    operator: v.optional(BoardOperatorSchema, "set"),
    /** Source of the scores: back ends (`direct`), the value of a metric, or counted actions. */
    source: v.optional(SourceSchema, { type: "direct" }),
    rankStyle: v.optional(RankStyleSchema, "competition"),
    /** Number of partitions over which the entries are spread; 1 where ranks are dense. */
    shards: v.optional(
      v.pipe(
        v.number(),
        v.check(
          count => count >= 1 && count <= shardsMax && Number.isInteger(Math.log2(count)),
          `Expected a power of two from 1 to ${shardsMax}`,
        ),
      ),
      1,
    ),
    seasons: v.optional(SeasonScheduleSchema, { type: "none" }),
    /** Time after the end of a season in which its scores still count, in ms. */
    graceMs: v.optional(integer(0, graceMsMax), graceMsDefault),
    /** Number of past seasons that are kept. */
    keepSeasons: v.optional(integer(1, keepSeasonsMax), keepSeasonsDefault),
    /** Scores that the board takes, both bounds included. */
    bounds: v.exactOptional(
      v.pipe(
        v.strictObject({ min: score, max: score }),
        v.check(({ min, max }) => min <= max, "Expected min to be at most max"),
      ),
    ),
    /** Readers of the board: everyone, or API keys of its organisation only. */
    visibility: v.optional(v.picklist(["public", "hidden"]), "public"),
  }),
  v.forward(
    v.check(
      ({ rankStyle, shards }) => rankStyle !== "dense" || shards === 1,
      "Expected 1, as dense ranks cannot be counted over several shards",
    ),
    ["shards"],
  ),
);

export const BoardsSchema = v.optional(
  v.pipe(
    v.array(DeclarationSchema),
    v.maxLength(declarationsMax, `Expected at most ${declarationsMax} leaderboards`),
  ),
  [],
);

export type BoardDeclaration = Readonly<v.InferOutput<typeof DeclarationSchema>>;
/** Combination of a new score with the stored one. */
export type BoardOperator = v.InferOutput<typeof BoardOperatorSchema>;
export type RankStyle = v.InferOutput<typeof RankStyleSchema>;

const defaults = v.parse(DeclarationSchema, { id: "overall" });

/** Builds the declaration of a board that has nothing but an id. */
export function defaultBoard(id: string): BoardDeclaration {
  return { ...defaults, id };
}

const boardSections = ["leaderboards", "eventLeaderboards"] as const;

/**
 * Parses a settings section that declares boards; an absent one declares none.
 *
 * @param pointer JSON Pointer to the section in its document, for errors.
 * @throws {AppError} `validation_failed` with the pointer of every fault.
 */
export function parseBoards(section: unknown, pointer: string): readonly BoardDeclaration[] {
  const result = v.safeParse(BoardsSchema, section);
  if (!result.success) throw invalid(fieldErrors(result.issues, pointer));
  const ids = result.output.map(({ id }) => id);
  const repeated = ids.flatMap((id, index) =>
    ids.indexOf(id) === index
      ? []
      : [{ pointer: `${pointer}/${index}/id`, detail: "Expected an id that no earlier leaderboard has" }],
  );
  if (repeated.length > 0) throw invalid(repeated);
  return result.output;
}

/**
 * Lists the faults of the boards that the settings of a project or event declare, conditions included.
 *
 * @param pointer JSON Pointer to the settings in their document.
 */
export function boardFaults(settings: Readonly<Record<string, unknown>>, pointer: string): FieldError[] {
  return boardSections.flatMap(section => {
    const at = `${pointer}/${section}`;
    let boards: readonly BoardDeclaration[] = [];
    const faults = faultsOf(() => {
      boards = parseBoards(settings[section], at);
    });
    const conditions = boards.flatMap(({ source }, index) =>
      source.type === "action"
        ? faultsOf(() => compileScoreCondition(source.when, `${at}/${index}/source/when`))
        : [],
    );
    return [...faults, ...conditions];
  });
}

function faultsOf(check: () => unknown): FieldError[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof AppError && error.code === "validation_failed") return [...(error.fields ?? [])];
    throw error;
  }
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot use the leaderboards as they are not valid", { fields });
}

function integer(min: number, max: number) {
  const expected = `Expected an integer from ${min} to ${max}`;
  return v.pipe(v.number(), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected));
}

/** The variables of an action that a condition can read. */
export interface ScoredAction {
  readonly data: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Compiles the `when` of a board; without one every action counts.
 *
 * @param pointer JSON Pointer to the condition in its document, for errors.
 * @throws {AppError} `validation_failed`, with the pointer of the part at fault.
 */
export function compileScoreCondition(when: unknown, pointer = ""): Condition<ScoredAction> {
  return when === undefined ? () => true : compileCondition(when, environment, pointer);
}

/** `data.<name>`, own properties only. */
const environment: Environment<ScoredAction> = {
  names: () => ["data.<name>"],
  variable(path) {
    if (!path.startsWith("data.")) return null;
    const name = path.slice("data.".length);
    return {
      type: "any",
      read: ({ data }) => (Object.hasOwn(data, name) ? data[name] : undefined),
    };
  },
};

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
