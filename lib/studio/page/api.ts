/** The client of the platform in the page. It has the access token, and lets the user sign in when that ends. */

/** A resource object of the control API. */
export interface Resource {
  readonly type: string;
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A document of the control API. */
export interface Document<D = Resource> {
  readonly data: D;
  readonly included?: readonly Resource[];
  readonly links?: { readonly next?: string | null };
}

/** A failed request. Its message is for the user. */
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
  /** @default "application/vnd.api+json" */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Longest time for the whole answer, in ms. @default none */
  readonly msMax?: number;
}

/** Most characters of an explanation by the server that are shown. */
const detailCharactersMax = 300;

const meanings: Readonly<Record<number, string>> = {
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

  /** @param signIn Called when there is no valid token; resolves when there is another one. */
  constructor(base: string, signIn: () => Promise<void>) {
    this.base = base;
    this.#signIn = signIn;
  }

  /** The access token, for as long as the tab is open. */
  get token(): string {
    return sessionStorage.getItem(`token of ${this.base}`) ?? "";
  }

  set token(token: string) {
    sessionStorage.setItem(`token of ${this.base}`, token);
  }

  /** Reads a document of the control API. @throws {RequestError} It could not be read. */
  async get<D = Resource>(path: string, signal: AbortSignal): Promise<Document<D>> {
    return (await accepted(await this.call(`/api/v2${path}`, { signal }))) as Document<D>;
  }

  /** Sends a request with the token, and again once the user has signed in anew. @throws {RequestError} No answer arrived. */
  async call(path: string, options: CallOptions = {}): Promise<Response> {
    for (;;) {
      if (this.token === "") await this.#signIn();
      const { token } = this;
      const headers = { ...options.headers, authorization: `Bearer ${token}` };
      const response = await this.send(path, { ...options, headers });
      if (response.status !== 401) return response;
      if (this.token === token) this.token = "";
    }
  }

  /** Sends a request as it is. @throws {RequestError} No answer arrived. */
  async send(path: string, options: CallOptions): Promise<Response> {
    const { method = "GET", body, mediaType = "application/vnd.api+json", signal, msMax } = options;
    const headers = { accept: mediaType, "content-type": mediaType, ...options.headers };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const limits = [signal ?? [], msMax === undefined ? [] : AbortSignal.timeout(msMax)].flat();
    const plain = { cache: "no-store", credentials: "omit", redirect: "error" } as const;
    try {
      return await fetch(this.base + path, {
        ...plain,
        method,
        headers,
        ...content,
        signal: AbortSignal.any(limits),
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new RequestError(0, "The platform cannot be reached. Check your connection.");
    }
  }
}

interface Refusal {
  readonly errors?: readonly Refusal[];
  readonly detail?: unknown;
}

/** Returns the document of an answer. @throws {RequestError} It is a refusal. */
export async function accepted(response: Response): Promise<unknown> {
  const { ok, status, headers } = response;
  const document = (await response.json().catch(() => null)) as Refusal | null;
  if (ok && document !== null) return document;
  const detail = status === 404 ? "" : (document?.errors?.[0]?.detail ?? document?.detail ?? "");
  const general = status < 500 ? "The platform refused the request." : "The platform has a problem.";
  const message = `${meanings[status] ?? general} ${String(detail).slice(0, detailCharactersMax)}`.trim();
  throw new RequestError(status, message, (Number(headers.get("retry-after")) || 0) * 1_000);
}

/** Returns a text attribute of a resource, or "" if it has none. */
export function textOf({ attributes }: Resource, name: string): string {
  const value = attributes[name];
  return typeof value === "string" ? value : "";
}
