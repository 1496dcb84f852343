/**
 * The routes that read boards: the four of the specification.
 *
 * @module
 */

import * as v from "valibot";
import {
  type AnyRoute,
  chain,
  type JsonText,
  jsonText,
  looseRoute,
  open,
  type Reply,
} from "../../http/mod.ts";
import type { ResolvedBoard } from "../ranking/find_board.ts";
import { entryText, listAnswer, type ReadContext, readableBoard } from "./board_answers.ts";
import { eventStreamType, liveReply, wantsEvents } from "./event_stream.ts";
import {
  type BoardParams,
  type BoardScope,
  type EntryParams,
  type EntryQuery,
  EntryQuerySchema,
  EntrySchema,
  ListMetaSchema,
  type ListQuery,
  ListQuerySchema,
  OneSchema,
} from "./schema.ts";

const shared = { "cache-control": "public, max-age=1" };
const unshared = { "cache-control": "no-store" };
// The same address answers event streams as well, which a cache must not mix up with lists.
const sharedList = { ...shared, vary: "accept" };
const ListSchema = v.object({
  data: v.array(EntrySchema),
  totalCount: v.pipe(v.number(), v.integer()),
  meta: ListMetaSchema,
});

/** Builds the routes that read the boards of projects, or those of events. */
export function readRoutes(context: ReadContext, { path, of, board, entry }: BoardScope): AnyRoute[] {
  const scope = of.toLowerCase();
  const common = {
    method: "GET",
    auth: open,
    cache: "public",
    errors: ["not_found", "validation_failed", "missing_api_key", "invalid_api_key", "busy"],
  } as const;
  return [
    looseRoute({
      ...common,
      path,
      operation: `list${of}Leaderboard`,
      summary:
        `List the leading users of a leaderboard of the ${scope} and the included users, or the users around one. ` +
        "A hidden leaderboard is shown to an API key of its organisation alone. " +
        `With \`Accept: ${eventStreamType}\` the leading users are sent as events whenever they change`,
      params: board,
      query: ListQuerySchema,
      responses: { 200: { description: "The entries in order", schema: ListSchema, isStreamable: true } },
      handle: call => (wantsEvents(call.request) ? liveReply(context, call) : list(context, call)),
    }),
    looseRoute({
      ...common,
      path: `${path}/users/:userId`,
      operation: `get${of}LeaderboardEntry`,
      summary: `Get one user's entry on a leaderboard of the ${scope}`,
      params: entry,
      query: EntryQuerySchema,
      responses: { 200: { description: "The entry", schema: OneSchema } },
      handle: ({ request, params, query }) => show(context, { request, params, query }),
    }),
  ];
}

interface Asked<P, Q> {
  readonly request: Request;
  readonly params: P;
  readonly query: Q;
}

function list(
  context: ReadContext,
  { request, params, query }: Asked<BoardParams, ListQuery>,
): Promise<Reply> | Reply {
  return chain(readableBoard(context, params, { request, season: query.season }), board => {
    const headers = board.declaration.visibility === "public" ? sharedList : unshared;
    return listAnswer(context, board, {
      query,
      answer: text => jsonText(text as JsonText<unknown>, headers),
    });
  });
}

async function show(
  context: ReadContext,
  { request, params, query }: Asked<EntryParams, EntryQuery>,
): Promise<Reply> {
  const board = await readableBoard(context, params, { request, season: query.season });
  return jsonText((await entryText(context, board, params.userId)) as JsonText<unknown>, headersOf(board));
}

function headersOf({ declaration }: ResolvedBoard): Readonly<Record<string, string>> {
  return declaration.visibility === "public" ? shared : unshared;
}
