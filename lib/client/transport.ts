/**
 * Sends requests to one platform: bounds each attempt in time and size, follows no redirects, and repeats what may be
 * repeated.
 */

import { parsedJson } from "../base/json/mod.ts";
import { type ClientEnvironment, pause } from "./environment.ts";
import { badAnswer, GrandstandError, refusalOf } from "./errors.ts";
import { textOf } from "./streams.ts";

/** Longest first pause between two attempts, in ms; it doubles with each. */
const firstPauseMsMax = 250;
/** Longest pause, in ms. A server that asks for more ends the call, unless `retryAfterMsMax` cuts it. */
const pauseMsMax = 10_000;

export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: BodyInit | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest time for each attempt, in ms. */
  readonly timeoutMs: number;
  /** Longest pause that a server may ask for, in ms; longer ones are cut. @default unlimited */
  readonly retryAfterMsMax?: number;
  readonly attemptsMax: number;
  /** False: it is repeated only if the server refused it before it had an effect. */
  readonly isRepeatable: boolean;
}

export interface Received<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly content: T;
}

/** Reads the content of a good answer. @throws {GrandstandError} It is none of this API. */
export type ReadContent<T> = (response: Response) => Promise<T>;

/** Sends a request. @throws {GrandstandError} It failed, after the last attempt. */
export async function send<T>(
  request: Outgoing,
  read: ReadContent<T>,
  environment: ClientEnvironment,
): Promise<Received<T | undefined>> {
  const { method, attemptsMax, isRepeatable, signal, retryAfterMsMax = Infinity } = request;
  let isUncertain = false;
  for (let attempt = 1; ; attempt++) {
    const error = await attemptOnce(request, read, environment).catch(thrown => thrown);
    if (!(error instanceof GrandstandError)) {
      if (error instanceof Error) throw error;
      return error;
    }
    // An earlier attempt removed it, and its answer was lost.
    if (isUncertain && method === "DELETE" && error.code === "not_found") {
      return { status: error.status, headers: new Headers(), content: undefined };
    }
    const waits = Math.max(
      Math.min(error.retryAfterMs, retryAfterMsMax),
      environment.random() * Math.min(firstPauseMsMax * 2 ** (attempt - 1), pauseMsMax),
    );
    const isWorthIt = isRepeatable ? isTransient(error) : wasRefused(error);
    if (attempt >= attemptsMax || !isWorthIt || waits > pauseMsMax) throw error;
    isUncertain ||= !wasRefused(error);
    await pause(environment, waits, signal);
  }
}

/** Too many attempts, as of a password, are the user's. */
function isTransient({ code, retryable, status }: GrandstandError): boolean {
  return retryable && code !== "too_many_attempts" && code !== "conflict" && status !== 500;
}

/** The server, or a proxy that counts requests, says that nothing was done. */
function wasRefused({ code, status }: GrandstandError): boolean {
  return code === "rate_limited" || code === "busy" || (code === "bad_answer" && status === 429);
}

async function attemptOnce<T>(
  request: Outgoing,
  read: ReadContent<T>,
  { fetch, timer }: ClientEnvironment,
): Promise<Received<T | undefined>> {
  const { method, url, headers, body, signal, timeoutMs } = request;
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  const cancel = timer(abort, timeoutMs);
  // React Native and older browsers have no AbortSignal.any.
  signal?.addEventListener("abort", abort);
  if (signal?.aborted === true) abort();
  let isOpen = false;
  try {
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(isStream(body) ? { duplex: "half" } : {}),
      signal: limit.signal,
      // A redirect would send the credentials elsewhere.
      redirect: "manual",
      credentials: "omit",
      ...(hasCache() ? { cache: "no-store" } : {}),
    } as RequestInit);
    const { status } = response;
    // 304 answers a condition of the caller: what it has is still right.
    if (response.ok || status === 304) {
      const content = await read(response);
      isOpen = content === response;
      return { status, headers: response.headers, content };
    }
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      throw badAnswer("The server redirects to another address, which is not followed", response);
    }
    throw refusalOf(response, parsedJson(await textOf(response)));
  } catch (error) {
    if (error instanceof GrandstandError) throw error;
    if (signal?.aborted === true)
      throw new GrandstandError("aborted", "The call was aborted", { cause: error });
    const isLate = limit.signal.aborted;
    const message = isLate
      ? `No answer arrived in ${timeoutMs} ms`
      : "The platform cannot be reached, or the connection broke off";
    throw new GrandstandError(isLate ? "timeout" : "network", message, { cause: error, retryable: true });
  } finally {
    cancel();
    // The caller's signal ends a stream later on, too.
    if (!isOpen) signal?.removeEventListener("abort", abort);
  }
}

/** Recognises a body that can be sent only once. */
export function isStream(body: unknown): boolean {
  return typeof (body as Partial<ReadableStream> | null | undefined)?.getReader === "function";
}

/** Workers throw at the option if they do not know it, and React Native adds a parameter to the address. */
function hasCache(): boolean {
  return "cache" in ((globalThis as Partial<typeof globalThis>).Request?.prototype ?? {});
}

/** Reads a document of JSON; undefined for an empty body. @throws {GrandstandError} It is something else, or an error. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await textOf(response);
  if (text === "") return undefined;
  const document = parsedJson(text);
  if (document === undefined) throw badAnswer("The answer of the server is no JSON", response);
  const isError =
    typeof document === "object" &&
    document !== null &&
    ("errors" in document || (document as { result?: unknown }).result === 0);
  if (isError) throw refusalOf(response, document);
  return document;
}
