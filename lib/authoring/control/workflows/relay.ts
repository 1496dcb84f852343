/** Sends the requests of dialogues to the backends of workflows, and reads their answers. */

import { AppError, type ErrorCode } from "../../../base/errors/mod.ts";
import { type Outbound, OutboundError, type OutboundReply } from "../../../base/outbound/outbound.ts";
import { parseJson } from "../../../http/requests/body.ts";
import { dialogueLimits, type WorkflowRequest } from "../../../workflow/dialogue/mod.ts";

/** Most requests that wait for a backend at a time, in one process. */
const underWayMax = 200;
/** Most characters of a backend's explanation that are passed on. */
const detailCharactersMax = 1_000;
/** Longest wait that a backend may ask for, in ms. */
const retryAfterMsMax = 3_600_000;

/** Refusals that are passed on, by status. Any other one says that the backend or the way to it is broken. */
const refusals: Readonly<Record<number, ErrorCode>> = {
  400: "validation_failed",
  403: "forbidden",
  409: "conflict",
  413: "payload_too_large",
  415: "unsupported_media_type",
  422: "unprocessable",
  429: "rate_limited",
  503: "provider_unavailable",
};

interface RelayRequest {
  readonly name: string;
  readonly url: string;
  readonly request: WorkflowRequest;
  readonly token: string;
  /** Null: the frontend sent none. */
  readonly idempotencyKey: string | null;
}

export class Refusal extends AppError {
  /** HTTP status of the backend; 0: there was no answer. */
  readonly backendStatus: number;

  constructor(code: ErrorCode, message: string, backendStatus: number, retryAfterMs?: number) {
    const seconds = String(Math.ceil((retryAfterMs ?? 0) / 1_000));
    super(
      code,
      message,
      retryAfterMs === undefined ? {} : { retryAfterMs, headers: { "retry-after": seconds } },
    );
    this.backendStatus = backendStatus;
  }
}

/** Sends requests to backends. Nothing is sent twice. */
export class Relay {
  readonly #outbound: Outbound;
  readonly #userAgent: string;
  #underWay = 0;

  constructor(outbound: Outbound, userAgent: string) {
    this.#outbound = outbound;
    this.#userAgent = userAgent;
  }

  /**
   * Returns the view that a backend answers with, as JSON text.
   *
   * @throws {AppError} {@linkcode Refusal}; `busy`: too many requests wait for their answers.
   */
  async send(sent: RelayRequest): Promise<string> {
    if (this.#underWay >= underWayMax)
      throw new AppError("busy", "Cannot ask a backend as too many are being asked");
    this.#underWay++;
    try {
      return viewOf(sent.name, await this.#post(sent));
    } finally {
      this.#underWay--;
    }
  }

  async #post({ name, url, request, token, idempotencyKey }: RelayRequest): Promise<OutboundReply> {
    const headers = {
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": this.#userAgent,
      authorization: `Bearer ${token}`,
      ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
    };
    const { answerMsMax: msMax, answerBytesMax: bytesMax } = dialogueLimits;
    try {
      return await this.#outbound.post({ url, headers, body: JSON.stringify(request), msMax, bytesMax });
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      const code = error.fault === "time" ? "provider_timeout" : "provider_error";
      throw new Refusal(code, `Cannot run “${name}”, as of its backend ${error.message}`, 0);
    }
  }
}

function viewOf(name: string, { status, mediaType, text, retryAfterMs }: OutboundReply): string {
  const json = /^application\/([a-z0-9.+-]+\+)?json$/.test(mediaType ?? "") ? jsonOf(text) : null;
  if (status === 200 && json !== null) return text;
  const code = refusals[status];
  const answered = status === 200 ? "something else than JSON" : `with the status ${status}`;
  if (code === undefined)
    throw new Refusal("provider_error", `Cannot run “${name}”, as its backend answered ${answered}`, status);
  const waitMs = retryAfterMs ?? (status === 409 || status === 429 ? 1_000 : undefined);
  throw new Refusal(
    code,
    `“${name}” refused: ${detailOf(json) ?? `its backend answered ${answered}`}`,
    status,
    waitMs === undefined ? undefined : Math.min(waitMs, retryAfterMsMax),
  );
}

function jsonOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value = parseJson(text);
    return typeof value === "object" && !Array.isArray(value)
      ? (value as Record<string, unknown> | null)
      : null;
  } catch {
    return null;
  }
}

/** Returns how a problem document (RFC 9457) explains itself, or null. */
function detailOf(problem: Readonly<Record<string, unknown>> | null): string | null {
  const text = problem?.detail ?? problem?.title;
  return typeof text === "string" && text.trim() !== ""
    ? text.slice(0, detailCharactersMax).toWellFormed()
    : null;
}
