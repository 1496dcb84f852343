/**
 * The HTTP client of commands: sends credentials to one origin, retries, slows down before the server refuses, and reports
 * every failure as a {@linkcode CliError}.
 *
 * Most requests may be repeated: reads change nothing, and writes carry an idempotency key or name the version that they
 * replace. What would take effect twice is sent once.
 *
 * @module
 */

import type * as v from "valibot";
import type { Immutable } from "../../http/mod.ts";
import { clean } from "./clean.ts";
import { CliError, type CliErrorOptions, exitOf, exits } from "./errors.ts";
import type { CliHost } from "./host.ts";
import { platformUrl, type Settings } from "./profile.ts";

/** Most attempts of a request. */
const attemptsMax = 4;
/** Longest first pause between two attempts, in ms; it doubles with each. */
const firstPauseMsMax = 250;
/** Longest pause, in ms, even if the server asks for more. */
const pauseMsMax = 8_000;
/** Statuses after which a request is repeated. */
const transientStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Options of a request. */
export interface ApiRequest {
  /** @default "GET" */
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, in place of `body`; every attempt calls it. */
  readonly stream?: () => ReadableStream<Uint8Array>;
  /** Takes the lines of JSON of a good answer as they come, in place of one document; every attempt calls it. */
  readonly lines?: () => (line: unknown) => void;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses outside of 2xx that are no failures. @default [] */
  readonly expected?: readonly number[];
  /** False if it must be sent only once. @default true */
  readonly isRepeatable?: boolean;
  /** True if it changes nothing although it is no GET. @default false */
  readonly isTrial?: boolean;
  /** Longest time, in ms. @default that of the settings */
  readonly timeoutMs?: number;
}

/** The answer that the response schema of a route describes. */
export type AnswerOf<S extends v.GenericSchema> = Immutable<v.InferOutput<S>>;

/** An answer. */
export interface ApiAnswer<A> {
  readonly status: number;
  readonly etag: string | null;
  /** The parsed body; null if there is none. */
  readonly json: A;
}

/** The environment of a client. */
export interface ClientContext extends CliHost {
  readonly settings: Settings;
  /** Prints a note to stderr at once. */
  readonly note: (text: string) => void;
}

/** A client of one platform. */
export interface ApiClient {
  readonly url: string;
  /** Sends a request. @throws {CliError} The server is unreachable, or refused it. */
  send<S extends v.GenericSchema>(path: string, ask?: ApiRequest): Promise<ApiAnswer<AnswerOf<S>>>;
}

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
  const { profileName, timeoutMs } = context.settings;
  const pace = new Pace(context);
  return {
    url,
    async send(path, ask = {}) {
      const { method = "GET", body, stream, lines, headers = {}, expected = [], isRepeatable = true } = ask;
      const request = (): Request =>
        new Request(url + path, {
          method,
          headers: {
            accept: "application/vnd.api+json, application/json",
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...credentials,
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          ...(stream === undefined ? {} : { body: stream(), duplex: "half" }),
          // A redirect would send the credentials elsewhere. Node keeps all that is streamed unless redirects are errors.
          redirect: stream === undefined ? "manual" : "error",
          signal: AbortSignal.any([context.timeLimit(ask.timeoutMs ?? timeoutMs), context.interruption()]),
        });
      const { response, text, isUncertain } = await sendWithRetries(request, context, {
        pace,
        attempts: isRepeatable ? attemptsMax : 1,
        lines,
      });
      const json = parsed(text);
      const { ok, status } = response;
      if (ok && json === undefined) throw unknownAnswer();
      // An earlier attempt removed it, and its answer was lost.
      if (isUncertain && method === "DELETE" && status === 404) return { status, etag: null, json: null };
      if (ok || expected.includes(status)) {
        return { status, etag: response.headers.get("etag"), json: json ?? null };
      }
      throw await refusal(response, json, { profileName, url });
    },
  };
}

/**
 * Returns the data of an answer.
 *
 * @throws {CliError} It lacks the member, so that it is not an answer of this route.
 */
export function dataOf<D>({ json }: ApiAnswer<{ readonly data: D }>, member: keyof D): D {
  const { data } = (json ?? {}) as { readonly data?: D };
  if (typeof data === "object" && data !== null && member in data) return data;
  throw unknownAnswer();
}

