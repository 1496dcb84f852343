/** The Authorization header of RFC 6750. */

import { AppError } from "../errors/mod.ts";
import { invalidToken, tokenCharsMax } from "./claims.ts";

/** Most characters of an Authorization header that are looked at: scheme, spaces and the longest token. */
export const authorizationCharsMax: number = tokenCharsMax + 64;

const bearerScheme = /^bearer(?: +|$)/i;
const token68 = /^[A-Za-z0-9._~+/-]+=*$/;

/**
 * The token of an `Authorization: Bearer <token>` header, the scheme in any case.
 *
 * @throws {AppError} `missing_token`: no header, or another scheme. `invalid_token`: no single well-formed token there.
 */
export function bearerToken(authorization: string | null): string {
  const scheme = authorization === null ? null : bearerScheme.exec(authorization);
  if (authorization === null || scheme === null) {
    throw new AppError("missing_token", "This request needs an Authorization header with a bearer token");
  }
  const token = authorization.slice(scheme[0].length);
  if (authorization.length > authorizationCharsMax || !token68.test(token)) throw invalidToken("header");
  return token;
}
