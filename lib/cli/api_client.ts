/**
 * The HTTP client of commands: authenticates with an API key, retries, and reports every failure as a {@linkcode CliError}.
 *
 * Most requests may be repeated: reads and trials change nothing, and a push names the version that it replaces. Requests that
 * would take effect twice are sent once.
 *
 * @module
 */

import type * as v from "valibot";
import type { Immutable } from "../http/mod.ts";
import { type CliContext, CliError, type CliInput, exitOf, exits, type FlagSpec } from "./command.ts";

/** Longest time that a request may take, in ms. */
const requestMsMax = 30_000;
/** Most attempts of a request. */
const attemptsMax = 4;
/** Longest first pause between two attempts, in ms; it doubles with each. */
const firstPauseMsMax = 250;
/** Longest pause, in ms, even if the server asks for more. */
const pauseMsMax = 8_000;
/** Statuses after which a request is repeated. */
const transientStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Flags of commands about a space. */
export const spaceFlags: Readonly<Record<"url" | "space" | "key", FlagSpec>> = {
  url: {
    value: "url",
    description: "Address of the platform",
    variable: "GRANDSTAND_URL",
    required: true,
  },
  space: { value: "id", description: "The space", variable: "GRANDSTAND_SPACE", required: true },
  key: {
    value: "key",
    description: "API key; its secret is read from GRANDSTAND_API_SECRET",
    variable: "GRANDSTAND_API_KEY",
    required: true,
  },
};

/** Flags of commands about an organisation. */
export const organisationFlags: Readonly<Record<"url" | "organisation" | "key", FlagSpec>> = {
  url: spaceFlags.url,
  organisation: {
    value: "id",
    description: "The organisation",
    variable: "GRANDSTAND_ORGANISATION",
    required: true,
  },
  key: spaceFlags.key,
};

/** Options of a request. */
export interface ApiRequest {
  /** @default "GET" */
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses outside of 2xx that are no failures. @default [] */
  readonly expected?: readonly number[];
  /** False if it must be sent only once. @default true */
  readonly isRepeatable?: boolean;
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

/** A client of one server and space. */
export interface ApiClient {
  readonly url: string;
  readonly space: string;
  /** Sends a request. @throws {CliError} The server is unreachable, or refused it. */
  send<S extends v.GenericSchema>(path: string, ask?: ApiRequest): Promise<ApiAnswer<AnswerOf<S>>>;
}

/**
 * Creates the client for the flags of a command.
 *
 * @throws {CliError} Credentials must not be sent to this address, or the secret is missing.
 */
export function createApiClient({ flags }: CliInput, context: CliContext): ApiClient {
  const { timeLimit, secret } = context;
  const url = checkedUrl(flags.url ?? "");
  const { key = "", space = "" } = flags;
  if (secret === undefined || secret === "") {
    throw new CliError(
      exits.unauthenticated,
      "GRANDSTAND_API_SECRET must be set to the secret of the API key",
      {
        code: "missing_secret",
      },
    );
  }
  const credentials = { "x-api-key": key, "x-api-secret": secret };
  return {
    url,
    space: space.toLowerCase(),
    async send(path, ask = {}) {
      const { method = "GET", body, headers = {}, expected = [], isRepeatable = true } = ask;
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
          // A redirect would send the credentials elsewhere.
          redirect: "manual",
          signal: timeLimit(requestMsMax),
        });
      const attempts = isRepeatable ? attemptsMax : 1;
      const { response, text } = await sendWithRetries(request, context, attempts).catch((cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new CliError(exits.unavailable, `Cannot reach ${url}: ${reason}`, { code: "unreachable" });
      });
      const json = parsed(text);
      const { ok, status } = response;
      if (ok || expected.includes(status)) {
        return { status, etag: response.headers.get("etag"), json };
      }
      throw refusal(status, json, response.headers.get("x-request-id"));
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
  return new CliError(exits.failed, message, { code: "wrong_answer" });
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isLocal = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url === null || !(url.protocol === "https:" || (url.protocol === "http:" && isLocal))) {
    throw new CliError(exits.usage, "--url must be an https address, or an http one of this machine", {
      code: "wrong_url",
    });
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Retries with full jitter and `Retry-After` as a floor. Rejects with the error of the last attempt. */
async function sendWithRetries(
  request: () => Request,
  { fetch, pause, random }: CliContext,
  attempts: number,
): Promise<{ readonly response: Response; readonly text: string }> {
  for (let attempt = 1; ; attempt++) {
    const jitterMs = random() * Math.min(firstPauseMsMax * 2 ** (attempt - 1), pauseMsMax);
    try {
      const response = await fetch(request());
      const text = await response.text();
      if (attempt === attempts || !transientStatuses.has(response.status)) return { response, text };
      const seconds = Number(response.headers.get("retry-after") ?? 0);
      const floorMs = Number.isFinite(seconds) ? seconds * 1_000 : 0;
      await pause(Math.min(Math.max(jitterMs, floorMs), pauseMsMax));
    } catch (error) {
      if (attempt === attempts) throw error;
      await pause(jitterMs);
    }
  }
}

function parsed(text: string) {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** An error document of JSON:API, of RFC 9457, or of identity. */
interface ErrorBody {
  readonly message?: string;
  readonly data?: { readonly code?: string };
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly {
    readonly code?: string;
    readonly detail?: string;
    readonly pointer?: string;
    readonly source?: { readonly pointer?: string; readonly parameter?: string };
  }[];
}

function refusal(status: number, json: unknown, requestId: string | null): CliError {
  const body = (typeof json === "object" && json !== null ? json : {}) as ErrorBody;
  const [first] = body.errors ?? [];
  const code = body.code ?? first?.code ?? body.data?.code ?? `http_${status}`;
  const message = body.detail ?? first?.detail ?? body.message ?? `The server answered ${status}`;
  const details = (body.errors ?? []).flatMap(({ detail = "", pointer, source }) => {
    const position = pointer ?? source?.pointer ?? source?.parameter;
    return position === undefined ? [] : [`${position}: ${detail}`];
  });
  return new CliError(exitOf(status), details.length > 1 ? "The server found errors" : message, {
    code,
    status,
    details,
    ...(requestId === null ? {} : { requestId }),
  });
}
