/**
 * How a board works, as settings declare it.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type FieldError } from "../../errors/mod.ts";
import { issueDetail } from "../../http/mod.ts";
import { type SeasonSchedule, SeasonScheduleSchema } from "./season_settings.ts";

/** Most boards that a project or event may declare. */
export const declarationsMax = 200;
/** Largest amount, either way, that one action may add to a board. */
export const boardAmountMax = 1_000_000_000;
/** Largest magnitude of a score: beyond it neighbouring integers cannot be told apart. */
export const scoreMax: number = Number.MAX_SAFE_INTEGER;
/** Most partitions over which the users of one board are spread. */
export const shardsMax = 64;
/** Longest time after the end of a season in which its scores are still taken, in ms. */
export const graceMsMax: number = 7 * 24 * 60 * 60 * 1_000;
/**
 * Time after the end of a season in which its scores are still taken unless settings say otherwise, in ms: longer than it takes
 * until what an ended process left behind is found.
 */
export const graceMsDefault: number = 2 * 60 * 60 * 1_000;
/** Most past seasons that a board keeps. */
export const keepSeasonsMax = 400;
/** Number of past seasons that a board keeps unless settings say otherwise. */
export const keepSeasonsDefault = 12;

/** Where a board's scores come from. */
export type BoardSource =
  /** A backend writes them. */
  | { readonly type: "direct" }
  /**
   * The value of a metric. On an event's board what the metric gained through actions of the event; on a board with
   * seasons what it gained in the season.
   */
  | { readonly type: "metric"; readonly metricId: string }
  /** The number of actions, weighted with `amount`, that meet the condition; on an event's board those of the event. */
  | { readonly type: "action"; readonly action: string; readonly when?: unknown; readonly amount: number };

/** How a new score meets the stored one. */
export type BoardOperator = "set" | "best" | "sum" | "latest";

/**
 * How equal scores are ranked: `competition` gives them one rank and skips as many ("1224"), `dense` skips none ("1223"),
 * `ordinal` ranks them one after the other in the order in which they were reached ("1234").
 */
export type RankStyle = "competition" | "dense" | "ordinal";

/** A declared board. */
export interface BoardDeclaration {
  readonly id: string;
  /** `desc`: the highest score leads. */
  readonly order: "desc" | "asc";
  /** What a direct write does unless it names an operator itself. */
  readonly operator: BoardOperator;
  readonly source: BoardSource;
  readonly rankStyle: RankStyle;
  /** Number of partitions over which the users are spread, a power of two; 1 where ranks are dense. */
  readonly shards: number;
  readonly seasons: SeasonSchedule;
  /** How long after the end of a season its scores are still taken, in ms. */
  readonly graceMs: number;
  /** How many past seasons are kept. */
  readonly keepSeasons: number;
  /** Scores that the board takes, both included. */
  readonly bounds?: { readonly min: number; readonly max: number };
  /** Who sees the board: everybody, or only those who hold an API key of its organisation. */
  readonly visibility: "public" | "hidden";
}

/** Checks the name of an operator. */
export const BoardOperatorSchema: v.GenericSchema<BoardOperator, BoardOperator> = v.picklist([
  "set",
  "best",
  "sum",
  "latest",
]);

/** Checks the id of a board. */
export const BoardIdSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "Expected the id of a leaderboard"),
);

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

const ShardsSchema = v.pipe(
  v.number(),
  v.check(
    count => count >= 1 && count <= shardsMax && Number.isInteger(Math.log2(count)),
    `Expected a power of two from 1 to ${shardsMax}`,
  ),
);

const DeclarationSchema = v.pipe(
  v.strictObject({
    id: BoardIdSchema,
    order: v.optional(v.picklist(["desc", "asc"]), "desc"),
    operator: v.optional(BoardOperatorSchema, "set"),
    source: v.optional(SourceSchema, { type: "direct" }),
    rankStyle: v.optional(v.picklist(["competition", "dense", "ordinal"]), "competition"),
    shards: v.optional(ShardsSchema, 1),
    seasons: v.optional(SeasonScheduleSchema, { type: "none" }),
    graceMs: v.optional(integer(0, graceMsMax), graceMsDefault),
    keepSeasons: v.optional(integer(1, keepSeasonsMax), keepSeasonsDefault),
    bounds: v.exactOptional(
      v.pipe(
        v.strictObject({ min: score, max: score }),
        v.check(({ min, max }) => min <= max, "Expected min to be at most max"),
      ),
    ),
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

/** What a board does that settings declare by its id alone. */
export const declarationDefaults: Omit<BoardDeclaration, "id"> = {
  order: "desc",
  operator: "set",
  source: { type: "direct" },
  rankStyle: "competition",
  shards: 1,
  seasons: { type: "none" },
  graceMs: graceMsDefault,
  keepSeasons: keepSeasonsDefault,
  visibility: "public",
};

/**
 * Parses a settings section that declares boards; an absent one declares none.
 *
 * @param pointer JSON Pointer to the section in its document, for errors.
 * @throws {AppError} `validation_failed` with the pointer of every fault.
 */
export function parseBoards(section: unknown, pointer: string): readonly BoardDeclaration[] {
  const result = v.safeParse(DeclarationsSchema, section);
  if (result.success) {
    const boards = result.output as readonly BoardDeclaration[];
    const repeated = repeatedIds(boards, pointer);
    if (repeated.length === 0) return boards;
    throw invalid(repeated);
  }
  throw invalid(
    result.issues.map(issue => ({
      pointer: `${pointer}${(issue.path ?? []).map(({ key }) => `/${escapeToken(String(key))}`).join("")}`,
      detail: issueDetail(issue),
    })),
  );
}

function repeatedIds(boards: readonly BoardDeclaration[], pointer: string): FieldError[] {
  const first = new Map(boards.map(({ id }, index) => [id, index] as const).toReversed());
  return boards.flatMap(({ id }, index) =>
    first.get(id) === index
      ? []
      : [{ pointer: `${pointer}/${index}/id`, detail: "Expected an id that no earlier leaderboard has" }],
  );
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot use the leaderboards as they are not valid", { fields });
}

function integer(min: number, max: number): v.GenericSchema<number, number> {
  const expected = `Expected an integer from ${min} to ${max}`;
  return v.pipe(v.number(), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected));
}

function escapeToken(token: string): string {
  return token.replaceAll("~", "~0").replaceAll("/", "~1");
}
