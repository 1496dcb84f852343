/**
 * One request until its answer: its target, its id and what was found out about it.
 *
 * The path and query are found by index: `new URL` costs more than the rest of the dispatch.
 *
 * @module
 */

import { type Parameters, parseQuery } from "../requests/query.ts";
import type { ClientInfo, GuardInput } from "../route.ts";

/** A request's target, both parts as sent: percent-encoded, without `?` and fragment. */
export interface Target {
  /** Begins with a slash. */
  readonly path: string;
  readonly query: string;
}

/** Splits an absolute URL, or one that begins with its path, into path and query. */
export function splitUrl(url: string): Target {
  const start = url.charCodeAt(0) === 47 ? 0 : pathStart(url);
  const hash = url.indexOf("#", start);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf("?", start);
  if (mark === -1 || mark >= end) return { path: url.slice(start, end) || "/", query: "" };
  return { path: url.slice(start, mark) || "/", query: url.slice(mark + 1, end) };
}

/**
 * The host that a request is addressed to, as sent; empty where it names none, as HTTP/1.0 allows. A Request that was made by
 * hand has its host in the URL alone, and one without a host may have no more than its target there.
 */
export function hostOf({ headers, url }: Pick<Request, "headers" | "url">): string {
  return headers.get("host") ?? (URL.canParse(url) ? new URL(url).host : "");
}

function pathStart(url: string): number {
  const authority = url.indexOf("://") + 3;
  const slash = url.indexOf("/", authority);
  const mark = url.indexOf("?", authority);
  if (slash === -1) return mark === -1 ? url.length : mark;
  return mark !== -1 && mark < slash ? mark : slash;
}

/** Path parameters and query as the schemas of a route return them. */
export interface ParsedParameters {
  readonly params: unknown;
  readonly query: unknown;
}

/** The state of one request until its answer. */
export interface Exchange {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly requestId: string;
  readonly target: Target;
  /** The parameters, once they have been checked. */
  parsed: ParsedParameters | null;
  /** Header fields of every answer to the request, errors too; replaced, never changed in place. */
  extra: Readonly<Record<string, string>> | null;
}

/** The part of a request that guards read. The query is parsed when a guard first asks for it. */
export class GuardRequest implements GuardInput {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly params: Parameters;
  readonly #query: string;

  constructor(exchange: Exchange, params: Parameters) {
    this.request = exchange.request;
    this.info = exchange.info;
    this.params = params;
    this.#query = exchange.target.query;
  }

  /** @throws `validation_failed` for a malformed query. */
  get query(): Parameters {
    return parseQuery(this.#query);
  }
}

const saneShape = /^[A-Za-z0-9._-]{8,64}$/;

/** Returns true for 8 to 64 characters that need no escaping in a header or a log line. */
export function isSaneRequestId(id: string): boolean {
  return saneShape.test(id);
}

/** Creates a generator of ids that are unique among processes: 64 random bits for the process, then a counter. */
export function requestIds(): () => string {
  const prefix = [...crypto.getRandomValues(new Uint8Array(8))]
    .map(byte => byte.toString(16).padStart(2, "0"))
    .join("");
  let count = 0;
  return () => {
    count++;
    return `${prefix}-${count.toString(36)}`;
  };
}
