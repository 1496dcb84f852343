/**
 * JSON from servers of others, which are down, slow or hostile one day: every answer is bounded in time and size, and no
 * redirect is followed, because a server must not choose whom this one calls.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { fromUtf8 } from "../crypto/encoding.ts";

/** How long a server may take until its answer is complete, in ms. */
export const remoteMsMax = 3_000;
/** Largest answer of a server, in bytes: 256 KiB. */
export const remoteBytesMax = 262_144;
/** After how long whoever met a broken or unreachable provider may try again, in ms. */
export const providerRetryMs = 5_000;

/** Most causes of a failed request that are told. */
const reasonsMax = 4;

/** Sends a request, as the global `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
/** A signal that aborts after this many ms, as `AbortSignal.timeout` does. */
export type Deadline = (ms: number) => AbortSignal;

/** What JSON of others is fetched with. */
export interface RemoteJsonOptions {
  /** @default fetch */
  readonly fetch?: Fetch;
  /** @default AbortSignal.timeout */
  readonly deadline?: Deadline;
}

/** What a server answered; `json` is undefined unless the status is 200. */
export interface RemoteAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Fetches JSON. */
export interface RemoteJson {
  /**
   * The answer to a GET.
   *
   * @throws {AppError} `provider_unavailable`: no answer in time, or one with status 429 or 5xx. `provider_error`: a
   * redirect, more than {@linkcode remoteBytesMax} bytes, or a 200 that is no JSON.
   */
  get(url: URL, headers?: Readonly<Record<string, string>>): Promise<RemoteAnswer>;
}

/** Creates what fetches JSON. */
export function createRemoteJson({
  fetch: send = globalFetch,
  deadline,
}: RemoteJsonOptions = {}): RemoteJson {
  const startDeadline = deadline ?? (ms => AbortSignal.timeout(ms));
  async function request(url: URL, headers: Readonly<Record<string, string>>): Promise<RemoteAnswer> {
    const response = await send(url.href, {
      headers: { accept: "application/json", ...headers },
      redirect: "manual",
      signal: startDeadline(remoteMsMax),
    });
    const { status } = response;
    if (status === 200) return { status, json: parsed(await readBounded(response)) };
    await response.body?.cancel();
    if (status === 429 || status >= 500) throw providerUnavailable(`status ${status}`);
    if (status < 400) throw providerError(`status ${status}`);
    return { status, json: undefined };
  }
  return {
    async get(url, headers = {}) {
      try {
        return await request(url, headers);
      } catch (error) {
        throw error instanceof AppError ? error : providerUnavailable(reasonOf(error));
      }
    },
  };
}

/** @returns The error for a provider that cannot be reached or has troubles of its own. */
export function providerUnavailable(cause: unknown): AppError {
  return new AppError("provider_unavailable", "Cannot ask the identity provider now: try again later", {
    cause,
    retryAfterMs: providerRetryMs,
  });
}

/** @returns The error for a provider whose answer makes no sense. */
export function providerError(cause: unknown): AppError {
  return new AppError("provider_error", "Cannot use the answer of the identity provider: try again later", {
    cause,
  });
}

/** An address, of which the origin is no secret. */
const addresses = /\b(https?:\/\/[^\s/?#)]+)[^\s)]*/g;

/** Why a request failed. Some runtimes repeat its address, and a query may be a user's token, so only origins stay. */
function reasonOf(error: unknown): Error {
  const reasons: string[] = [];
  for (let at = error; at instanceof Error && reasons.length < reasonsMax; at = at.cause)
    reasons.push(`${at.name}: ${at.message}`);
  return new Error(reasons.join("; caused by ").replace(addresses, "$1"));
}

function globalFetch(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, init);
}

async function readBounded(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    length += next.value.length;
    if (length > remoteBytesMax) {
      await reader?.cancel();
      throw providerError("too large");
    }
    chunks.push(next.value);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(fromUtf8(bytes));
  } catch {
    throw providerError("no JSON");
  }
}
