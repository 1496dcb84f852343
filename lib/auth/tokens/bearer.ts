/** The Authorization header of RFC 6750. */

import { AppError } from "../../errors/mod.ts";
import { invalidToken, tokenCharsMax } from "./claims.ts";

/** Most characters of an Authorization header that are looked at: scheme, spaces and the longest token. */
export const authorizationCharsMax: number = tokenCharsMax + 64;

const bearerScheme = /^bearer(?: +|$)/i;
const token68 = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * The token of an `Authorization: Bearer <token>` header, the scheme in any case. Of what characters it is made is left to
 * its verification, which need not look at those of a token that it has seen before.
 *
 * @throws {AppError} `missing_token`: no header, or another scheme. `invalid_token`: no single token there.
 */
export function bearerToken(authorization: string | null): string {
  const scheme = authorization === null ? null : bearerScheme.exec(authorization);
  if (authorization === null || scheme === null) {
    throw new AppError("missing_token", "This request needs an Authorization header with a bearer token");
  }
  const token = authorization.slice(scheme[0].length);
  if (authorization.length > authorizationCharsMax || token === "" || token.includes(" ")) {
    throw invalidToken("header");
  }
  return token;
}

/**
 * As {@linkcode bearerToken}, for a token that somebody else is to verify: one that keeps to RFC 6750.
 *
 * @throws {AppError} `missing_token`: no header, or another scheme. `invalid_token`: no single well-formed token there.
 */
export function foreignBearerToken(authorization: string | null): string {
  const token = bearerToken(authorization);
  if (!token68.test(token)) throw invalidToken("header");
  return token;
}
