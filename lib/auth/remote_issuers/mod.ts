/** Tokens of other issuers, and bounded requests to their servers. */

import type {
  createRemoteJWKSet,
  FetchImplementation,
  JWTPayload,
  JWTVerifyOptions,
  JWTVerifyResult,
  ProtectedHeaderParameters,
} from "jose";
import { AppError } from "../../base/errors/mod.ts";
import { CircuitBreaker, providerUnavailable } from "../../base/outbound/outbound.ts";
import { isLoopback } from "../../base/text/mod.ts";
import { type Logger, silentLogger } from "../../http/mod.ts";
import { Cache } from "../../storage/background/mod.ts";
import type { Clock } from "../crypto/mod.ts";
import { loadJose } from "../tokens/jose.ts";
import { clockSkewSecondsMax } from "../tokens/key_ring.ts";
import { invalidToken, lastSecond, tokenCharsMax } from "../tokens/mod.ts";

const requestMsMax = 3_000;
const answerBytesMax = 262_144;
const urlCharactersMax = 512;
/** Most causes of a failed request that its error keeps. */
const reasonsMax = 4;

/** Sends a request, like the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
/** Creates a signal that aborts after this many ms, like `AbortSignal.timeout`. */
export type Deadline = (ms: number) => AbortSignal;

export interface RemoteFetchOptions {
  /** @default fetch */
  readonly fetch?: Fetch;
  /** @default AbortSignal.timeout */
  readonly deadline?: Deadline;
}

/**
 * Sends a GET request, or a POST of a form. The answer is complete, and its status is 200 or one that refuses the request.
 *
 * @throws {AppError} `provider_unavailable`: no answer within 3 s, or status 429 or 5xx; `provider_error`: a redirect, or more
 * than 256 KiB.
 */
export type RemoteFetch = (url: string, headers?: HeadersInit, form?: URLSearchParams) => Promise<Response>;

export function createRemoteFetch(options: RemoteFetchOptions = {}): RemoteFetch {
  const { fetch: send = globalFetch, deadline = timeoutSignal } = options;
  return async (url, given = {}, form) => {
    const headers = { accept: "application/json", ...Object.fromEntries(new Headers(given)) };
    try {
      const posted = form === undefined ? {} : { method: "POST", body: form };
      const signal = deadline(requestMsMax);
      const response = await send(url, { ...posted, headers, redirect: "manual", signal });
      const { status } = response;
      if (status === 200) return new Response(await readBounded(response));
      await response.body?.cancel();
      if (status === 429 || status >= 500) throw providerUnavailable(`status ${status}`);
      if (status < 400) throw providerError(`status ${status}`);
      return new Response(null, { status });
    } catch (error) {
      throw error instanceof AppError ? error : providerUnavailable(reasonOf(error));
    }
  };
}

/**
 * Reads an answer as JSON.
 *
 * @throws {AppError} `provider_error`: it is none.
 */
export async function jsonBody(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw providerError("no JSON");
  }
}

export function providerError(cause: unknown): AppError {
  return new AppError("provider_error", "Cannot use the answer of the identity provider: try again later", {
    cause,
  });
}

/**
 * Parses an address that may be requested: https, or plain http on the machine itself, without credentials; undefined
 * for any other. `near` is the address of the document that names it: only a local one may name a local address.
 */
export function remoteUrl(text: string, near?: URL): URL | undefined {
  if (text.length > urlCharactersMax || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "" || url.hash !== "") return undefined;
  const isLocal = isLoopback(url.hostname);
  if (isLocal && near !== undefined && !isLoopback(near.hostname)) return undefined;
  return url.protocol === "https:" || (url.protocol === "http:" && isLocal) ? url : undefined;
}

const addresses = /\b(https?:\/\/[^\s/?#)]+)[^\s)]*/g;

/** Describes a failed request. Some runtimes repeat its address, whose query may be a token, so only origins stay. */
function reasonOf(error: unknown): Error {
  const reasons: string[] = [];
  for (let at = error; at instanceof Error && reasons.length < reasonsMax; at = at.cause)
    reasons.push(`${at.name}: ${at.message}`);
  return new Error(reasons.join("; caused by ").replace(addresses, "$1"));
}

function globalFetch(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, init);
}

function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(ms);
}

async function readBounded(response: Response): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    length += next.value.length;
    if (length > answerBytesMax) {
      await reader?.cancel();
      throw providerError("too large");
    }
    chunks.push(next.value);
  }
  return new Blob(chunks);
}

/** Signature algorithms that other issuers may be configured with. None is symmetric. */
export const remoteAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;

