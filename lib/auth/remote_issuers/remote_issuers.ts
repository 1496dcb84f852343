/**
 * Tokens of other issuers. Issuer, audience and algorithms are configured; a token chooses nothing but one of the keys
 * that the configured issuer publishes (RFC 8725, sections 3.1 and 3.8 to 3.11).
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Clock } from "../environment.ts";
import { invalidToken, tokenCharsMax } from "../tokens/claims.ts";
import {
  type ForeignAlgorithm,
  type ForeignExpectation,
  type ForeignVerdict,
  verifyForeign,
} from "../tokens/jose.ts";
import { clockSkewSecondsMax } from "../tokens/key_ring_record.ts";
import { IssuerKeys } from "./issuer_keys.ts";
import type { RemoteJson } from "./remote_fetch.ts";

/** Most issuers whose keys are remembered; the one that was met first is forgotten first. */
export const remoteIssuersMax = 1_000;
/** The algorithms of an issuer for which none are configured. */
export const remoteAlgorithmsDefault: readonly ForeignAlgorithm[] = ["RS256", "ES256", "EdDSA"];

/** Whose tokens are accepted. */
export interface RemoteIssuer {
  /** Exactly as tokens and discovery document say it: an https address, or a loopback one. */
  readonly issuer: string;
  /** Must be the audience of the token or one of them. */
  readonly audience: string;
  /** @default {@linkcode remoteAlgorithmsDefault} */
  readonly algorithms?: readonly ForeignAlgorithm[] | undefined;
}

/** What a verified token of another issuer says. */
export interface RemoteClaims {
  readonly iss: string;
  /** 1 to 255 printable ASCII characters. */
  readonly sub: string;
  /** Unix seconds. */
  readonly iat: number;
  readonly [claim: string]: unknown;
}

/** Kinds of tokens by the `typ` of their header; `""` where they have none. */
export const idTokenTypes: readonly string[] = ["", "jwt"];
/** ID tokens, and access tokens as RFC 9068 has them. */
export const anyTokenTypes: readonly string[] = [...idTokenTypes, "at+jwt"];

/** Verifies tokens of other issuers. */
export interface RemoteIssuers {
  /**
   * The claims of a token that the issuer has signed for the audience.
   *
   * @throws {AppError} `invalid_token`, `token_expired`; `provider_unavailable` and `provider_error` where the keys of
   * the issuer are not known and cannot be learned.
   */
  verify(
    token: string,
    from: RemoteIssuer,
    options?: { /** @default {@linkcode idTokenTypes} */ readonly types?: readonly string[] },
  ): Promise<RemoteClaims>;
}

/** What the verification needs. */
export interface RemoteIssuersOptions {
  readonly remote: RemoteJson;
  readonly clock: Clock;
}

/** Creates the verification. Each remembers keys by itself: create one per process. */
export function createRemoteIssuers(options: RemoteIssuersOptions): RemoteIssuers {
  const known = new Map<string, IssuerKeys>();
  function keysOf(issuer: string): IssuerKeys {
    const keys = known.get(issuer) ?? new IssuerKeys(issuer, options);
    if (!known.has(issuer) && known.size >= remoteIssuersMax) {
      for (const eldest of known.keys()) {
        known.delete(eldest);
        break;
      }
    }
    known.set(issuer, keys);
    return keys;
  }
  return {
    async verify(token, { issuer, audience, algorithms }, { types = idTokenTypes } = {}) {
      if (token.length > tokenCharsMax) throw invalidToken("length");
      const expected: ForeignExpectation = {
        issuer,
        audience,
        algorithms: algorithms ?? remoteAlgorithmsDefault,
        now: options.clock(),
        skewSecondsMax: clockSkewSecondsMax,
      };
      return claimsOf(await judge(token, keysOf(issuer), expected), expected, types);
    },
  };
}

async function judge(token: string, keys: IssuerKeys, expected: ForeignExpectation): Promise<ForeignVerdict> {
  const verdict = await verifyForeign(token, await keys.current(), expected);
  if (verdict.verdict !== "unknownKey") return verdict;
  const renewed = await keys.renewed();
  return renewed === undefined ? verdict : await verifyForeign(token, renewed, expected);
}

function claimsOf(
  result: ForeignVerdict,
  { now, skewSecondsMax }: ForeignExpectation,
  types: readonly string[],
): RemoteClaims {
  if (result.verdict === "expired") {
    throw new AppError(
      "token_expired",
      "The token of the identity provider has expired: get a new one there",
    );
  }
  if (result.verdict !== "valid") throw invalidToken(result.verdict);
  const { typ = "", claims } = result;
  if (!types.includes(typ.toLowerCase().replace(/^application\//, ""))) throw invalidToken("typ");
  const { iss, sub, iat } = claims;
  if (typeof iss !== "string" || typeof sub !== "string" || !/^[\x20-\x7e]{1,255}$/.test(sub))
    throw invalidToken("sub");
  if (iat === undefined || iat > now / 1_000 + skewSecondsMax) throw invalidToken("iat");
  return { ...claims, iss, sub, iat };
}
