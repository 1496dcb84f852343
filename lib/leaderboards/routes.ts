/**
 * The routes of leaderboards: the four reads of the specification, and the direct score write that we add.
 *
 * @module
 */

import * as v from "valibot";
import type { ApiKeyPrincipal, Clock } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { type AnyRoute, chain, type Guard, open, type Reply, route } from "../http/mod.ts";
import { type Store, tieMax } from "../storage/mod.ts";
import { type Board, boardKey, findBoard, readPlace, readRanking, scoreWrite } from "./board.ts";
import { entriesJson, entryJson, type ShownProfile } from "./entry_json.ts";
import {
  type BoardParams,
  type EntryParams,
  EntrySchema,
  EventBoardParams,
  EventEntryParams,
  type ListQuery,
  ListQuerySchema,
  ProjectBoardParams,
  ProjectEntryParams,
  type ScoreBody,
  ScoreBodySchema,
} from "./schema.ts";

/** What the routes work with. */
export interface LeaderboardContext {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  /** What boards show of users, one profile per user id, in order. */
  readonly publicProfiles: (
    projectId: string,
    userIds: readonly string[],
  ) => readonly ShownProfile[] | Promise<readonly ShownProfile[]>;
  /** Demands an API key that may write rewards. */
  readonly rewardsWriter: Guard<ApiKeyPrincipal>;
}

/** How far a score may be dated into the future, in ms: the clocks of backends differ. */
export const achievedAheadMsMax = 60_000;

const jsonHeaders = { "content-type": "application/json" };
const shared = { ...jsonHeaders, "cache-control": "public, max-age=1" };
const ListSchema = v.object({ data: v.array(EntrySchema), totalCount: v.pipe(v.number(), v.integer()) });
const OneSchema = v.object({ data: EntrySchema });

/** Builds the leaderboard routes, for projects and for events. */
export function leaderboardRoutes(context: LeaderboardContext): readonly AnyRoute[] {
  return [
    ...boardRoutes(context, {
      path: "/projects/:projectId/leaderboards/:leaderboardId",
      of: "Project",
      board: ProjectBoardParams,
      entry: ProjectEntryParams,
    }),
    ...boardRoutes(context, {
      path: "/projects/:projectId/events/:eventId/leaderboards/:leaderboardId",
      of: "Event",
      board: EventBoardParams,
      entry: EventEntryParams,
    }),
  ];
}

interface Place {
  readonly path: `/${string}`;
  readonly of: "Project" | "Event";
  readonly board: v.GenericSchema<unknown, BoardParams>;
  readonly entry: v.GenericSchema<unknown, EntryParams>;
}

function boardRoutes(context: LeaderboardContext, { path, of, board, entry }: Place): AnyRoute[] {
  const scope = of.toLowerCase();
  const entryPath: `/${string}` = `${path}/users/:userId`;
  return [
    route({
      method: "GET",
      path,
      operation: `list${of}Leaderboard`,
      summary: `List the leading users of a leaderboard of the ${scope}, and the included users`,
      auth: open,
      cache: "public",
      params: board,
      query: ListQuerySchema,
      responses: { 200: { description: "The entries in order", schema: ListSchema } },
      errors: ["not_found", "validation_failed"],
      handle: ({ params, query }) => list(context, params, query),
    }),
    route({
      method: "GET",
      path: entryPath,
      operation: `get${of}LeaderboardEntry`,
      summary: `Get one user's entry on a leaderboard of the ${scope}`,
      auth: open,
      cache: "public",
      params: entry,
      responses: { 200: { description: "The entry", schema: OneSchema } },
      errors: ["not_found", "validation_failed"],
      handle: ({ params }) => show(context, params),
    }),
    route({
      method: "PUT",
      path: entryPath,
      operation: `put${of}LeaderboardEntry`,
      summary: `Write a user's score on a leaderboard of the ${scope} that is declared for direct scores`,
      auth: context.rewardsWriter,
      params: entry,
      body: { schema: ScoreBodySchema },
      responses: { 200: { description: "The entry after the write", schema: OneSchema } },
      errors: ["not_found", "validation_failed", "conflict"],
      handle: ({ principal, params, body }) => write(context, { principal, params, body }),
    }),
    route({
      method: "DELETE",
      path: entryPath,
      operation: `delete${of}LeaderboardEntry`,
      summary: `Remove a user's entry from a leaderboard of the ${scope} that is declared for direct scores`,
      auth: context.rewardsWriter,
      params: entry,
      responses: { 204: { description: "The user has no entry" } },
      errors: ["not_found", "validation_failed", "conflict"],
      handle: ({ principal, params }) => remove(context, { principal, params }),
    }),
  ];
}

