/** What leaderboard requests carry and answer. */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { eventAliases } from "../../directory/mod.ts";
import {
  BoardIdSchema,
  type BoardOperator,
  BoardOperatorSchema,
  scoreMax,
} from "../settings/board_settings.ts";
import { isTime } from "../settings/rfc3339.ts";
import { SeasonIdSchema } from "../settings/season_settings.ts";

/** Most entries that a list shows, besides the included users. */
export const limitMax = 100;
/** Entries that a list shows unless asked otherwise. */
export const limitDefault = 10;
/** Most users that `include` may name. */
export const includeMax = 100;
/** Longest user id, in characters. */
export const userIdCharactersMax = 128;

const projectId = v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase());
const eventId = v.union(
  [projectId, v.picklist(eventAliases)],
  `Expected a UUID or one of ${eventAliases.join(", ")}`,
);
const leaderboardId = BoardIdSchema;
const userId = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(userIdCharactersMax),
  v.check(text => text.isWellFormed(), "Expected well-formed Unicode"),
);

/** Path parameters of a project's board, and of an event's where there is an `eventId`. */
export interface BoardParams {
  readonly projectId: string;
  readonly eventId?: string;
  readonly leaderboardId: string;
}
/** Path parameters of one user's entry. */
export interface EntryParams extends BoardParams {
  readonly userId: string;
}
/** Path parameters of a project. */
export interface ProjectParams {
  readonly projectId: string;
}
/** Path parameters of a user of a project. */
export interface ProjectUserParams extends ProjectParams {
  readonly userId: string;
}
/** Where a set of routes is mounted. */
export interface BoardScope {
  readonly path: `/${string}`;
  readonly of: "Project" | "Event";
  readonly board: v.GenericSchema<unknown, BoardParams>;
  readonly entry: v.GenericSchema<unknown, EntryParams>;
}
/** What a request for an entry asks for. */
export interface EntryQuery {
  /** Id of a season, `current` or `previous`. */
  readonly season?: string;
}
/** What a list request asks for. */
export interface ListQuery extends EntryQuery {
  readonly limit: number;
  readonly include: readonly string[];
  /** The user around whom the list is, instead of the leaders. */
  readonly around?: string;
}
/** A score as a backend writes it. */
export interface ScoreBody {
  readonly score: number;
  readonly operator?: BoardOperator;
  /** ISO 8601. */
  readonly achievedAt?: string;
}

/** Checks the path of a project's board. */
export const ProjectBoardParams: v.GenericSchema<unknown, BoardParams> = v.object({
  projectId,
  leaderboardId,
});
/** Checks the path of an event's board. */
export const EventBoardParams: v.GenericSchema<unknown, BoardParams> = v.object({
  projectId,
  eventId,
  leaderboardId,
});
/** Checks the path of an entry of a project's board. */
export const ProjectEntryParams: v.GenericSchema<unknown, EntryParams> = v.object({
  projectId,
  leaderboardId,
  userId,
});
/** Checks the path of an entry of an event's board. */
export const EventEntryParams: v.GenericSchema<unknown, EntryParams> = v.object({
  projectId,
  eventId,
  leaderboardId,
  userId,
});

/** Checks the path of a project. */
export const ProjectParamsSchema: v.GenericSchema<unknown, ProjectParams> = v.object({ projectId });
/** Checks the path of a user of a project. */
export const ProjectUserParamsSchema: v.GenericSchema<unknown, ProjectUserParams> = v.object({
  projectId,
  userId,
});

const season = v.exactOptional(SeasonIdSchema);

/** Checks the query of an entry. */
export const EntryQuerySchema: v.GenericSchema<unknown, EntryQuery> = v.object({ season });

/** Checks the query of a list. */
export const ListQuerySchema: v.GenericSchema<unknown, ListQuery> = v.object({
  season,
  around: v.exactOptional(userId),
  limit: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,3}$/, `Expected an integer from 1 to ${limitMax}`),
      v.transform(Number),
      v.minValue(1, `Expected an integer from 1 to ${limitMax}`),
      v.maxValue(limitMax, `Expected an integer from 1 to ${limitMax}`),
    ),
    String(limitDefault),
  ),
  include: v.optional(
    v.pipe(
      v.string(),
      v.transform(text => (text === "" ? [] : [...new Set(text.split(","))])),
      v.maxLength(includeMax, `Expected at most ${includeMax} user ids`),
      v.array(userId),
    ),
    "",
  ),
});

/** Checks a directly written score. */
export const ScoreBodySchema: v.GenericSchema<unknown, ScoreBody> = v.object({
  score: v.pipe(v.number(), v.minValue(-scoreMax), v.maxValue(scoreMax)),
  operator: v.exactOptional(BoardOperatorSchema),
  achievedAt: v.exactOptional(v.pipe(v.string(), v.check(isTime, "Expected a time as in RFC 3339"))),
});

/** An entry as clients see it. */
export const EntrySchema: v.GenericSchema = v.object({
  rank: v.pipe(v.number(), v.integer()),
  score: v.number(),
  userId: v.string(),
  publicProfile: v.object({ username: v.string() }),
});

const metaEntries = {
  rankStyle: v.picklist(["competition", "dense", "ordinal"]),
  /** Only on boards with seasons; times as in RFC 3339, the end exclusive. */
  season: v.exactOptional(v.object({ id: v.string(), startsAt: v.string(), endsAt: v.string() })),
};
/** What a list tells of its board. */
export const ListMetaSchema: v.GenericSchema = v.object(metaEntries);
/** The answer with one entry; `percentile` is the share of entries that rank there or below, in percent. */
export const OneSchema: v.GenericSchema = v.object({
  data: EntrySchema,
  meta: v.object({
    totalCount: v.pipe(v.number(), v.integer()),
    percentile: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
    ...metaEntries,
  }),
});
