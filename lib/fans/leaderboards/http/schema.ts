/** The requests and answers of leaderboard routes. */

import * as v from "valibot";
import { parseIsoTime } from "../../../base/calendar/mod.ts";
import { type Immutable, integerParameter, named } from "../../../http/mod.ts";
import { UserIdSchema } from "../../../http/requests/validate.ts";
import { EventParameter, ProjectParameter } from "../../directory/records.ts";
import {
  BoardIdSchema,
  BoardOperatorSchema,
  RankStyleSchema,
  SeasonIdSchema,
  scoreMax,
} from "../settings/board_settings.ts";

export const limitMax = 100;
const limitDefault = 10;
export const includeMax = 100;
const leaderboardId = v.pipe(BoardIdSchema, v.description("Id of the leaderboard, as settings declare it"));
const season = v.exactOptional(
  v.pipe(
    SeasonIdSchema,
    v.description(
      "Id of a season, `current` or `previous`; by default the running season, else the one that ended last",
    ),
  ),
);

const ProjectBoardParams = v.object({ projectId: ProjectParameter, leaderboardId });
const EventBoardParams = v.object({ projectId: ProjectParameter, eventId: EventParameter, leaderboardId });

/** The path parameters of a board; only an event's board has an `eventId`. */
export type BoardParams = v.InferOutput<typeof ProjectBoardParams> & { readonly eventId?: string };
export type EntryParams = BoardParams & { readonly userId: string };

export interface BoardScope<U extends string = string, N extends "Project" | "Event" = "Project" | "Event"> {
  /** The path without its first slash. */
  readonly path: U;
  /** As operation ids and summaries name it. */
  readonly name: N;
  readonly board: v.GenericSchema<unknown, BoardParams>;
  readonly entry: v.GenericSchema<unknown, EntryParams>;
}

export const projectBoards = {
  path: "projects/:projectId/leaderboards/:leaderboardId",
  name: "Project",
  board: ProjectBoardParams,
  entry: v.object({ ...ProjectBoardParams.entries, userId: UserIdSchema }),
} as const;
export const eventBoards = {
  path: "projects/:projectId/events/:eventId/leaderboards/:leaderboardId",
  name: "Event",
  board: EventBoardParams,
  entry: v.object({ ...EventBoardParams.entries, userId: UserIdSchema }),
} as const;

export const HiddenUsersParams = v.object({ projectId: ProjectParameter });
export const HiddenUserParams = v.object({ projectId: ProjectParameter, userId: UserIdSchema });

export const EntryQuerySchema = v.object({ season });

export const limitParameter = v.optional(
  integerParameter({ description: "Number of users to list", minimum: 1, maximum: limitMax }),
  String(limitDefault),
);

export const ListQuerySchema = v.object({
  season,
  around: v.exactOptional(
    v.pipe(UserIdSchema, v.description("Lists the users around this one in place of the leaders")),
  ),
  limit: limitParameter,
  include: v.optional(
    v.pipe(
      v.string(),
      v.description(`Ids of up to ${includeMax} users to list too, separated by commas`),
      v.transform(text => (text === "" ? [] : [...new Set(text.split(","))])),
      v.maxLength(includeMax, `Expected at most ${includeMax} user ids`),
      v.array(UserIdSchema),
    ),
    "",
  ),
});
export type ListQuery = v.InferOutput<typeof ListQuerySchema>;

const additionIdCharactersMax = 128;
const AdditionIdSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(additionIdCharactersMax));
const amount = v.pipe(v.number(), v.minValue(-scoreMax), v.maxValue(scoreMax));
const achievedAt = v.exactOptional(
  v.pipe(
    v.string(),
    v.description("When the score was reached (RFC 3339); by default now"),
    v.check(text => parseIsoTime(text) !== null, "Expected a time as in RFC 3339"),
  ),
);

export const ScoreBodySchema = named(
  "LeaderboardScore",
  v.object({
    score: v.pipe(amount, v.description("The score, in the unit of the board")),
    operator: v.exactOptional(
      v.pipe(BoardOperatorSchema, v.description("How the score combines with the stored one")),
    ),
    achievedAt,
    id: v.exactOptional(
      v.pipe(
        AdditionIdSchema,
        v.description("Only for `sum`, which needs it: the score is added once for an id"),
      ),
    ),
  }),
);
export type ScoreBody = v.InferOutput<typeof ScoreBodySchema>;

export const AdditionBodySchema = named(
  "LeaderboardAddition",
  v.object({
    id: v.pipe(AdditionIdSchema, v.description("Id of the addition; a repeated one adds nothing")),
    by: v.pipe(amount, v.description("What to add to the score")),
    achievedAt,
  }),
);

const count = v.pipe(v.number(), v.integer());

const EntrySchema = named(
  "LeaderboardEntry",
  v.object({
    rank: v.pipe(count, v.description("Rank of the user, from 1")),
    score: v.number(),
    userId: v.string(),
    publicProfile: v.object({
      username: v.pipe(
        v.string(),
        v.description(
          "The display name of the profile, else the registered name; empty where the user has neither",
        ),
      ),
    }),
  }),
);
/** An entry as clients see it. */
export type LeaderboardEntry = Immutable<v.InferOutput<typeof EntrySchema>>;

const BoardMetaSchema = v.object({
  rankStyle: RankStyleSchema,
  season: v.exactOptional(
    named(
      "LeaderboardSeason",
      v.object({
        id: v.string(),
        startsAt: v.pipe(v.string(), v.description("RFC 3339")),
        endsAt: v.pipe(v.string(), v.description("RFC 3339, exclusive")),
      }),
    ),
  ),
});
/** The properties of a board in its answers; `season` only on boards with seasons. */
export type BoardMeta = Immutable<v.InferOutput<typeof BoardMetaSchema>>;

export const ListSchema = named(
  "Leaderboard",
  v.object({
    data: v.array(EntrySchema),
    totalCount: v.pipe(count, v.description("Number of all entries of the leaderboard")),
    meta: BoardMetaSchema,
  }),
);

export const OneSchema = named(
  "LeaderboardUser",
  v.object({
    data: EntrySchema,
    meta: v.object({
      totalCount: v.pipe(count, v.description("Number of all entries of the leaderboard")),
      percentile: v.pipe(
        v.number(),
        v.minValue(0),
        v.maxValue(100),
        v.description("Share of entries that rank here or below, in percent"),
      ),
      ...BoardMetaSchema.entries,
    }),
  }),
);
