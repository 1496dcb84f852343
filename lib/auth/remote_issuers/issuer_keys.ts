/**
 * The keys that another issuer publishes (OpenID Connect Discovery 1.0), as they are known here.
 *
 * They are fetched when first needed and again when they are old or a token names an unknown one, by one request for all
 * who wait. While they cannot be fetched the old ones stay in use, for a day at most.
 *
 * @module
 */

import type { Clock } from "../environment.ts";
import { type ForeignKeys, foreignKeys } from "../tokens/jose.ts";
import { providerError, providerRetryMs, type RemoteJson } from "./remote_fetch.ts";
import { remoteUrl } from "./remote_url.ts";

/** Age from which keys are fetched again, in ms. */
export const issuerKeysAgeMsMax = 600_000;
/** Age at which keys that could not be fetched again are given up, in ms: one day. */
export const issuerKeysStaleMsMax = 86_400_000;
/** Least time between two fetches for tokens that name an unknown key, in ms. */
export const issuerKeysCooldownMs = 30_000;

/** What the keys of an issuer are fetched with. */
export interface IssuerKeysOptions {
  readonly remote: RemoteJson;
  readonly clock: Clock;
}

/** The keys of one issuer. */
export class IssuerKeys {
  readonly #issuer: string;
  readonly #options: IssuerKeysOptions;
  #keys: ForeignKeys | undefined;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #loading: Promise<ForeignKeys> | undefined;

  constructor(issuer: string, options: IssuerKeysOptions) {
    this.#issuer = issuer;
    this.#options = options;
  }

  /** The keys, not older than {@linkcode issuerKeysAgeMsMax} unless the issuer fails. */
  async current(): Promise<ForeignKeys> {
    const now = this.#options.clock();
    const age = now - this.#loadedAt;
    if (this.#keys !== undefined && age < issuerKeysAgeMsMax) return this.#keys;
    const isUsable = age < issuerKeysStaleMsMax;
    try {
      if (this.#failure !== undefined && now - this.#triedAt < providerRetryMs) throw this.#failure;
      return await this.#load();
    } catch (failure) {
      if (this.#keys !== undefined && isUsable) return this.#keys;
      throw failure;
    }
  }

  /** The keys fetched anew because a token names an unknown one; undefined where that was done a moment ago. */
  async renewed(): Promise<ForeignKeys | undefined> {
    if (this.#loading !== undefined) return await this.#loading;
    if (this.#options.clock() - this.#triedAt >= issuerKeysCooldownMs) return await this.#load();
    // Whether the key exists is not known then, which is no reason to call the token invalid.
    if (this.#failure !== undefined) throw this.#failure;
    return undefined;
  }

  #load(): Promise<ForeignKeys> {
    this.#loading ??= this.#fetch().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #fetch(): Promise<ForeignKeys> {
    this.#triedAt = this.#options.clock();
    try {
      this.#keys = await fetchKeys(this.#issuer, this.#options.remote);
    } catch (failure) {
      this.#failure = failure;
      throw failure;
    }
    this.#failure = undefined;
    this.#loadedAt = this.#options.clock();
    return this.#keys;
  }
}

async function fetchKeys(issuer: string, remote: RemoteJson): Promise<ForeignKeys> {
  const home = remoteUrl(issuer);
  if (home === undefined) throw providerError("issuer");
  const address = new URL(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const { issuer: named, jwks_uri: jwksUri } = await fetchObject(remote, address);
  // OpenID Connect Discovery 1.0, section 4.3: else another issuer's document would speak for this one.
  if (named !== issuer) throw providerError("issuer");
  const source = typeof jwksUri === "string" ? remoteUrl(jwksUri, home) : undefined;
  if (source === undefined) throw providerError("jwks_uri");
  const keys = foreignKeys(await fetchObject(remote, source));
  if (keys === undefined) throw providerError("jwks");
  return keys;
}

async function fetchObject(remote: RemoteJson, url: URL): Promise<Readonly<Record<string, unknown>>> {
  const { status, json } = await remote.get(url);
  if (status !== 200) throw providerError(`status ${status}`);
  if (typeof json !== "object" || json === null) throw providerError("shape");
  return json as Readonly<Record<string, unknown>>;
}
