/** A client of one platform, with a method for each operation of the areas that it is given. */

import type { Answer, Area, CallOptions, WholeAnswer } from "./area.ts";
import type { Credentials } from "./credentials.ts";
import { type ClientEnvironment, canStream, environmentOf } from "./environment.ts";
import { badAnswer, GrandstandError } from "./errors.ts";
import { documents, poll, watch } from "./live.ts";
import { type CallInput, entriesOf, nextInput } from "./pages.ts";
import { jsonLines } from "./streams.ts";
import { isStream, type Outgoing, type ReadContent, readJson, send } from "./transport.ts";

/** Longest time for an attempt, in ms. */
const timeoutMsDefault = 15_000;
const attemptsMaxDefault = 4;

/** Areas by the names that they have on a client. */
export type Areas = Readonly<Record<string, Area<unknown>>>;

/** The operations of areas, by the names of the areas. */
export type Client<A extends Areas> = {
  readonly [N in keyof A]: A[N] extends Area<infer O> ? O : never;
};

/** Options of a client. */
export interface ClientOptions<A extends Areas> extends Partial<ClientEnvironment> {
  /** Address of the platform, with its base path if it has one. */
  readonly url: string;
  /** The areas that the client has: `{ loyalty, leaderboards }`. */
  readonly areas: A;
  /** Credentials of the calls. @default none are sent */
  readonly credentials?: Credentials;
  /** Organisation of the audience API, which names it in each request. */
  readonly organisationId?: string;
  /** Longest time for an attempt, in ms. @default 15000 */
  readonly timeoutMs?: number;
  /** Most attempts of a call that may be repeated. @default 4 */
  readonly attemptsMax?: number;
}

/**
 * Creates a client.
 *
 * @throws {TypeError} The address is no URL of http or https.
 * @example
 * ```ts
 * import { apiKey, createClient, leaderboards } from "grandstand/client";
 *
 * const client = createClient({
 *   url: "https://api.club.example",
 *   areas: { leaderboards },
 *   credentials: apiKey("key", "secret"),
 * });
 * const board = { projectId: "0c000000-0000-4000-8000-000000000001", leaderboardId: "overall" };
 * for (const { rank, userId } of await client.leaderboards.listProjectLeaderboard(board)) {
 *   console.log(rank, userId);
 * }
 * ```
 */
export function createClient<A extends Areas>(options: ClientOptions<A>): Client<A> {
  if (!/^https?:\/\/[^/]/.test(options.url))
    throw new TypeError("The option url must be a URL of http or https");
  const caller = new Caller(options);
  const areas = Object.entries(options.areas).map(([name, { rows }]) => [
    name,
    Object.fromEntries(
      Object.entries(rows).map(([operation, row]) => [
        operation,
        (input: CallInput = {}, own: CallOptions = {}) => caller.call(operation, row, { input, own }),
      ]),
    ),
  ]);
  return Object.fromEntries(areas) as Client<A>;
}

interface CallParts {
  readonly input: CallInput;
  readonly own: CallOptions;
}

type Build = (input: CallInput) => Outgoing;

class Caller {
  readonly #options: ClientOptions<Areas>;
  readonly #environment: ClientEnvironment;
  readonly #base: string;

  constructor(options: ClientOptions<Areas>) {
    this.#options = options;
    this.#environment = environmentOf(options);
    this.#base = options.url.replace(/\/+$/, "");
  }

