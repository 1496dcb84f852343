/**
 * Lists of boards as event streams.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { type Call, chain, type Reply } from "../../http/mod.ts";
import { listView, type ReadContext, readableBoard } from "./board_answers.ts";
import type { BoardParams, ListQuery } from "./schema.ts";

/** The media type of event streams. */
export const eventStreamType = "text/event-stream";

const headers = {
  "content-type": eventStreamType,
  "cache-control": "no-store",
  // Proxies that collect answers before they send them on know this one.
  "x-accel-buffering": "no",
};

/** Whether a request wants events: it names their type, and not JSON besides. */
export function wantsEvents(request: Request): boolean {
  const accepted = request.headers.get("accept")?.toLowerCase();
  if (accepted?.includes(eventStreamType) !== true) return false;
  const types = accepted.split(",").map(part => part.split(";", 1)[0]?.trim());
  return types.includes(eventStreamType) && !types.includes("application/json");
}

/**
 * The event stream of a list: a message with the list now, and one whenever its users or their scores have changed, at most
 * one in a second.
 *
 * @throws {AppError} those of the list; `validation_failed` for single users, whom no two listeners share; `busy` where too
 *   many listen already.
 */
export async function liveReply(
  context: ReadContext,
  {
    request,
    info,
    params,
    query,
  }: Pick<Call<null, BoardParams, ListQuery, unknown>, "request" | "info" | "params" | "query">,
): Promise<Reply> {
  const { include, around, season, limit } = query;
  if (include.length > 0) throw unshareable("include");
  if (around !== undefined) throw unshareable("around");
  const credentials = credentialsOf(request);
  const { projectId, eventId = "", leaderboardId } = params;
  const body = await context.live.open({
    name: [projectId, eventId, leaderboardId, season ?? "", credentials.headers.get("x-api-key") ?? ""].join(
      "/",
    ),
    limit,
    stopping: info.stopping,
    locate: () =>
      chain(readableBoard(context, params, { season, request: credentials }), board => ({
        key: board.location.shards[0],
        read: () => listView(context, board),
      })),
  });
  return { status: 200, body, headers };
}

/** A request of its own, because the one that was received is not to be used once it was answered. */
function credentialsOf({ headers: sent }: Request): Request {
  const kept = ["x-api-key", "x-api-secret"].flatMap(name => {
    const value = sent.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
  return new Request("http://localhost/", { headers: kept });
}

function unshareable(pointer: string): AppError {
  return new AppError("validation_failed", "Cannot send events of single users", {
    fields: [{ pointer, detail: "Expected none where events are asked for" }],
  });
}
