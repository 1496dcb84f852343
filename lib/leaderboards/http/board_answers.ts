/**
 * What readers of boards are answered, as JSON text.
 *
 * @module
 */

import type { ApiKeyPrincipal, Clock } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { chain, type Guard, type GuardInput } from "../../http/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { LiveBoards } from "../live/live.ts";
import type { LiveView } from "../live/watcher.ts";
import { readAround } from "../ranking/around.ts";
import { type ResolvedBoard, resolveBoard } from "../ranking/find_board.ts";
import type { HiddenUsers } from "../ranking/hidden_users.ts";
import { type Ranking, readRanking, readUserEntry } from "../ranking/ranking.ts";
import { entriesJson, entryJson, type ShownProfile } from "./entry_json.ts";
import { type BoardParams, type ListQuery, limitMax } from "./schema.ts";

/** What reading boards works with. */
export interface ReadContext {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly live: LiveBoards;
  readonly hiddenUsers: Pick<HiddenUsers, "of">;
  /** What boards show of users, one profile per user id, in order. */
  readonly publicProfiles: (
    projectId: string,
    userIds: readonly string[],
  ) => readonly ShownProfile[] | Promise<readonly ShownProfile[]>;
  /** Demands an API key; whoever holds one of the project's organisation sees its hidden boards. */
  readonly keyHolder: Guard<ApiKeyPrincipal>;
}

/**
 * The board that a request asks for, if whoever sent it may see it.
 *
 * @throws {AppError} those of `findBoard`; `not_found` also for a hidden board and no API key of its organisation;
 *   `missing_api_key` where a key is given without its secret, `invalid_api_key` where it is not valid.
 */
export function readableBoard(
  context: ReadContext,
  params: BoardParams,
  asked: { readonly season?: string | undefined; readonly request: Request },
): ResolvedBoard | Promise<ResolvedBoard> {
  const { projectId, eventId = null, leaderboardId } = params;
  const when = { now: context.clock(), season: asked.season };
  return chain(resolveBoard(context.directory, { projectId, eventId, leaderboardId }, when), board =>
    board.declaration.visibility === "public" ? board : admitted(context, board, asked.request),
  );
}

async function admitted(
  { keyHolder }: ReadContext,
  board: ResolvedBoard,
  request: Request,
): Promise<ResolvedBoard> {
  if (request.headers.get("x-api-key") !== null) {
    const input: GuardInput = { request, info: {}, params: {}, query: {} };
    const { organisationId } = await keyHolder.authenticate(input);
    if (organisationId === board.project.organisationId) return board;
  }
  throw new AppError("not_found", "Cannot find the leaderboard");
}

/**
 * Reads a list and makes an answer of its body.
 *
 * @throws {AppError} `not_found` where the list is to be around a user who has no entry.
 */
export function listAnswer<A>(
  context: ReadContext,
  board: ResolvedBoard,
  list: { readonly query: ListQuery; readonly answer: (text: string) => A },
): Promise<A> {
  return readShown(context, board, {
    query: list.query,
    show: ({ entries: users, totalCount }, profiles) =>
      list.answer(listJson(board, entriesJson(users, profiles), totalCount)),
  });
}

/**
 * What a board shows now, for any number of its leading users. It is read once, for the longest list that there is.
 */
export function listView(context: ReadContext, board: ResolvedBoard): Promise<LiveView> {
  return readShown(context, board, {
    query: { limit: limitMax, include: [] },
    show: ({ entries: users, totalCount }, profiles) => ({
      render(limit) {
        const entries = entriesJson(users.slice(0, limit), profiles);
        return { shown: board.meta + entries, data: listJson(board, entries, totalCount) };
      },
    }),
  });
}

function listJson({ meta }: ResolvedBoard, entries: string, totalCount: number): string {
  return `{"data":[${entries}],"totalCount":${totalCount},"meta":{${meta}}}`;
}

/** As few promises as there are round trips: lists of leaders are the hottest answer of the platform. */
async function readShown<A>(
  context: ReadContext,
  board: ResolvedBoard,
  {
    query,
    show,
  }: {
    readonly query: ListQuery;
    readonly show: (ranking: Ranking, profiles: readonly ShownProfile[]) => A;
  },
): Promise<A> {
  const { id } = board.project;
  const known = context.hiddenUsers.of(id);
  const ranking = await readList(context, board, {
    query,
    hidden: known instanceof Promise ? await known : known,
  });
  const profiles = context.publicProfiles(
    id,
    ranking.entries.map(({ userId }) => userId),
  );
  return show(ranking, profiles instanceof Promise ? await profiles : profiles);
}

function readList(
  { store }: ReadContext,
  { location }: ResolvedBoard,
  {
    query: { limit, include, around },
    hidden,
  }: { readonly query: ListQuery; readonly hidden: ReadonlySet<string> },
): Promise<Ranking> {
  if (around === undefined) return readRanking(store, location, { limit, include, hidden });
  return readAround(store, location, { userId: around, limit, hidden }).then(part => {
    if (part === null) throw noEntry();
    return part;
  });
}

/**
 * The body of one user's entry.
 *
 * @throws {AppError} `not_found` where the user has none.
 */
export async function entryText(context: ReadContext, board: ResolvedBoard, userId: string): Promise<string> {
  const found = await readUserEntry(context.store, board.location, userId);
  if (found === null) throw noEntry();
  const { entry: user, totalCount, percentile } = found;
  const [profile = { username: "" }] = await context.publicProfiles(board.project.id, [userId]);
  const meta = `"totalCount":${totalCount},"percentile":${percentile},${board.meta}`;
  return `{"data":${entryJson(user, profile)},"meta":{${meta}}}`;
}

function noEntry(): AppError {
  return new AppError("not_found", "Cannot find an entry of this user on the leaderboard");
}
