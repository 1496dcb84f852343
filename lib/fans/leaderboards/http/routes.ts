/** The routes of leaderboards, for projects and for events. */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { type Call, empty, json, named, route } from "../../../http/mod.ts";
import { storageLimits } from "../../../storage/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { HiddenUserSchema } from "../ranking/hidden_users.ts";
import { additionIdsMax, addScore, changeScores } from "../scores/change_scores.ts";
import { isWithinBounds, type ResolvedBoard, resolveBoard } from "../scores/resolve_board.ts";
import { requireOpen, type SeasonQuery } from "../settings/seasons.ts";
import { type LeaderboardContext, readOne, readRoutes } from "./read_routes.ts";
import {
  AdditionBodySchema,
  type BoardScope,
  type EntryParams,
  EntryQuerySchema,
  eventBoards,
  HiddenUserParams,
  HiddenUsersParams,
  OneSchema,
  projectBoards,
  type ScoreBody,
  ScoreBodySchema,
} from "./schema.ts";

/** Builds the leaderboard routes. */
export function leaderboardRoutes(context: LeaderboardContext) {
  return [
    ...readRoutes(context, projectBoards),
    ...writeRoutes(context, projectBoards),
    ...readRoutes(context, eventBoards),
    ...writeRoutes(context, eventBoards),
    ...hiddenUserRoutes(context),
  ];
}

/** Largest distance of a score's date in the future, in ms: the clocks of back ends differ. */
const achievedAheadMsMax = 60_000;

const sumNeedsId =
  "Expected an id, as a repeated PUT must not add twice; POST {id, by} to …/users/{userId}/scores adds once for an id";

