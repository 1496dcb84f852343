/**
 * From anything thrown to the reply that tells of it, and to the log line for operators.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Logger } from "../logger.ts";
import type { Endpoint } from "../routing/endpoint.ts";
import type { Reply } from "../routing/route.ts";
import type { ErrorFamily } from "./family.ts";
import { errorFacts, retryAfterMsDefault } from "./status.ts";

/** Most causes that a log line follows. */
export const causesMax = 4;

/** Longest path that an error body repeats, in UTF-16 units; a longer one is cut. */
export const instanceCharsMax = 1_024;

const concealed =
  "Cannot answer the request: something unexpected failed; quote the request id to the operator";

/** Where something failed. */
export interface FailureContext {
  readonly family: ErrorFamily;
  readonly endpoint: Endpoint | null;
  readonly requestId: string;
  readonly path: string;
  readonly origin: string;
}

/** The reply for something thrown; what is no {@linkcode AppError} becomes `internal_error` without any detail. */
export function failureReply(error: unknown, context: FailureContext): Reply {
  const known = error instanceof AppError && error.code !== "internal_error" ? error : null;
  const code = known?.code ?? "internal_error";
  const { status, title, retryable } = errorFacts[code];
  const waits = status === 429 || status === 503;
  const retryAfter = waits ? Math.ceil((known?.retryAfterMs ?? retryAfterMsDefault) / 1000) : undefined;
  const challenge = challengeOf(code, context.endpoint);
  return {
    status,
    json: context.family.body({
      code,
      status,
      title,
      message: known?.message ?? concealed,
      retryable,
      retryAfter,
      fields: known?.fields,
      details: known?.details,
      requestId: context.requestId,
      path: context.path.slice(0, instanceCharsMax).toWellFormed(),
      origin: context.origin,
    }),
    headers: {
      "content-type": context.family.mediaType,
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
      ...(challenge === null ? {} : { "www-authenticate": challenge }),
      ...known?.headers,
    },
  };
}

/** Logs what an operator must know: every failure of ours with its causes; a client's mistakes are not logged. */
export function logFailure(error: unknown, context: FailureContext, logger: Logger): void {
  const known = error instanceof AppError ? error : null;
  if (known !== null && errorFacts[known.code].status < 500) return;
  logger.log(known === null ? "error" : "warn", "request_failed", {
    requestId: context.requestId,
    operation: context.endpoint?.route.operation,
    code: known?.code ?? "internal_error",
    error: causesOf(error),
    stack: error instanceof Error ? framesOf(error) : undefined,
  });
}

/** What RFC 6750 calls an invalid token: revoked ones too. */
const tokenFaults: ReadonlySet<AppError["code"]> = new Set([
  "invalid_token",
  "session_revoked",
  "refresh_token_reused",
]);

/** RFC 6750 section 3: `error` names what is wrong with a token that was sent, and is absent where none was. */
function challengeOf(code: AppError["code"], endpoint: Endpoint | null): string | null {
  const isOfKey = code === "invalid_api_key" || code === "missing_api_key";
  const scheme = isOfKey ? "ApiKey" : (endpoint?.challenge ?? "Bearer");
  if (code === "insufficient_scope" && scheme === "Bearer") {
    const scopes = (endpoint?.route.auth.security[0]?.requires ?? []).join(" ");
    return `Bearer error="insufficient_scope"${scopes === "" ? "" : `, scope="${scopes}"`}`;
  }
  if (errorFacts[code].status !== 401) return null;
  if (scheme === "Bearer" && code === "token_expired") {
    return 'Bearer error="invalid_token", error_description="The token expired"';
  }
  if (scheme === "Bearer" && tokenFaults.has(code)) return 'Bearer error="invalid_token"';
  return `${scheme} realm="api"`;
}

function causesOf(error: unknown): string {
  const causes: string[] = [];
  for (let cause = error; cause !== undefined && causes.length < causesMax; ) {
    causes.push(describe(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes.join("; caused by ");
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `thrown ${typeof thrown}`;
  // The message of a SyntaxError quotes the text that did not parse, which may hold secrets.
  return thrown instanceof SyntaxError ? thrown.name : `${thrown.name}: ${thrown.message}`;
}

function framesOf(error: Error): string {
  const stack = error.stack ?? "";
  const frames = stack.indexOf("\n    at ");
  return frames === -1 ? "" : stack.slice(frames + 1);
}