const defaultAlgorithms = ["RS256", "ES256", "EdDSA"];
const issuersMax = 1_000;
/** Age from which the keys of an issuer are fetched again. */
const keysAgeMs = 600_000;
/** Age until which they stay in use while they cannot be fetched: a day. */
const keysStaleMs = 86_400_000;
/** Most keys that one token is tried with, where it names none or several share the name. */
const triedKeysMax = 5;
const kidCharsMax = 128;
const unknownKeyCooldownMs = 30_000;

export interface RemoteIssuer {
  /** Exactly as tokens and the discovery document spell it: an https address, or a loopback one. */
  readonly issuer: string;
  /** Must be the audience of the token or one of them. */
  readonly audience: string;
  /** @default RS256, ES256 and EdDSA */
  readonly algorithms?: readonly (typeof remoteAlgorithms)[number][] | undefined;
}

export interface RemoteClaims {
  readonly iss: string;
  /** 1 to 255 printable ASCII characters. */
  readonly sub: string;
  /** Unix seconds. */
  readonly iat: number;
  readonly [claim: string]: unknown;
}

/** Media types of ID tokens; `""` for a header without one. */
export const idTokenTypes: readonly string[] = ["", "jwt"];
/** Media types of ID tokens and of access tokens (RFC 9068). */
export const anyTokenTypes: readonly string[] = [...idTokenTypes, "at+jwt"];

export interface RemoteIssuers {
  /**
   * Verifies that the issuer signed the token for the audience, and returns its claims.
   *
   * @throws {AppError} `invalid_token`, `token_expired`; `provider_unavailable` and `provider_error` while the keys of
   * the issuer are unknown and cannot be fetched.
   */
  verify(
    token: string,
    from: RemoteIssuer,
    options?: { /** @default {@linkcode idTokenTypes} */ readonly types?: readonly string[] },
  ): Promise<RemoteClaims>;
}

interface RemoteIssuersOptions {
  readonly fetch: RemoteFetch;
  readonly clock: Clock;
  /** Receives why a token is refused, at `info`. @default silentLogger */
  readonly logger?: Logger;
}

/** Keeps what issuers publish for a while. An issuer that fails again and again is left alone for a time. */
export function cachedByIssuer<T>(
  clock: Clock,
  read: (issuer: string) => Promise<T>,
): (issuer: string) => T | Promise<T> {
  const circuits = new Cache<CircuitBreaker>({ entriesMax: issuersMax });
  const cached = new Cache<T>({
    entriesMax: issuersMax,
    maxAgeMs: keysAgeMs,
    staleMs: keysStaleMs - keysAgeMs,
    clock,
  });
  async function load(issuer: string): Promise<{ readonly value: T }> {
    const circuit = circuits.get(issuer) ?? new CircuitBreaker(clock);
    circuits.set(issuer, circuit);
    return { value: await circuit.run(() => read(issuer)) };
  }
  return issuer => cached.getOrLoad(issuer, load);
}

/** Creates the verification. Create one per process, as it caches keys. */
export function createRemoteIssuers(options: RemoteIssuersOptions): RemoteIssuers {
  const { clock, logger = silentLogger } = options;
  const keysOf = cachedByIssuer(clock, issuer => loadKeys(issuer, options));
  return {
    async verify(token, { issuer, audience, algorithms = defaultAlgorithms }, { types = idTokenTypes } = {}) {
      if (token.length > tokenCharsMax) throw invalidToken("length");
      const keys = await keysOf(issuer);
      const { decodeProtectedHeader, errors } = await loadJose();
      const now = clock();
      let header: ProtectedHeaderParameters = {};
      try {
        header = decodeProtectedHeader(token);
        if (header.kid !== undefined && typeof header.kid !== "string") throw invalidToken("kid");
        const { payload, protectedHeader } = await verifySignature(token, keys, header.kid, {
          issuer,
          audience,
          algorithms: [...algorithms],
          currentDate: new Date(now),
          clockTolerance: clockSkewSecondsMax,
        });
        return acceptedClaims(payload, { typ: protectedHeader.typ, types, now });
      } catch (error) {
        const { kid } = header;
        const key = typeof kid === "string" ? kid.slice(0, kidCharsMax).toWellFormed() : null;
        logger.log("info", "token_refused", {
          issuer,
          audience,
          kid: key,
          reason: refusalReason(error, errors),
        });
        throw refusalOf(error, errors);
      }
    },
  };
}

/**
 * Verifies a token with the key that it names, or with each that fits where it names none or several share the name. Keys that
 * have no name are fetched again where none fits, as those of an unknown name are.
 */
