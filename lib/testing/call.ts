/** Calls of a platform in memory. */

import type { ErrorCode } from "../errors/mod.ts";
import type { Handler } from "../http/mod.ts";

/**
 * Calls a path and returns the JSON that it answers, or null where it answers none. A body is sent as JSON, with POST unless a
 * method is named.
 *
 * @throws {CallRefused} The platform refuses.
 */
export type Call = <T = unknown>(path: string, body?: unknown, method?: string) => Promise<T>;

/** An answer of the platform that is an error. */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  /** Status of the answer. */
  readonly status: number;
  /** Null: the answer names none. */
  readonly code: ErrorCode | null;
  /** The parsed answer; its text where that is no JSON. */
  readonly answer: unknown;

  constructor(request: Request, status: number, text: string) {
    const answer = parse(text);
    super(`Cannot ${request.method} ${new URL(request.url).pathname}: ${status} ${explanationOf(answer)}`);
    this.status = status;
    this.answer = answer;
    this.code = codeOf(answer);
  }
}

/** Returns a way to call the platform. Header fields may change from call to call. */
export function createCall(
  handler: Handler,
  url: string,
  headersOf: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>,
): Call {
  return async <T>(path: string, body?: unknown, method = body === undefined ? "GET" : "POST") => {
    const headers = { "content-type": "application/json", ...(await headersOf()) };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const request = new Request(url + path, init);
    const response = await handler(request);
    const text = await response.text();
    if (!response.ok) throw new CallRefused(request, response.status, text);
    return (text === "" ? null : parse(text)) as T;
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface ErrorFacts {
  readonly code?: ErrorCode;
  readonly message?: string;
  readonly fields?: readonly { readonly pointer: string; readonly detail: string }[];
}

/** Areas answer errors in forms of their own. */
interface ErrorBody extends ErrorFacts {
  readonly data?: ErrorFacts | null;
  readonly errors?: readonly {
    readonly code?: ErrorCode;
    readonly detail?: string;
    readonly source?: { readonly pointer?: string };
  }[];
}

function codeOf(answer: unknown): ErrorCode | null {
  const { code, data, errors } = Object(answer) as ErrorBody;
  return code ?? data?.code ?? errors?.[0]?.code ?? null;
}

/** Returns the sentence of an error and all faults of the input, in lines. */
function explanationOf(answer: unknown): string {
  const { message, fields, data, errors = [] } = Object(answer) as ErrorBody;
  const sentence = message ?? data?.message;
  const faults = [
    ...(fields ?? data?.fields ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`),
    ...errors.map(({ detail = "", source }) => `${source?.pointer ?? ""}: ${detail}`.replace(/^: /, "")),
  ];
  if (sentence === undefined && faults.length === 0)
    return typeof answer === "string" ? answer : JSON.stringify(answer);
  return [...(sentence === undefined ? [] : [sentence]), ...faults].join("\n");
}
