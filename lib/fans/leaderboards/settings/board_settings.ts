/**
 * The settings of a leaderboard: one schema, from which the type follows.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type FieldError, jsonPointer } from "../../../base/errors/mod.ts";
import { issueDetail } from "../../../http/mod.ts";
import { compileScoreCondition } from "./score_condition.ts";
import { SeasonScheduleSchema } from "./season_settings.ts";

/** Most boards that a project or event may declare. */
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
/** Most past seasons that a board keeps. */
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

/** Validates the id of a board. */
export const BoardIdSchema = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected the id of a leaderboard"),
);

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

const DeclarationsSchema = v.optional(
  v.pipe(
    v.array(DeclarationSchema),
    v.maxLength(declarationsMax, `Expected at most ${declarationsMax} leaderboards`),
  ),
  [],
);

/** A declared board. */
export type BoardDeclaration = Readonly<v.InferOutput<typeof DeclarationSchema>>;
/** Combination of a new score with the stored one. */
export type BoardOperator = v.InferOutput<typeof BoardOperatorSchema>;
/** Ranking of equal scores. */
export type RankStyle = v.InferOutput<typeof RankStyleSchema>;

const defaults = v.parse(DeclarationSchema, { id: "overall" });

/** Builds the declaration of a board that has nothing but an id. */
export function defaultBoard(id: string): BoardDeclaration {
  return { ...defaults, id };
}

/** The sections of settings that declare boards. */
const boardSections = ["leaderboards", "eventLeaderboards"] as const;

/**
 * Parses a settings section that declares boards; an absent one declares none.
 *
 * @param pointer JSON Pointer to the section in its document, for errors.
 * @throws {AppError} `validation_failed` with the pointer of every fault.
 */
export function parseBoards(section: unknown, pointer: string): readonly BoardDeclaration[] {
  const result = v.safeParse(DeclarationsSchema, section);
  if (!result.success) {
    throw invalid(
      result.issues.map(issue => ({
        pointer: pointer + jsonPointer(...(issue.path ?? []).map(({ key }) => String(key))),
        detail: issueDetail(issue),
      })),
    );
  }
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
