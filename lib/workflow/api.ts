/** The control API with the rights of the person who runs the dialogue. */

import type { Fetch } from "../auth/remote_issuers/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import { present } from "../base/text/present.ts";
import { environmentOf } from "../client/environment.ts";
import { GrandstandError } from "../client/errors.ts";
import { readJson, send } from "../client/transport.ts";

const answerMsMax = 30_000;
const jsonApiType = "application/vnd.api+json";
const atomicType = `${jsonApiType};ext="https://jsonapi.org/ext/atomic"`;

/** One fault that the control API names. */
export interface ControlFault {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string };
  readonly meta?: unknown;
}

/** The control API refused a request. */
export class ControlError extends Error {
  override readonly name = "ControlError";
  readonly status: number;
  readonly faults: readonly ControlFault[];
  /** The refusal in words for the person who runs the dialogue. */
  readonly safeMessage: string;

  constructor(request: string, status: number, faults: readonly ControlFault[]) {
    const texts = faults.flatMap(({ detail, title }) => detail ?? title ?? []);
    const safeMessage =
      status === 401
        ? "Your permission for this has ended: start again"
        : texts.slice(0, 3).join(" · ") || `The platform refused this (${status})`;
    super(`${request} was answered with ${status}`);
    this.status = status;
    this.faults = faults;
    this.safeMessage = safeMessage;
  }
}

/** An operation of an atomic request (`https://jsonapi.org/ext/atomic`). */
export interface AtomicOperation {
  readonly op: "add" | "update" | "remove";
  readonly [member: string]: unknown;
}

/**
 * A client of the control API. Paths begin below `/api/v2`, such as `/events/{id}`. Every method returns the parsed answer, or null
 * where it has no body.
 *
 * @throws {ControlError} The platform refused the request.
 * @throws {AppError} `provider_unavailable`: no answer; a change may have taken effect.
 */
export interface ControlClient {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: unknown, options?: ControlCallOptions): Promise<T>;
  patch<T>(path: string, body: unknown, options?: ControlCallOptions): Promise<T>;
  delete<T>(path: string, options?: ControlCallOptions): Promise<T>;
  /** Sends operations that take effect together or not at all, and returns their results. */
  atomic<T>(operations: readonly AtomicOperation[], options?: ControlCallOptions): Promise<T>;
}

/** Options of a change. */
export interface ControlCallOptions {
  /** Repetitions with the same key have no second effect. */
  readonly idempotencyKey?: string;
  /** Tag that the record must still have. */
  readonly ifMatch?: string;
}

interface ControlClientOptions {
  readonly baseURL: string;
  readonly fetch: Fetch;
  readonly token: () => string;
  /** Returns another token after one was refused; null if there is none. @default none */
  readonly renew?: (refused: string) => Promise<string | null>;
  /** Ends requests. @default never */
  readonly signal?: AbortSignal;
}

export function createControlClient(client: ControlClientOptions): ControlClient {
  const request = <T>(method: string, path: string, more: Partial<ControlCall> = {}) =>
    call(client, { method, path, type: jsonApiType, ...more }) as Promise<T>;
  return {
    get: path => request("GET", path),
    post: (path, body, options = {}) => request("POST", path, { body, ...options }),
    patch: (path, body, options = {}) => request("PATCH", path, { body, ...options }),
    delete: (path, options = {}) => request("DELETE", path, options),
    atomic: (operations, options = {}) =>
      request("POST", "/operations", {
        type: atomicType,
        body: { "atomic:operations": operations },
        ...options,
      }),
  };
}

interface ControlCall extends ControlCallOptions {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body?: unknown;
}

async function call(client: ControlClientOptions, request: ControlCall): Promise<unknown> {
  const token = client.token();
  try {
    return await ask(client, request, token);
  } catch (error) {
    const isRefused = error instanceof ControlError && error.status === 401;
    const renewed = isRefused ? ((await client.renew?.(token)) ?? null) : null;
    if (renewed === null) throw error;
    return await ask(client, request, renewed);
  }
}

async function ask(
  { baseURL, fetch, signal }: ControlClientOptions,
  { method, path, type, body, idempotencyKey, ifMatch }: ControlCall,
  token: string,
): Promise<unknown> {
  const outgoing = {
    method,
    url: addressOf(baseURL, path),
    headers: present({
      accept: type,
      authorization: `Bearer ${token}`,
      "content-type": body === undefined ? undefined : type,
      "idempotency-key": idempotencyKey,
      "if-match": ifMatch,
    }),
    body: JSON.stringify(body),
    signal,
    timeoutMs: answerMsMax,
    attemptsMax: 1,
    isRepeatable: false,
  };
  try {
    return (await send(outgoing, readJson, environmentOf({ fetch }))).content ?? null;
  } catch (error) {
    if (!(error instanceof GrandstandError)) throw error;
    if (error.status < 300) throw unavailable(error);
    const { errors } = (error.cause ?? {}) as { readonly errors?: unknown };
    throw new ControlError(`${method} ${path}`, error.status, Array.isArray(errors) ? errors : []);
  }
}

/** Returns the address of a path. An id in it must not lead out of the control API. */
function addressOf(baseURL: string, path: string): string {
  const root = new URL(`${baseURL}/api/v2/`);
  const url = new URL(`${baseURL}/api/v2${path}`);
  if (path.startsWith("/") && url.origin === root.origin && url.pathname.startsWith(root.pathname))
    return url.href;
  throw new TypeError(`Cannot call ${path}: a path of the control API begins with a slash and stays in it`);
}

function unavailable(cause: unknown): AppError {
  return new AppError("provider_unavailable", "Cannot ask the platform now: try again later", { cause });
}
