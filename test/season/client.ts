/** Fans and their calls, through the same Request and Response that a server would pass. */

import type { Handler } from "../../lib/mod.ts";
import { eventId, leagueIds } from "./league.ts";
import type { Report } from "./predictions.ts";

/** A fan with the proof of identity that the fan's device keeps. */
export interface Fan {
  readonly userId: string;
  readonly username: string;
  readonly record: unknown;
  /** Of the latest sign-in; lives for an hour. */
  readonly token: string;
}

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** How a call differs from a plain GET. */
export interface Call {
  readonly token?: string;
  /** Sent as JSON with POST. */
  readonly body?: unknown;
}

const selector = { projectId: leagueIds.project, strategy: "simplified", provider: "noLogin" };

/** Calls a path of a platform. */
export async function call(handler: Handler, path: string, { token, body }: Call = {}): Promise<Answer> {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
  const response = await handler(new Request(`http://league.example${path}`, init));
  return { status: response.status, body: await response.text() };
}

/** Calls a path and reads what it answers; any other status than 200 ends the season. */
// biome-ignore lint/suspicious/noExplicitAny: whoever calls compares the members
export async function read(handler: Handler, path: string, options: Call = {}): Promise<any> {
  const { status, body } = await call(handler, path, options);
  if (status !== 200) throw new Error(`Expected 200 of ${path}, got ${status}: ${body}`);
  return body === "" ? undefined : JSON.parse(body);
}

/** Creates a user and lets it enter the space. */
export async function createFan(handler: Handler, username: string): Promise<Fan> {
  const { data: record } = await read(handler, "/v1/user", { body: { ...selector, data: { username } } });
  return await enter(handler, { userId: record.userId, username, record, token: "" });
}

/** Exchanges the fan's session record for a new token of the space. */
export async function enter(handler: Handler, fan: Fan): Promise<Fan> {
  const body = { type: "sessionRecord", projectId: leagueIds.project, record: fan.record };
  const { data } = await read(handler, "/api/auth/token", { body });
  return { ...fan, token: data.accessToken };
}

/** Reports how a prediction did. */
export async function report(handler: Handler, fan: Fan, { match, outcome }: Report): Promise<void> {
  const data = { eventId: eventId(match.matchday), match: match.id, outcome };
  const body = { action: "prediction", actionId: match.id, data };
  const answer = await read(handler, "/api/loyalty/action", { token: fan.token, body });
  if (answer !== undefined)
    throw new Error(`Expected an empty body of a report, got ${JSON.stringify(answer)}`);
}
