/** Calls of a platform in memory by their paths. */

import { refusalOf } from "../client/errors.ts";
import type { GrandstandError } from "../client/mod.ts";
import type { Handler } from "../http/mod.ts";

/**
 * Calls a path and returns the JSON that it answers, or null where it answers none. A body is sent as JSON, with POST unless a
 * method is named.
 *
 * @throws {GrandstandError} The platform refuses. The message has the call and all faults.
 */
export type Call = <T = unknown>(path: string, body?: unknown, method?: string) => Promise<T>;

/** Returns a way to call the platform. Header fields may change from call to call. */
export function createCall(
  handler: Handler,
  url: string,
  headersOf: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>,
): Call {
  return async <T>(path: string, body?: unknown, method = body === undefined ? "GET" : "POST") => {
    const headers = { "content-type": "application/json", ...(await headersOf()) };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await handler(new Request(url + path, init));
    const text = await response.text();
    if (!response.ok) throw explained(refusalOf(response, parsed(text)), `${method} ${path}`);
    return (text === "" ? null : parsed(text)) as T;
  };
}

function explained(error: GrandstandError, call: string): GrandstandError {
  const faults = error.fields.map(({ pointer, detail }) => `\n${pointer}: ${detail}`);
  error.message = `Cannot ${call}: ${error.status} ${error.message}${faults.join("")}`;
  return error;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
