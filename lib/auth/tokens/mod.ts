/**
 * Tokens, their claims and bearers.
 *
 * @module
 */

export {
  bearerToken,
  type Claims,
  foreignBearerToken,
  invalidToken,
  tokenCharsMax,
  unverifiedClaim,
} from "./claims.ts";
export { clockSkewSecondsMax, tokenTtlSecondsMax } from "./key_ring_record.ts";
export { createTokens, type Tokens } from "./tokens.ts";
