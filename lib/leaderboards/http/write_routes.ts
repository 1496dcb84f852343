/**
 * The routes that write scores directly, an addition to the specification.
 *
 * @module
 */

import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import {
  type AnyRoute,
  type Guard,
  type JsonText,
  jsonText,
  looseRoute,
  type Reply,
} from "../../http/mod.ts";
import { storageLimits } from "../../storage/mod.ts";
import { type ResolvedBoard, resolveBoard, type SeasonQuery } from "../ranking/find_board.ts";
import { isWithinBounds } from "../scores/board_location.ts";
import type { Retention } from "../scores/retention.ts";
import { changeScores } from "../scores/score_batch.ts";
import { noteRound } from "../scores/used_rounds.ts";
import { isRound } from "../settings/declarations.ts";
import { requireOpen } from "../settings/seasons.ts";
import { entryText, type ReadContext } from "./board_answers.ts";
import {
  type BoardScope,
  type EntryParams,
  type EntryQuery,
  EntryQuerySchema,
  OneSchema,
  type ScoreBody,
  ScoreBodySchema,
} from "./schema.ts";

/** What writing to boards works with. */
export interface WriteContext extends ReadContext {
  readonly retention: Pick<Retention, "note">;
  /** Demands an API key that may write rewards. */
  readonly rewardsWriter: Guard<ApiKeyPrincipal>;
}

/** How far a score may be dated into the future, in ms: the clocks of backends differ. */
export const achievedAheadMsMax = 60_000;

/** Builds the routes that write to the boards of projects, or to those of events. */
export function writeRoutes(context: WriteContext, { path, of, entry }: BoardScope): AnyRoute[] {
  const scope = of.toLowerCase();
  const common = {
    path: `${path}/users/:userId`,
    auth: context.rewardsWriter,
    params: entry,
    errors: ["not_found", "validation_failed", "conflict", "busy"],
  } as const;
  return [
    looseRoute({
      ...common,
      method: "PUT",
      operation: `put${of}LeaderboardEntry`,
      summary:
        `Write a user's score on a leaderboard of the ${scope} that is declared for direct scores; ` +
        "on one with seasons it counts in the season that holds its time",
      body: { schema: ScoreBodySchema },
      responses: { 200: { description: "The entry after the write", schema: OneSchema } },
      handle: ({ principal, params, body }) => write(context, { principal, params, body }),
    }),
    looseRoute({
      ...common,
      method: "DELETE",
      operation: `delete${of}LeaderboardEntry`,
      summary: `Remove a user's entry from a leaderboard of the ${scope} that is declared for direct scores`,
      query: EntryQuerySchema,
      responses: { 204: { description: "The user has no entry" } },
      handle: ({ principal, params, query }) => remove(context, { principal, params, query }),
    }),
  ];
}

interface Writing {
  readonly principal: ApiKeyPrincipal;
  readonly params: EntryParams;
}

async function write(context: WriteContext, writing: Writing & { readonly body: ScoreBody }): Promise<Reply> {
  const { params, body } = writing;
  const now = context.clock();
  const at = body.achievedAt === undefined ? now : Date.parse(body.achievedAt);
  if (at < 0 || at > Math.min(now + achievedAheadMsMax, storageLimits.tieMax)) {
    throw refused("/achievedAt", "Expected a time since 1970 that is not in the future");
  }
  const board = await writableBoard(context.directory, writing, { now, at });
  const { declaration, location } = board;
  const { score, operator = declaration.operator } = body;
  if (operator !== "sum" && !isWithinBounds(location, score)) throw outOfBounds(board);
  await noted(context, board);
  const [done] = await changeScores(context.store, location, [
    { userId: params.userId, score, at, operator },
  ]);
  if (done == null) throw outOfBounds(board);
  return jsonText((await entryText(context, board, params.userId)) as JsonText<unknown>);
}

async function remove(
  context: WriteContext,
  writing: Writing & { readonly query: EntryQuery },
): Promise<Reply> {
  const when = { now: context.clock(), season: writing.query.season };
  const { declaration, season, location } = await writableBoard(context.directory, writing, when);
  requireOpen(declaration, season, when.now);
  await changeScores(context.store, location, [{ userId: writing.params.userId, operator: "remove" }]);
  return { status: 204 };
}

/** Notes, before there are scores, what could not be found again by settings alone. */
async function noted({ store, retention }: WriteContext, board: ResolvedBoard): Promise<void> {
  const { declaration, project, event, season } = board;
  if (event !== null && isRound(declaration.id)) await noteRound(store, event, declaration.id);
  const address = { projectId: project.id, eventId: event?.id ?? null, leaderboardId: declaration.id };
  await retention.note({ declaration, address: { ...address, season: season?.id ?? "" }, season });
}

/** A board of the key's own organisation that takes direct scores; another organisation's project is unknown here. */
async function writableBoard(
  directory: Directory,
  { principal, params }: Writing,
  when: SeasonQuery,
): Promise<ResolvedBoard> {
  const { projectId, eventId = null, leaderboardId } = params;
  const project = await directory.project(projectId);
  if (project?.organisationId !== principal.organisationId) {
    throw new AppError("not_found", "Cannot find the leaderboard as its project is unknown");
  }
  const board = await resolveBoard(directory, { projectId, eventId, leaderboardId }, when);
  if (board.declaration.source.type !== "direct") {
    throw new AppError("conflict", "Cannot write to the leaderboard as it is fed by what users do");
  }
  return board;
}

function outOfBounds({ declaration: { bounds } }: ResolvedBoard): AppError {
  return refused("/score", `Expected a score from ${bounds?.min} to ${bounds?.max} to come of it`);
}

function refused(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot write the score as it is not acceptable", {
    fields: [{ pointer, detail }],
  });
}
