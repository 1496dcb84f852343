/**
 * Who calls and what they may do: master secret, tokens and their key ring, API keys, the signed session record and
 * the address of the client.
 *
 * @module
 */

export * from "./api_keys/api_keys.ts";
export * from "./api_keys/guard.ts";
export { apiKeysPerOrganisationMax } from "./api_keys/index.ts";
export * from "./api_keys/permissions.ts";
export type { ApiKeyRecord, SecretHash, StoredSecret } from "./api_keys/record.ts";
export * from "./api_keys/routes.ts";
export { apiKeyUseMs, apiKeyUsesMax } from "./api_keys/uses.ts";
export * from "./client_address.ts";
export * from "./environment.ts";
export * from "./crypto/ids.ts";
export {
  contains,
  formatAddress,
  type IpAddress,
  type Network,
  parseAddress,
  parseNetwork,
} from "./ip_address.ts";
export * from "./keyed_tag.ts";
export * from "./network_tag.ts";
export * from "./passwords/mod.ts";
export * from "./remote_issuers/breaker.ts";
export {
  issuerKeysAgeMsMax,
  issuerKeysCooldownMs,
  issuerKeysStaleMsMax,
} from "./remote_issuers/issuer_keys.ts";
export * from "./remote_issuers/remote_issuers.ts";
export * from "./remote_issuers/remote_fetch.ts";
export * from "./remote_issuers/remote_url.ts";
export * from "./crypto/seal.ts";
export * from "./crypto/secret.ts";
export * from "./tokens/session_record.ts";
export * from "./tokens/bearer.ts";
export {
  type Claims,
  invalidToken,
  type TokenExpectation,
  tokenCharsMax,
  unverifiedClaim,
} from "./tokens/claims.ts";
export {
  type ForeignAlgorithm,
  foreignAlgorithms,
  type KeyPair,
  type PublicJwk,
  type SignatureAlgorithm,
  signatureAlgorithms,
} from "./tokens/jose.ts";
export * from "./tokens/jwks_routes.ts";
export * from "./tokens/key_ring.ts";
export {
  clockSkewSecondsMax,
  jwksAgeSecondsMax,
  retentionMs,
  ringAgeMsMax,
  ringKeysMax,
  standbyMs,
  tokenTtlSecondsMax,
} from "./tokens/key_ring_record.ts";
export { tokenCacheAgeMsMax, tokenCacheBytesMax, tokenCacheEntriesMax } from "./tokens/token_cache.ts";
export * from "./tokens/tokens.ts";
