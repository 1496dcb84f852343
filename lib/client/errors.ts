/** Failures of calls: one class, whatever error format an area answers in. */

import type { ErrorCode, FieldError } from "../base/errors/mod.ts";
import { isMembers } from "../base/json/mod.ts";

export type { ErrorCode, FieldError };

/**
 * Codes of failures. Servers send those of `ErrorCode`. The client adds: `network`, no answer arrived or it broke off; `timeout`,
 * none arrived in time; `aborted`, the signal of the call; `bad_answer`, the answer is none of this API, such as a page of a proxy,
 * a redirect, or JSON that is cut off; `other_fan`, the token that `spaceToken` got is of another fan than the one before.
 */
export type ClientErrorCode = ErrorCode | "network" | "timeout" | "aborted" | "bad_answer" | "other_fan";

/** Facts of a failure. */
export interface GrandstandErrorOptions {
  readonly cause?: unknown;
  readonly status?: number;
  readonly fields?: readonly FieldError[];
  readonly requestId?: string | null;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A failed call. */
export class GrandstandError extends Error {
  override readonly name = "GrandstandError";
  readonly code: ClientErrorCode;
  /** HTTP status; 0: no answer arrived. */
  readonly status: number;
  /** The input at fault: JSON pointers into the body (RFC 6901), or names of parameters. */
  readonly fields: readonly FieldError[];
  /** Id of the request in the logs of the server; null if no answer named it. */
  readonly requestId: string | null;
  /** True if the same call may succeed later without a change. */
  readonly retryable: boolean;
  /** Time after which a repetition may succeed, in ms; 0: the server named none. */
  readonly retryAfterMs: number;
  /** Further members of the error's body. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ClientErrorCode, message: string, options: GrandstandErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.fields = options.fields ?? [];
    this.requestId = options.requestId ?? null;
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs ?? 0;
    this.details = options.details ?? {};
  }
}

export function badAnswer(
  message: string,
  { status, headers }: Pick<Response, "status" | "headers">,
): GrandstandError {
  const retryable = status === 429 || status >= 500;
  return new GrandstandError("bad_answer", message, { status, retryable, ...waitOf(headers) });
}

interface Fault {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly pointer?: string;
  readonly reason?: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string };
}

/** Members of the three error formats: identity has `data`, problems have `code`, JSON:API has `errors` with codes. */
interface ErrorBody extends Fault {
  readonly message?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly errors?: readonly Fault[];
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Creates the error for a refusal, whose cause is the body. A body without a code becomes `bad_answer` with the status. */
export function refusalOf(response: Pick<Response, "status" | "headers">, body: unknown): GrandstandError {
  const { status, headers } = response;
  const read = (typeof body === "object" && body !== null ? body : {}) as ErrorBody;
  const data = isMembers(read.data) ? read.data : {};
  const faults = Array.isArray(read.errors) ? (read.errors as readonly Fault[]) : [];
  const code = data.code ?? read.code ?? faults[0]?.code;
  if (typeof code !== "string")
    return badAnswer(`The server answered ${status} without an error code`, response);
  const message = read.detail ?? faults[0]?.detail ?? read.message ?? code;
  return new GrandstandError(code as ErrorCode, String(message), {
    cause: body,
    status,
    fields: Array.isArray(data.fields) ? data.fields : faults.flatMap(fieldOf),
    requestId: headers.get("x-request-id"),
    retryable: isRetryable(status, code),
    details: { ...detailsOf(read), ...read.meta, ...detailsOf(data) },
    ...waitOf(headers),
  });
}

const standard =
  /^(type|title|status|detail|instance|code|message|requestId|errors|meta|data|result|retryable|retryAfter|action|fields)$/;

function detailsOf(members: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !standard.test(name)));
}

function isRetryable(status: number, code: string): boolean {
  return status === 429 || status >= 500 || code === "conflict" || code === "idempotency_conflict";
}

function fieldOf({ pointer: own, detail, reason, source = {} }: Fault): readonly FieldError[] {
  const pointer = own ?? source.pointer ?? source.parameter;
  if (pointer === undefined) return [];
  return [{ pointer, detail: String(detail), ...(reason === undefined ? {} : { reason }) }];
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3). A date is measured by the `Date` of the answer, as clocks of clients are wrong. */
function waitOf(headers: Headers): { readonly retryAfterMs: number } {
  const value = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(value)
    ? Number(value) * 1_000
    : Date.parse(value) - Date.parse(headers.get("date") ?? "");
  return { retryAfterMs: Math.max(ms, 0) || 0 };
}
