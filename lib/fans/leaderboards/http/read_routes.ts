/**
 * The routes that read boards, as JSON and as event streams.
 *
 * @module
 */

import { type AppError, invalidField } from "../../../base/errors/mod.ts";
import {
  type AnyRoute,
  acceptsEvents,
  type Call,
  chain,
  eventStreamHeaders,
  eventStreamType,
  jsonText,
  open,
  route,
  stream,
} from "../../../http/mod.ts";
import {
  createLeaderReader,
  type LeaderboardContext,
  readableBoard,
  readListText,
  readOneText,
} from "./answers.ts";
import { boardSource } from "./live_parts.ts";
import {
  type BoardParams,
  type BoardScope,
  EntryQuerySchema,
  type ListQuery,
  ListQuerySchema,
  ListSchema,
  OneSchema,
} from "./schema.ts";

const shared = { "cache-control": "public, max-age=1" };
const unshared = { "cache-control": "no-store" };
// The same address serves event streams, which a cache must not mix up with lists.
const sharedList = { ...shared, vary: "accept" };

/** Builds the routes that read the boards of a scope. */
export function readRoutes(
  context: LeaderboardContext,
  { path, name, board, entry }: BoardScope,
): AnyRoute[] {
  const readLeaders = createLeaderReader(context);
  const common = {
    method: "GET",
    auth: open,
    cache: "public",
    errors: ["not_found", "validation_failed", "missing_api_key", "invalid_api_key", "busy"],
  } as const;
  return [
    route({
      ...common,
      path,
      operation: `list${name}Leaderboard`,
      summary: `List the leaders of a leaderboard of the ${name.toLowerCase()}`,
      description:
        "Lists the leading users and those of `include`, or the users around one. A hidden leaderboard requires an API key of " +
        `its organisation. With \`Accept: ${eventStreamType}\` the list is sent as an event whenever it changes.`,
      params: board,
      query: ListQuerySchema,
      responses: { 200: { description: "The entries in order", schema: ListSchema, isStreamable: true } },
      handle: ({ request, info, params, query }) => {
        if (acceptsEvents(request.headers.get("accept")))
          return openStream(context, { request, info, params, query });
        return chain(readableBoard(context, params, { request, season: query.season }), board => {
          const headers = board.declaration.visibility === "public" ? sharedList : unshared;
          const { around, include, limit } = query;
          const isOfLeaders = around === undefined && include.length === 0;
          const text = isOfLeaders ? readLeaders(board, limit) : readListText(context, board, query);
          return text.then(body => jsonText(body, headers));
        });
      },
    }),
    route({
      ...common,
      path: `${path}/users/:userId`,
      operation: `get${name}LeaderboardEntry`,
      summary: `Get one user's entry on a leaderboard of the ${name.toLowerCase()}`,
      description: "Returns the user's score, rank and percentile, also of a user whom lists leave out.",
      params: entry,
      query: EntryQuerySchema,
      responses: { 200: { description: "The entry", schema: OneSchema } },
      handle: async ({ request, params, query }) => {
        const found = readableBoard(context, params, { request, season: query.season });
        const board = found instanceof Promise ? await found : found;
        const headers = board.declaration.visibility === "public" ? shared : unshared;
        return jsonText(await readOneText(context, board, params.userId), headers);
      },
    }),
  ];
}

/**
 * Opens the event stream of a list.
 *
 * @throws {AppError} the errors of the list; `validation_failed` with `include` or `around`, which no two listeners would share;
 *   `busy`: too many clients listen already.
 */
async function openStream(
  context: LeaderboardContext,
  {
    request,
    info,
    params,
    query,
  }: Pick<Call<null, BoardParams, ListQuery, undefined>, "request" | "info" | "params" | "query">,
) {
  const { include, around, season, limit } = query;
  if (include.length > 0) throw notStreamable("include");
  if (around !== undefined) throw notStreamable("around");
  const credentials = credentialsOf(request);
  const { projectId, eventId = "", leaderboardId } = params;
  const apiKey = credentials.headers.get("x-api-key") ?? "";
  const body = await context.live.open({
    limit,
    stopping: info.stopping,
    first: ([data = ""]) => ({ event: "leaderboard", data }),
    parts: [
      {
        name: [projectId, eventId, leaderboardId, season ?? "", apiKey].join("/"),
        event: "leaderboard",
        wrap: data => data,
        locate: () =>
          chain(readableBoard(context, params, { season, request: credentials }), board =>
            boardSource(context, board),
          ),
      },
    ],
  });
  return stream(200, body, eventStreamHeaders);
}

/** Copies the credentials of a request, which must not be used once it was answered. */
function credentialsOf({ headers: sent }: Request): Request {
  const headers = ["x-api-key", "x-api-secret"].flatMap((name): [string, string][] => {
    const value = sent.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Request("http://localhost/", { headers });
}

function notStreamable(pointer: string): AppError {
  return invalidField("Cannot stream events of single users", pointer, "Expected none with an event stream");
}