  /** Begins a call of the form that its row asks for. */
  call(operation: string, row: string, { input, own }: CallParts): unknown {
    const [method = "", path = "", flags = ""] = row.split(" ");
    const build: Build = given => this.#requestOf({ operation, method, path, flags }, { input: given, own });
    if (flags.includes("e")) return this.#watch(() => build(input), flags, own);
    if (flags.includes("l")) return this.#lines(() => build(input), flags);
    const read = flags.includes("w") ? async (response: Response) => response : readJson;
    return this.#answer(
      async given => await this.#send(build(given), flags, read),
      input,
      flags.includes("n"),
    );
  }

  #answer(
    ask: (input: CallInput) => Promise<WholeAnswer<unknown>>,
    input: CallInput,
    byOffset: boolean,
  ): Answer<unknown, unknown> {
    const first = ask(input);
    const answer = first.then(({ document }) => contentOf(document));
    return Object.assign(answer, {
      // The error is one of `answer`, so that it is reported once.
      whole: () => answer.then(() => first),
      async *[Symbol.asyncIterator]() {
        await answer;
        let { document } = await first;
        for (let next: CallInput | null = input; ; ) {
          yield* entriesOf(document);
          next = nextInput(next, document, byOffset);
          if (next === null) return;
          ({ document } = await ask(next));
        }
      },
    });
  }

  #watch(build: () => Outgoing, flags: string, own: CallOptions): AsyncGenerator<unknown> {
    const read = async () => (await this.#send(build(), flags, readJson)).document;
    if (own.polls === true || !canStream(this.#options)) return poll(read, this.#environment, own);
    const open = async (headers: Readonly<Record<string, string>>, connection: AbortSignal) => {
      const request = build();
      const event = { accept: "text/event-stream", ...headers };
      const asked = {
        ...request,
        headers: { ...request.headers, ...event },
        signal: connection,
        attemptsMax: 1,
      };
      const { document } = await this.#send(asked, flags, async response => {
        const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
        if (isStream !== true) throw badAnswer("The answer of the server is no event stream", response);
        return response;
      });
      return document as Response;
    };
    const events = watch({ open, read }, this.#environment, own);
    return flags.includes("m") ? documents(events) : events;
  }

  async *#lines(build: () => Outgoing, flags: string): AsyncGenerator<unknown> {
    const { document } = await this.#send(build(), flags, async response => response);
    yield* jsonLines(document as Response);
  }

  /** Sends a request with credentials, and once more with others if the server takes these no longer. */
  async #send(request: Outgoing, flags: string, read: ReadContent<unknown>): Promise<WholeAnswer<unknown>> {
    const { credentials } = this.#options;
    for (let isRenewed = false; ; isRenewed = true) {
      const held = "authorization" in request.headers ? {} : ((await credentials?.headers(flags)) ?? {});
      try {
        const asked = { ...request, headers: { ...held, ...request.headers } };
        const { content, ...rest } = await send(asked, read, this.#environment);
        return { ...rest, document: content };
      } catch (error) {
        const isRefused = error instanceof GrandstandError && error.status === 401 && !isRenewed;
        if (!isRefused || isStream(request.body) || Object.keys(held).length === 0) throw error;
        if ((await credentials?.renew?.(flags, held)) !== true) throw error;
      }
    }
  }

  #requestOf({ operation, method, path, flags }: Operation, { input, own }: CallParts): Outgoing {
    const { body: given, ...rest } = input;
    const parameters: Record<string, unknown> = rest;
    const { organisationId, timeoutMs = timeoutMsDefault, attemptsMax = attemptsMaxDefault } = this.#options;
    const address = path.replace(/:(\w+)/g, (_, name: string) => {
      const value = String(parameters[name] ?? "");
      delete parameters[name];
      // The URL standard removes segments of dots, also encoded ones.
      if (/^\.{0,2}$/.test(value))
        throw new TypeError(`Cannot call ${operation} without the parameter ${name}`);
      return encodeURIComponent(value);
    });
    const body = flags.includes("d") ? withActionId(given, this.#environment) : given;
    const key = flags.includes("i")
      ? { "idempotency-key": own.idempotencyKey ?? this.#environment.uniqueId() }
      : {};
    const organisation =
      flags.includes("o") && organisationId !== undefined ? { "x-platform-org-id": organisationId } : {};
    const content = flags.includes("b") ? (body as BodyInit) : JSON.stringify(body);
    return {
      method,
      url: this.#base + address + queryText(parameters),
      headers: {
        accept: "application/vnd.api+json, application/json",
        ...(body === undefined || flags.includes("b") ? {} : { "content-type": "application/json" }),
        ...key,
        ...organisation,
        ...own.headers,
      },
      ...(content === undefined ? {} : { body: content }),
      signal: own.signal,
      timeoutMs: own.timeoutMs ?? timeoutMs,
      attemptsMax: isStream(content) ? 1 : (own.attemptsMax ?? attemptsMax),
      isRepeatable:
        !flags.includes("1") &&
        (method !== "POST" || /[ird]/.test(flags)) &&
        (method !== "PATCH" || flags.includes("i")),
    };
  }
}

interface Operation {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly flags: string;
}

function withActionId(body: unknown, { uniqueId }: ClientEnvironment): unknown {
  return typeof body === "object" && body !== null ? { actionId: uniqueId(), ...body } : body;
}

function queryText(parameters: CallInput): string {
  // React Native's URLSearchParams lacks most of its methods.
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** A call resolves to the `data` of the document. */
function contentOf(document: unknown): unknown {
  const isEnvelope = typeof document === "object" && document !== null && "data" in document;
  return isEnvelope ? document.data : document;
}