function list(context: LeaderboardContext, params: BoardParams, query: ListQuery): Reply | Promise<Reply> {
  return chain(findBoard(context.directory, pathOf(params)), async board => {
    const { users, totalCount } = await readRanking(context.store, board, query);
    const profiles = context.publicProfiles(
      board.project.id,
      users.map(({ userId }) => userId),
    );
    return chain(profiles, found => {
      return {
        status: 200,
        text: `{"data":[${entriesJson(users, found)}],"totalCount":${totalCount}}`,
        headers: shared,
      };
    });
  });
}

async function show(context: LeaderboardContext, params: EntryParams): Promise<Reply> {
  const board = await findBoard(context.directory, pathOf(params));
  return { status: 200, text: await entryText(context, board, params.userId), headers: shared };
}

interface Writing {
  readonly principal: ApiKeyPrincipal;
  readonly params: EntryParams;
}

async function write(
  context: LeaderboardContext,
  writing: Writing & { readonly body: ScoreBody },
): Promise<Reply> {
  const { params, body } = writing;
  const board = await writableBoard(context.directory, writing);
  const now = context.clock();
  const at = body.achievedAt === undefined ? now : Date.parse(body.achievedAt);
  if (at < 0 || at > Math.min(now + achievedAheadMsMax, tieMax)) {
    throw new AppError("validation_failed", "Cannot write the score as its time is not acceptable", {
      fields: [{ pointer: "/achievedAt", detail: "Expected a time since 1970 that is not in the future" }],
    });
  }
  const operator = body.operator ?? board.declaration.operator;
  const score = scoreWrite(board.declaration, { userId: params.userId, score: body.score, at, operator });
  const commit = await context.store.commit(board.partition, { writes: [score] });
  if (!commit.ok)
    throw new AppError("conflict", "Cannot add to the score as the sum would not be a finite number");
  return { status: 200, text: await entryText(context, board, params.userId), headers: jsonHeaders };
}

async function remove(context: LeaderboardContext, writing: Writing): Promise<Reply> {
  const board = await writableBoard(context.directory, writing);
  await context.store.commit(board.partition, {
    writes: [{ type: "unscore", key: boardKey, member: writing.params.userId }],
  });
  return { status: 204 };
}

/** A board of the key's own organisation that takes direct scores; another organisation's project is unknown here. */
async function writableBoard(directory: Directory, { principal, params }: Writing): Promise<Board> {
  const project = await directory.project(params.projectId);
  if (project?.organisationId !== principal.organisationId) {
    throw new AppError("not_found", "Cannot find the leaderboard as its project is unknown");
  }
  const board = await findBoard(directory, pathOf(params));
  if (board.declaration.source.type !== "direct") {
    throw new AppError("conflict", "Cannot write to the leaderboard as it is fed by what users do");
  }
  return board;
}

async function entryText(context: LeaderboardContext, board: Board, userId: string): Promise<string> {
  const place = await readPlace(context.store, board, userId);
  if (place === null) throw new AppError("not_found", "Cannot find an entry of this user on the leaderboard");
  const [profile = { username: "" }] = await context.publicProfiles(board.project.id, [userId]);
  return `{"data":${entryJson(place, profile)}}`;
}

function pathOf({ projectId, eventId, leaderboardId }: BoardParams): {
  readonly projectId: string;
  readonly eventId: string | null;
  readonly leaderboardId: string;
} {
  return { projectId, eventId: eventId ?? null, leaderboardId };
}
