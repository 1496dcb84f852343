/**
 * How commands talk to a server: with an API key, to one address, and with every failure as a {@linkcode CliError}.
 *
 * @module
 */

import { type Attempts, answered } from "./attempts.ts";
import { type CliContext, CliError, type CommandInput, type FlagSpec } from "./command.ts";
import { exitOf, exits } from "./exits.ts";

/** Longest time that a request may take, in ms. */
export const requestMsMax = 30_000;

/** Flags of every command that talks to a server about a space. */
export const serverFlags: Readonly<Record<"url" | "space" | "key", FlagSpec>> = {
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

/** One request. */
export interface Ask {
  /** @default "GET" */
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are answers rather than failures, beside 2xx. @default [] */
  readonly expected?: readonly number[];
  /** Whether it may be sent again where it may have arrived before. @default true */
  readonly isRepeatable?: boolean;
}

/** An answer. */
export interface Told {
  readonly status: number;
  readonly etag: string | null;
  /** The parsed body; null where there is none. */
  readonly json: unknown;
}

/** A server with the space that a command is about. */
export interface Server {
  readonly url: string;
  readonly space: string;
  /** @throws {CliError} The server could not be reached, or refused. */
  ask(path: string, ask?: Ask): Promise<Told>;
}

/**
 * Opens the server that the flags of a command name.
 *
 * @throws {CliError} The address is not one that credentials may be sent to, or the secret is missing.
 */
export function serverOf({ flags }: CommandInput, context: CliContext): Server {
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
    async ask(path, { method = "GET", body, headers = {}, expected = [], isRepeatable = true } = {}) {
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
          // A redirect would take the credentials elsewhere.
          redirect: "manual",
          signal: timeLimit(requestMsMax),
        });
      return await told(request, { context, expected, url, ...(isRepeatable ? {} : { attempts: 1 }) });
    },
  };
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

interface Conversation extends Attempts {
  readonly context: CliContext;
  readonly expected: readonly number[];
  readonly url: string;
}

async function told(
  request: () => Request,
  { context, expected, url, ...more }: Conversation,
): Promise<Told> {
  const { response, text } = await answered(request, { ...context, ...more }).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CliError(exits.unavailable, `Cannot reach ${url}: ${why}`, { code: "unreachable" });
  });
  const json = parsed(text);
  const { status } = response;
  if ((status >= 200 && status < 300) || expected.includes(status)) {
    return { status, etag: response.headers.get("etag"), json };
  }
  throw refusal(status, json, response.headers.get("x-request-id"));
}

function parsed(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** An error as the platform writes it: of JSON:API, or RFC 9457. */
interface ErrorBody {
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
  const code = body.code ?? first?.code ?? `http_${status}`;
  const message = body.detail ?? first?.detail ?? `The server answered ${status}`;
  const details = (body.errors ?? []).flatMap(({ detail = "", pointer, source }) => {
    const place = pointer ?? source?.pointer ?? source?.parameter;
    return place === undefined ? [] : [`${place}: ${detail}`];
  });
  return new CliError(exitOf(status), details.length > 1 ? "The server found errors" : message, {
    code,
    status,
    details,
    ...(requestId === null ? {} : { requestId }),
  });
}