function writeRoutes<const U extends string, N extends BoardScope["name"]>(
  context: LeaderboardContext,
  { path, name, entry }: BoardScope<U, N>,
) {
  const scope = name.toLowerCase();
  const common = {
    auth: context.rewardsWriter,
    params: entry,
    errors: ["not_found", "validation_failed", "conflict", "busy"],
  } as const;
  return [
    route({
      ...common,
      method: "PUT",
      path: `/${path}/users/:userId`,
      operation: `put${name}LeaderboardEntry`,
      summary: `Write a user's score on a leaderboard of the ${scope}`,
      description:
        "Writes to a leaderboard that is declared for direct scores. With seasons, the score counts in the season that contains " +
        "its time. A repeated request changes nothing more: the operator `sum` needs an `id`, which adds once.",
      body: { schema: ScoreBodySchema, example: { score: 120, operator: "best" } },
      responses: { 200: { description: "The entry after the write", schema: OneSchema } },
      handle: async ({ principal, params, body }) => {
        const board = await writeScore(context, { principal, params, body });
        return json(200, await readOne(context, board, params.userId));
      },
    }),
    route({
      ...common,
      path: `/${path}/users/:userId/scores`,
      method: "POST",
      operation: `add${name}LeaderboardScore`,
      summary: `Add to a user's score on a leaderboard of the ${scope}`,
      description:
        "Adds once for an `id`, also if the request is repeated or reaches two servers. Needs a leaderboard for direct scores " +
        `whose operator is \`sum\`. It remembers the newest ${additionIdsMax} ids of a user. With seasons, it adds to the season ` +
        "that contains `achievedAt`: send the same one again.",
      body: { schema: AdditionBodySchema, example: { id: "goal-7", by: 1 } },
      responses: { 200: { description: "The entry after the addition", schema: OneSchema } },
      handle: async ({ principal, params, body: { by: score, ...rest } }) => {
        const body = { ...rest, score, operator: "sum" } as const;
        const board = await writeScore(context, { principal, params, body, isAddition: true });
        return json(200, await readOne(context, board, params.userId));
      },
    }),
    route({
      ...common,
      method: "DELETE",
      path: `/${path}/users/:userId`,
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

interface ScoreWrite extends WriteCall {
  readonly body: ScoreBody;
  /** True for a request that only boards with the operator `sum` take. */
  readonly isAddition?: boolean;
}

async function writeScore(
  { store, directory, clock, retention }: LeaderboardContext,
  { principal, params, body, isAddition = false }: ScoreWrite,
): Promise<ResolvedBoard> {
  const { userId } = params;
  const now = clock();
  const at = body.achievedAt === undefined ? now : Date.parse(body.achievedAt);
  if (at < 0 || at > Math.min(now + achievedAheadMsMax, storageLimits.tieMax)) {
    throw refused("/achievedAt", "Expected a time since 1970 that is not in the future");
  }
  const board = await writableBoard(directory, { principal, params }, { now, at });
  const { declaration, location } = board;
  const { score, operator = declaration.operator, id } = body;
  if (isAddition && declaration.operator !== "sum") {
    const advice = "Declare the operator sum, or PUT the score";
    throw new AppError("conflict", `Cannot add to the score as the leaderboard does not sum. ${advice}`);
  }
  if (operator === "sum") {
    if (id === undefined) throw refused("/id", sumNeedsId);
    await retention.track(board);
    if ((await addScore(store, location, { userId, score, at, id })) === null)
      throw outOfBounds(board, isAddition);
    return board;
  }
  if (id !== undefined) throw refused("/id", "Expected no id, as only the operator sum takes one");
  if (!isWithinBounds(location, score)) throw outOfBounds(board);
  await retention.track(board);
  const [written] = await changeScores(store, location, [{ userId, score, at, operator }]);
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

function outOfBounds({ declaration: { bounds } }: ResolvedBoard, isAddition = false): AppError {
  return refused(
    isAddition ? "/by" : "/score",
    `Expected a score from ${bounds?.min} to ${bounds?.max} as the result`,
  );
}

function refused(pointer: string, detail: string): AppError {
  return invalidField("Cannot write the score as it is not acceptable", pointer, detail);
}

const path = "/projects/:projectId/hidden-users";
const HiddenUsersReply = named("HiddenUsersReply", v.object({ data: v.array(HiddenUserSchema) }));
const HiddenUserReply = named("HiddenUserReply", v.object({ data: HiddenUserSchema }));

function hiddenUserRoutes(context: LeaderboardContext) {
  const { directory, hiddenUsers, usersReader, usersWriter } = context;
  const ofOne = { path: `${path}/:userId`, auth: usersWriter, params: HiddenUserParams } as const;
  return [
    route({
      method: "GET",
      path,
      operation: "listHiddenUsers",
      summary: "List hidden users",
      description:
        "Lists the users whom the leaderboards of the project leave out, in the order in which they were hidden.",
      auth: usersReader,
      params: HiddenUsersParams,
      responses: { 200: { description: "The hidden users", schema: HiddenUsersReply } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId } }) => {
        await requireOwnProject(directory, principal, projectId);
        return json(200, { data: await hiddenUsers.list(projectId) });
      },
    }),
    route({
      ...ofOne,
      method: "PUT",
      operation: "hideUser",
      summary: "Hide a user",
      description:
        "Leaves the user out of the lists of the project's leaderboards. All ranks stay as they are.",
      responses: { 200: { description: "The user is hidden", schema: HiddenUserReply } },
      errors: ["not_found", "conflict"],
      handle: async ({ principal, params: { projectId, userId } }) => {
        await requireOwnProject(directory, principal, projectId);
        return json(200, { data: await hiddenUsers.hide(projectId, userId) });
      },
    }),
    route({
      ...ofOne,
      method: "DELETE",
      operation: "showUser",
      summary: "Show a user again",
      description: "Lists the user on the project's leaderboards again.",
      responses: { 204: { description: "The user is not hidden" } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId, userId } }) => {
        await requireOwnProject(directory, principal, projectId);
        await hiddenUsers.show(projectId, userId);
        return empty();
      },
    }),
  ];
}

/** Projects of other organisations are unknown to a key. */
async function requireOwnProject(
  directory: Directory,
  principal: ApiKeyPrincipal,
  projectId: string,
): Promise<void> {
  const project = await directory.project(projectId);
  if (project?.organisationId !== principal.organisationId) {
    throw new AppError("not_found", "Cannot find the users as their project is unknown");
  }
}