async function verifySignature(
  token: string,
  keys: KeySet,
  kid: string | undefined,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  const { errors, jwtVerify } = await loadJose();
  const attempt = async (): Promise<JWTVerifyResult> => {
    try {
      return await jwtVerify(token, keys, options);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      let tried = 0;
      for await (const key of error) {
        if (++tried > triedKeysMax) break;
        try {
          return await jwtVerify(token, key, options);
        } catch (failure) {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  };
  try {
    return await attempt();
  } catch (error) {
    if (kid !== undefined || !(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    try {
      await keys.reload();
    } catch {
      throw error;
    }
    return await attempt();
  }
}

function acceptedClaims(
  claims: JWTPayload,
  { typ = "", types, now }: { readonly typ: string | undefined; types: readonly string[]; now: number },
): RemoteClaims {
  if (!types.includes(typ.toLowerCase().replace(/^application\//, ""))) throw invalidToken("typ");
  const { iss, sub, iat, exp } = claims;
  if (typeof iss !== "string" || typeof sub !== "string" || !/^[\x20-\x7e]{1,255}$/.test(sub))
    throw invalidToken("sub");
  if (exp === undefined || exp < 0 || exp > lastSecond) throw invalidToken("exp");
  if (iat === undefined || iat > now / 1_000 + clockSkewSecondsMax) throw invalidToken("iat");
  return { ...claims, iss, sub, iat };
}

/** Says why a token is refused, without anything of the token but names of its members. */
function refusalReason(error: unknown, errors: typeof import("jose").errors): string {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `${error.claim}: ${error.reason}`;
  if (error instanceof errors.JWKSNoMatchingKey) return "the issuer publishes no key of this kid and alg";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "no published key fits the signature";
  if (error instanceof errors.JOSEError) return error.code;
  if (error instanceof AppError) return error.code === "invalid_token" ? String(error.cause) : error.code;
  return "the token cannot be read";
}

function refusalOf(error: unknown, errors: typeof import("jose").errors): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof errors.JWTExpired) {
    return new AppError(
      "token_expired",
      "The token of the identity provider has expired: get a new one there",
    );
  }
  if (error instanceof errors.JWKSInvalid) return providerError("jwks");
  // Any other fault of a key or token is its maker's.
  return invalidToken(error instanceof errors.JOSEError ? error.code : "invalid");
}

type KeySet = ReturnType<typeof createRemoteJWKSet>;

async function loadKeys(issuer: string, { fetch, clock }: RemoteIssuersOptions): Promise<KeySet> {
  const { createRemoteJWKSet, customFetch, errors } = await loadJose();
  const source = endpointOf(await discover(issuer, fetch), "jwks_uri");
  const keys = createRemoteJWKSet(source, {
    // Age and cool-down follow the injected clock: jose fetches at the first load and for every unknown key.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: 0,
    [customFetch]: keyFetch(fetch, clock, () => new errors.JWKSNoMatchingKey()),
  });
  await keys.reload().catch(error => {
    throw error instanceof AppError ? error : providerError("jwks");
  });
  return keys;
}

/** Fetches keys once per cool-down, so that tokens with invented key names cause no storm of requests. */
function keyFetch(fetch: RemoteFetch, clock: Clock, unknownKey: () => Error): FetchImplementation {
  let triedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  return async (url, { headers }) => {
    const now = clock();
    // While a fetch has failed it is unknown if the key exists, so the token is not called invalid.
    if (now - triedAt < unknownKeyCooldownMs) throw failure ?? unknownKey();
    triedAt = now;
    failure = undefined;
    try {
      const response = await fetch(url, headers);
      if (response.status !== 200) throw providerError(`status ${response.status}`);
      return response;
    } catch (error) {
      failure = error;
      throw error;
    }
  };
}

export interface Discovery {
  readonly home: URL;
  readonly members: Readonly<Record<string, unknown>>;
}

/** @throws {AppError} `provider_error`: it is no document of this issuer. */
export async function discover(issuer: string, fetch: RemoteFetch): Promise<Discovery> {
  const home = remoteUrl(issuer);
  if (home === undefined) throw providerError("issuer");
  const response = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (response.status !== 200) throw providerError(`status ${response.status}`);
  const document = await jsonBody(response);
  if (typeof document !== "object" || document === null) throw providerError("shape");
  const members = document as Readonly<Record<string, unknown>>;
  // OpenID Connect Discovery 1.0, section 4.3: else another issuer's document would speak for this one.
  if (members.issuer !== issuer) throw providerError("issuer");
  return { home, members };
}

/** @throws {AppError} `provider_error`: the document names no such address, or one that may not be requested. */
export function endpointOf({ home, members }: Discovery, name: string): URL {
  const address = members[name];
  const url = typeof address === "string" ? remoteUrl(address, home) : undefined;
  if (url === undefined) throw providerError(name);
  return url;
}
