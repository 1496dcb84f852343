/**
 * Sends the requests of commands by the transport of the typed client, slows down before the server refuses, and reports every failure
 * as a {@linkcode CliError}.
 *
 * Most requests may be repeated: reads change nothing, and writes carry an idempotency key or name the version that they replace.
 * Requests that would take effect twice are sent once.
 */

import { present } from "../../base/text/present.ts";
import type { ClientEnvironment } from "../../client/environment.ts";
import { GrandstandError } from "../../client/errors.ts";
import { jsonLines } from "../../client/streams.ts";
import { type ReadContent, readJson, send as transport } from "../../client/transport.ts";
import { type ApiClient, type ApiRequest, type ClientContext, interrupted, unknownAnswer } from "./client.ts";
import { CliError, type CliErrorOptions, exitOf, exits } from "./errors.ts";
import { platformUrl } from "./profile.ts";
import { clean } from "./text.ts";

const attemptsMax = 4;
/** Longest pause, in ms, even if the server asks for more. */
const pauseMsMax = 8_000;

/**
 * Creates a client that sends the headers with each request.
 *
 * @throws {CliError} No platform is named, or credentials must not be sent to it.
 */
export function createClient(
  credentials: Readonly<Record<string, string>>,
  context: ClientContext,
): ApiClient {
  const url = platformUrl(context.settings);
  const pace = new Pace(context);
  const send: ApiClient["send"] = async (path, ask = {}) => {
    const { method = "GET", body, lines, headers = {}, expected = [], isRepeatable = true } = ask;
    const outgoing = {
      method,
      url: url + path,
      headers: {
        accept: "application/vnd.api+json, application/json",
        ...present({ "content-type": body === undefined ? undefined : "application/json" }),
        ...credentials,
        ...headers,
      },
      body: JSON.stringify(body),
      signal: context.interruption(),
      // The environment limits the time.
      timeoutMs: Number.POSITIVE_INFINITY,
      retryAfterMsMax: pauseMsMax,
      attemptsMax: isRepeatable ? attemptsMax : 1,
      isRepeatable,
    };
    const read = lines === undefined ? readJson : readLines(lines);
    try {
      const answer = await transport(outgoing, read, environmentOf(ask, pace, context));
      return {
        status: answer.status,
        etag: answer.headers.get("etag"),
        json: (answer.content ?? null) as never,
      };
    } catch (error) {
      if (!(error instanceof GrandstandError)) throw error;
      const { status } = error;
      if (expected.includes(status)) return { status, etag: null, json: null as never };
      throw failureOf(error, url, context.settings.profileName);
    }
  };
  return { url, send };
}

function readLines(lines: NonNullable<ApiRequest["lines"]>): ReadContent<undefined> {
  return async response => {
    const take = lines();
    for await (const line of jsonLines(response)) take(line);
    return undefined;
  };
}

/** The environment of a request: each attempt waits for the pace, has its own stream and time limit, and is noted with `--verbose`. */
function environmentOf(
  { stream, timeoutMs }: ApiRequest,
  pace: Pace,
  context: ClientContext,
): ClientEnvironment {
  const { clock, random, uniqueId, settings, terminal } = context;
  return {
    clock,
    random,
    uniqueId,
    timer(task, ms) {
      const canceled = new AbortController();
      if (ms < Number.POSITIVE_INFINITY) context.pause(ms, canceled.signal).then(task, () => {});
      return () => canceled.abort();
    },
    async fetch(address, init) {
      await pace.wait();
      const limit = context.timeLimit(timeoutMs ?? settings.timeoutMs);
      const request = new Request(address, {
        ...init,
        // Node keeps all that is streamed unless redirects are errors.
        ...(stream === undefined ? {} : { body: stream(), duplex: "half", redirect: "error" }),
        signal: AbortSignal.any([limit, init.signal ?? limit]),
      });
      const startedAt = clock();
      const note = (outcome: number | string): void => {
        const { pathname, search } = new URL(address);
        const line = `${init.method} ${pathname}${search}: ${outcome} in ${clock() - startedAt} ms`;
        if (settings.isVerbose) terminal.warn(`${clean(line)}\n`);
      };
      const response = await context.fetch(request).catch(error => {
        note("no answer");
        throw error;
      });
      note(response.status);
      pace.note(response.headers);
      return response;
    },
  };
}

/** Waits where the `RateLimit` of the last answer says that nothing is left. */
class Pace {
  readonly #context: ClientContext;
  #notBefore = 0;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  async wait(): Promise<void> {
    const ms = this.#notBefore - this.#context.clock();
    if (ms > 0) await this.#context.pause(Math.min(ms, pauseMsMax));
  }

  note(headers: Headers): void {
    for (const [, left, seconds] of (headers.get("ratelimit") ?? "").matchAll(/;r=(\d+);t=(\d+)/g)) {
      // A window regains its units evenly, so that a part of it is enough for the next one.
      if (left === "0") this.#notBefore = this.#context.clock() + Math.min(Number(seconds), 1) * 1_000;
    }
  }
}

function failureOf(error: GrandstandError, url: string, profileName: string): CliError {
  const { code, status, fields, requestId, details: meta } = error;
  if (code === "aborted") return interrupted();
  if (code === "network") return unreachable(url, error.cause);
  const isUnknown = code === "bad_answer";
  if (isUnknown && status < 300) return unknownAnswer();
  const details = fields.flatMap(({ pointer, detail }) =>
    pointer === "" && fields.length === 1 ? [] : [`${pointer}: ${detail}`],
  );
  const message = isUnknown ? `The server answered ${status}` : error.message;
  return new CliError(exitOf(status), details.length > 1 ? "The server found errors" : message, {
    code: isUnknown ? `http_${status}` : code,
    status,
    details,
    ...hintsOf(status, `profile ${profileName}, ${url}`),
    requestId: requestId ?? undefined,
    meta,
  });
}

function unreachable(url: string, cause: unknown): CliError {
  const { message, cause: deeper } = cause instanceof Error ? cause : new Error(String(cause));
  const reason = deeper instanceof Error && deeper.message !== "" ? deeper.message : message;
  return new CliError(exits.unavailable, `Cannot reach ${new URL(url).origin}: ${reason}`, {
    code: "unreachable",
    hint: "Check the address with --verbose, or allow more time with --timeout",
  });
}

function hintsOf(status: number, where: string): Partial<CliErrorOptions> {
  if (status === 401)
    return { hint: `The token or key is not accepted (${where})`, next: "grandstand login" };
  if (status === 403) return { hint: `Ask for a higher role (${where})`, next: "grandstand whoami" };
  if (status >= 300 && status < 400) {
    return { hint: "Credentials do not follow redirects; name the address itself with --control-url" };
  }
  return {};
}