/** Creates the error for an answer that the route cannot have given. */
export function unknownAnswer(): CliError {
  const message = "Cannot read the answer of the server: its form is unknown";
  const hint = "Check that --control-url names the platform itself";
  return new CliError(exits.failed, message, { code: "wrong_answer", hint });
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

interface SendOptions {
  readonly pace: Pace;
  readonly attempts: number;
  readonly lines: ApiRequest["lines"];
}

interface Sent {
  readonly response: Response;
  readonly text: string;
  /** True if an earlier attempt may have taken effect. */
  readonly isUncertain: boolean;
}

/** Retries with full jitter and `Retry-After` as a floor. @throws {CliError} The server is out of reach. */
async function sendWithRetries(
  request: () => Request,
  context: ClientContext,
  { pace, attempts, lines }: SendOptions,
): Promise<Sent> {
  const { clock, pause, random, settings, terminal, interruption } = context;
  let isUncertain = false;
  for (let attempt = 1; ; attempt++) {
    const jitterMs = random() * Math.min(firstPauseMsMax * 2 ** (attempt - 1), pauseMsMax);
    await pace.wait();
    const sent = request();
    const startedAt = clock();
    const outcome = (text: unknown): void => {
      const { pathname, search } = new URL(sent.url);
      const line = `${sent.method} ${pathname}${search}: ${text} in ${clock() - startedAt} ms`;
      if (settings.isVerbose) terminal.warn(`${clean(line)}\n`);
    };
    try {
      const response = await context.fetch(sent);
      const text =
        lines === undefined || !response.ok ? await response.text() : await readLines(response, lines());
      outcome(response.status);
      pace.note(response.headers);
      if (attempt === attempts || !transientStatuses.has(response.status)) {
        return { response, text, isUncertain };
      }
      isUncertain ||= response.status !== 429;
      const seconds = Number(response.headers.get("retry-after") ?? 0);
      const floorMs = Number.isFinite(seconds) ? seconds * 1_000 : 0;
      await pause(Math.min(Math.max(jitterMs, floorMs), pauseMsMax));
    } catch (error) {
      if (error instanceof CliError) throw error;
      outcome("no answer");
      if (interruption().aborted) throw interrupted();
      if (attempt === attempts) throw unreachable(sent.url, error);
      isUncertain = true;
      await pause(jitterMs);
    }
  }
}

/** Reads lines of JSON, and returns that no text is left. @throws {CliError} One is no JSON. */
async function readLines(response: Response, take: (line: unknown) => void): Promise<""> {
  const { lines } = await import("../../client/streams.ts");
  for await (const text of lines(response)) {
    const line = parsed(text);
    if (line === undefined) throw unknownAnswer();
    if (line !== null) take(line);
  }
  return "";
}

/** Creates the error for Ctrl-C. */
export function interrupted(): CliError {
  return new CliError(exits.interrupted, "Interrupted", { code: "interrupted" });
}

function unreachable(url: string, cause: unknown): CliError {
  const { message, cause: deeper } = cause instanceof Error ? cause : new Error(String(cause));
  const reason = deeper instanceof Error && deeper.message !== "" ? deeper.message : message;
  return new CliError(exits.unavailable, `Cannot reach ${new URL(url).origin}: ${reason}`, {
    code: "unreachable",
    hint: "Check the address with --verbose, or allow more time with --timeout",
  });
}

/** Returns null for no text, undefined for text that is no JSON. */
function parsed(text: string) {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function refusal(
  response: Response,
  json: unknown,
  { profileName, url }: { readonly profileName: string; readonly url: string },
): Promise<CliError> {
  // Commands that go well do not load it.
  const { refusalOf } = await import("../../client/errors.ts");
  const { code, status, message, fields, requestId, details: meta } = refusalOf(response, json);
  const isUnknown = code === "bad_answer";
  const details = fields.flatMap(({ pointer, detail }) =>
    pointer === "" && fields.length === 1 ? [] : [`${pointer}: ${detail}`],
  );
  // What is missing is named in the document, not by the command.
  const isInDocument = status === 404 && details.length > 0;
  const said = isUnknown ? `The server answered ${status}` : message;
  return new CliError(
    isInDocument ? exits.invalid : exitOf(status),
    details.length > 1 ? "The server found errors" : said,
    {
      code: isUnknown ? `http_${status}` : code,
      status,
      details,
      ...hintsOf(status, `profile ${profileName}, ${url}`),
      ...(requestId === null ? {} : { requestId }),
      ...(Object.keys(meta).length === 0 ? {} : { meta }),
    },
  );
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
