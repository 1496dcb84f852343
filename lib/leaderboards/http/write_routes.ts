/**
 * The routes with which back ends write scores, an addition to the specification.
 *
 * @module
 */

import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError, invalidField } from "../../errors/mod.ts";
import { type AnyRoute, type Call, empty, jsonText, route } from "../../http/mod.ts";
import { storageLimits } from "../../storage/mod.ts";
import { isWithinBounds } from "../scores/board_location.ts";
import { changeScores } from "../scores/change_scores.ts";
import { type ResolvedBoard, resolveBoard } from "../scores/resolve_board.ts";
import { requireOpen, type SeasonQuery } from "../settings/seasons.ts";
import { type LeaderboardContext, readOneText } from "./answers.ts";
import {
  type BoardScope,
  type EntryParams,
  EntryQuerySchema,
  OneSchema,
  type ScoreBody,
  ScoreBodySchema,
} from "./schema.ts";

/** Largest distance of a score's date in the future, in ms: the clocks of back ends differ. */
const achievedAheadMsMax = 60_000;

/** Builds the routes that write to the boards of a scope. */
export function writeRoutes(context: LeaderboardContext, { path, name, entry }: BoardScope): AnyRoute[] {
  const scope = name.toLowerCase();
  const common = {
    path: `${path}/users/:userId`,
    auth: context.rewardsWriter,
    params: entry,
    errors: ["not_found", "validation_failed", "conflict", "busy"],
  } as const;
  return [
    route({
      ...common,
      method: "PUT",
      operation: `put${name}LeaderboardEntry`,
      summary: `Write a user's score on a leaderboard of the ${scope}`,
      description:
        "Writes to a leaderboard that is declared for direct scores. With seasons, the score counts in the season that contains " +
        "its time.",
      body: { schema: ScoreBodySchema, example: { score: 120, operator: "best" } },
      responses: { 200: { description: "The entry after the write", schema: OneSchema } },
      handle: async ({ principal, params, body }) => {
        const board = await writeScore(context, { principal, params, body });
        return jsonText(await readOneText(context, board, params.userId));
      },
    }),
    route({
      ...common,
      method: "DELETE",
      operation: `delete${name}LeaderboardEntry`,
      summary: `Remove a user's entry from a leaderboard of the ${scope}`,
      description: "Removes the entry from a leaderboard that is declared for direct scores.",
      query: EntryQuerySchema,
      responses: { 204: { description: "The user has no entry" } },
      handle: async ({ principal, params, query }) => {
        const when = { now: context.clock(), season: query.season };
        const board = await writableBoard(context.directory, { principal, params }, when);
        requireOpen(board.declaration, board.season, when.now);
        await changeScores(context.store, board.location, [{ userId: params.userId, operator: "remove" }]);
        return empty();
      },
    }),
  ];
}

type WriteCall = Pick<Call<ApiKeyPrincipal, EntryParams, unknown, unknown>, "principal" | "params">;

async function writeScore(
  { store, directory, clock, retention }: LeaderboardContext,
  { principal, params, body }: WriteCall & { readonly body: ScoreBody },
): Promise<ResolvedBoard> {
  const now = clock();
  const at = body.achievedAt === undefined ? now : Date.parse(body.achievedAt);
  if (at < 0 || at > Math.min(now + achievedAheadMsMax, storageLimits.tieMax)) {
    throw refused("/achievedAt", "Expected a time since 1970 that is not in the future");
  }
  const board = await writableBoard(directory, { principal, params }, { now, at });
  const { declaration, location } = board;
  const { score, operator = declaration.operator } = body;
  if (operator !== "sum" && !isWithinBounds(location, score)) throw outOfBounds(board);
  await retention.track(board);
  const [written] = await changeScores(store, location, [{ userId: params.userId, score, at, operator }]);
  if (written == null) throw outOfBounds(board);
  return board;
}

/** Resolves a board for direct scores; projects of other organisations are unknown to a key. */
async function writableBoard(
  directory: Directory,
  { principal, params }: WriteCall,
  query: SeasonQuery,
): Promise<ResolvedBoard> {
  const { projectId, eventId = null, leaderboardId } = params;
  const project = await directory.project(projectId);
  if (project?.organisationId !== principal.organisationId) {
    throw new AppError("not_found", "Cannot find the leaderboard as its project is unknown");
  }
  const board = await resolveBoard(directory, { projectId, eventId, leaderboardId }, query);
  if (board.declaration.source.type !== "direct") {
    throw new AppError("conflict", "Cannot write to the leaderboard as it is fed by what users do");
  }
  return board;
}

function outOfBounds({ declaration: { bounds } }: ResolvedBoard): AppError {
  return refused("/score", `Expected a score from ${bounds?.min} to ${bounds?.max} as the result`);
}

function refused(pointer: string, detail: string): AppError {
  return invalidField("Cannot write the score as it is not acceptable", pointer, detail);
}
