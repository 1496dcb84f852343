/**
 * The client of the platform in the page. It has the access token, asks the user to sign in when it ends, and goes on afterwards.
 *
 * @module
 */

/** A resource object of the control API. */
export interface Resource {
  readonly type: string;
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, { readonly data?: unknown }>>;
}

/** A document of the control API. */
export interface Document<D> {
  readonly data: D;
  readonly included?: readonly Resource[];
  readonly links?: { readonly next?: string | null };
}

/** A failed request; `message` is for the user. */
export class RequestError extends Error {
  /** HTTP status; 0: no answer arrived. */
  readonly status: number;
  /** Time to wait before the next try, in ms. */
  readonly retryAfterMs: number;

  constructor(status: number, message: string, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Options of a request. */
export interface CallOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Most characters of an explanation by the server that are shown. */
const detailCharactersMax = 300;

const meanings: Readonly<Record<number, string>> = {
  0: "The platform cannot be reached. Check your connection.",
  401: "Your access token is not valid, or it has ended.",
  403: "Your role does not allow this.",
  404: "There is nothing here, or you have no role that shows it.",
  429: "Too many requests at once. Wait a moment.",
};

/** Talks to one platform. */
export class Api {
  /** Address of the platform, without a slash at its end. */
  readonly base: string;
  readonly #signIn: () => Promise<void>;
  readonly #key: string;

  /** @param signIn Called when a request lacks a valid token; resolves when there is another one. */
  constructor(base: string, signIn: () => Promise<void>) {
    this.base = base;
    this.#signIn = signIn;
    this.#key = `token of ${base}`;
  }

  /** The access token, for as long as the tab is open. */
  get token(): string | null {
    return sessionStorage.getItem(this.#key);
  }

  set token(token: string | null) {
    if (token === null) sessionStorage.removeItem(this.#key);
    else sessionStorage.setItem(this.#key, token);
  }

  /**
   * Reads a document of the control API.
   *
   * @throws {RequestError} It could not be read.
   */
  async get<D = Resource>(path: string, signal?: AbortSignal): Promise<Document<D>> {
    const response = await this.call(`/api/v2${path}`, signal === undefined ? {} : { signal });
    if (!response.ok) throw await failureOf(response);
    return (await response.json()) as Document<D>;
  }

  /** Sends a request with the token, and once more after the user has signed in again. @throws {RequestError} There is no answer. */
  async call(path: string, options: CallOptions = {}): Promise<Response> {
    if (this.token === null) await this.#signIn();
    const token = this.token;
    const first = await this.send(path, { ...options, headers: withToken(options, token) });
    if (first.status !== 401) return first;
    if (this.token === token) {
      this.token = null;
      await this.#signIn();
    }
    return await this.send(path, { ...options, headers: withToken(options, this.token) });
  }

  /** Sends a request as it is. @throws {RequestError} There is no answer. */
  async send(
    path: string,
    { method = "GET", body, mediaType, headers, signal }: CallOptions,
  ): Promise<Response> {
    const type = mediaType ?? "application/vnd.api+json";
    try {
      return await fetch(this.base + path, {
        method,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        headers: { accept: type, ...(body === undefined ? {} : { "content-type": type }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new RequestError(0, meanings[0] ?? "");
    }
  }
}

function withToken({ headers }: CallOptions, token: string | null): Readonly<Record<string, string>> {
  return { ...headers, authorization: `Bearer ${token ?? ""}` };
}

/** Returns the error that a refusing answer stands for. */
export async function failureOf(response: Response): Promise<RequestError> {
  const { status, headers } = response;
  const text = await response.text().catch(() => "");
  const said = status === 404 ? "" : detailIn(text);
  const general = status >= 500 ? "The platform has a problem." : "The platform refused the request.";
  const message = [meanings[status] ?? general, said].filter(part => part !== "").join(" ");
  const seconds = Number(headers.get("retry-after") ?? 0);
  return new RequestError(status, message, Number.isFinite(seconds) ? seconds * 1_000 : 0);
}

function detailIn(text: string): string {
  try {
    const { errors, detail } = JSON.parse(text) as Record<"errors" | "detail", unknown>;
    const found = Array.isArray(errors) ? (errors[0] as { readonly detail?: unknown }).detail : detail;
    return typeof found === "string" ? found.slice(0, detailCharactersMax) : "";
  } catch {
    return "";
  }
}

/** Returns a text attribute of a resource, or "" if it has none. */
export function textOf({ attributes }: Resource, name: string): string {
  const value = attributes[name];
  return typeof value === "string" ? value : "";
}
