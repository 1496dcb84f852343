/** Fans and their calls, through the same Request and Response that a server would pass. */

import type { Handler } from "../../lib/mod.ts";
import { eventId, leagueIds } from "./league.ts";
import type { Report } from "./predictions.ts";

/** A fan with the proof of identity that the fan's device keeps. */
export interface Fan {
  readonly userId: string;
  readonly username: string;
  /** Lives for 90 days. */
  readonly record: { readonly externalId: string };
  /** Of the latest sign-in; lives for an hour. */
  readonly token: string;
}

/** The reporter of a fan's actions: a back end if it has a token, else the fan's own device. */
export interface Reporter {
  readonly fan: Fan;
  readonly backEndToken: string | null;
}

/** The API key of a back end. */
export interface BackEnd {
  readonly key: string;
  readonly secret: string;
}

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Options of a call. @default a plain GET */
export interface Call {
  readonly token?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of a call with a body. @default "POST" */
  readonly method?: string;
}

const registration = "/v1/user";
const action = "/api/loyalty/action";
const selector = { projectId: leagueIds.project, strategy: "simplified", provider: "noLogin" };

/** Calls a path of a platform. */
export async function call(
  handler: Handler,
  path: string,
  { token, body, method = "POST" }: Call = {},
): Promise<Answer> {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const init = body === undefined ? { headers } : { headers, method, body: JSON.stringify(body) };
  const response = await handler(new Request(`http://league.example${path}`, init));
  return { status: response.status, body: await response.text() };
}

/** Most times that a call is sent whose store answers late, as it may on a machine that has other work. */
const attemptsMax = 20;

/**
 * Calls a path and reads what it answers, once more where the store answered late: every call but a registration may be repeated.
 * Any other status than 200 ends the season.
 */
// biome-ignore lint/suspicious/noExplicitAny: callers compare the members
export async function read(handler: Handler, path: string, options: Call = {}): Promise<any> {
  for (let attempt = 1; ; attempt++) {
    const { status, body } = await call(handler, path, options);
    if (status === 503 && attempt < attemptsMax && path !== registration) continue;
    if (status !== 200) throw new Error(`Expected 200 of ${path}, got ${status}: ${body}`);
    return body === "" ? undefined : JSON.parse(body);
  }
}

/**
 * Creates a user, who enters the space and sees an empty rewards profile. From then on the platform knows which
 * project's boards a back end's reports for this user move.
 */
export async function createFan(handler: Handler, username: string): Promise<Fan> {
  const { data: record } = await read(handler, registration, { body: { ...selector, data: { username } } });
  const fan = await enter(handler, { userId: record.userId, username, record, token: "" });
  await read(handler, "/api/loyalty/profile", { token: fan.token });
  return fan;
}

/** Renews the fan's session record, which does not last a season, and enters the space. */
export async function enterAgain(handler: Handler, fan: Fan): Promise<Fan> {
  const body = { ...selector, data: { externalId: fan.record.externalId } };
  const { data: record } = await read(handler, "/v1/user/login", { method: "PUT", body });
  return await enter(handler, { ...fan, record });
}

/** Exchanges the fan's session record for a new token of the space. */
export async function enter(handler: Handler, fan: Fan): Promise<Fan> {
  const body = { type: "sessionRecord", projectId: leagueIds.project, record: fan.record };
  const { data } = await read(handler, "/api/auth/token", { body });
  return { ...fan, token: data.accessToken };
}

/** Gives a back end a new token of the space for its API key. */
export async function enterAsBackEnd(handler: Handler, { key, secret }: BackEnd): Promise<string> {
  const { data } = await read(handler, "/api/auth/token", { body: { type: "service", key, secret } });
  return data.accessToken;
}

/** Reports how a prediction did: the fan's own device does, or a back end that has a token. */
export async function report(
  handler: Handler,
  { fan, backEndToken }: Reporter,
  { match, outcome }: Report,
): Promise<void> {
  const data = { eventId: eventId(match.matchday), match: match.id, outcome };
  const body = { action: "prediction", actionId: match.id, data };
  const path = backEndToken === null ? action : `${action}?user_id=${fan.userId}`;
  const answer = await read(handler, path, { token: backEndToken ?? fan.token, body });
  if (answer !== undefined)
    throw new Error(`Expected an empty body of a report, got ${JSON.stringify(answer)}`);
}
