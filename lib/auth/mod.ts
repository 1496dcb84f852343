/**
 * Who calls and what they may do: master secret, tokens and their key ring, API keys, the signed session record and
 * the address of the client.
 *
 * @module
 */

export * from "./api_key_guard.ts";
export { apiKeysPerOrganisationMax } from "./api_key_index.ts";
export type { ApiKeyRecord, SecretHash, StoredSecret } from "./api_key_record.ts";
export * from "./api_key_routes.ts";
export { apiKeyUseMs, apiKeyUsesMax } from "./api_key_uses.ts";
export * from "./api_keys.ts";
export * from "./bearer.ts";
export * from "./breaker.ts";
export {
  type Claims,
  invalidToken,
  type TokenExpectation,
  tokenCharsMax,
  unverifiedClaim,
} from "./claims.ts";
export * from "./client_address.ts";
export * from "./environment.ts";
export * from "./ids.ts";
export {
  contains,
  formatAddress,
  type IpAddress,
  type Network,
  parseAddress,
  parseNetwork,
} from "./ip_address.ts";
export { issuerKeysAgeMsMax, issuerKeysCooldownMs, issuerKeysStaleMsMax } from "./issuer_keys.ts";
export {
  type ForeignAlgorithm,
  foreignAlgorithms,
  type KeyPair,
  type PublicJwk,
  type SignatureAlgorithm,
  signatureAlgorithms,
} from "./jose.ts";
export * from "./jwks_routes.ts";
export * from "./key_ring.ts";
export {
  clockSkewSecondsMax,
  jwksAgeSecondsMax,
  retentionMs,
  ringAgeMsMax,
  ringKeysMax,
  standbyMs,
  tokenTtlSecondsMax,
} from "./key_ring_record.ts";
export * from "./keyed_tag.ts";
export * from "./network_tag.ts";
export * from "./password/mod.ts";
export * from "./permissions.ts";
export * from "./remote_issuer.ts";
export * from "./remote_json.ts";
export * from "./remote_url.ts";
export * from "./seal.ts";
export * from "./secret.ts";
export * from "./session_record.ts";
export { tokenCacheAgeMsMax, tokenCacheBytesMax, tokenCacheEntriesMax } from "./token_cache.ts";
export * from "./tokens.ts";
