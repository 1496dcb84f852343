/**
 * Authentication: master secret, tokens and their key ring, API keys, the signed session record and client addresses.
 *
 * The folders `crypto`, `passwords`, `remote_issuers` and `tokens` have a `mod.ts` of their own for other areas.
 *
 * @module
 */

export {
  type ApiKeyInfo,
  type ApiKeyPrincipal,
  type ApiKeys,
  createApiKeys,
  type IssuedApiKey,
} from "./api_keys/api_keys.ts";
export { type ApiKeyGuardOptions, apiKeyGuard } from "./api_keys/guard.ts";
export { type Permission, permissions } from "./api_keys/record.ts";
export { type ApiKeysAnswer, apiKeyRoutes, type IssuedApiKeyAnswer } from "./api_keys/routes.ts";
export { createClientAddress, type TrustedProxies } from "./client_address.ts";
export { deriveKey, generateMasterSecret, MasterSecret } from "./crypto/secret.ts";
export { type CursorScope, Cursors } from "./cursors.ts";
export { type Clock, type RandomBytes, systemClock, systemRandom } from "./environment.ts";
export { formatAddress, networkTag, parseAddress, parseNetwork } from "./ip_address.ts";
export { bearerToken, hasAccessToken, invalidToken } from "./tokens/claims.ts";
export { openIssuer, storedIssuer, storeFormat } from "./tokens/issuer.ts";
export { type SignatureAlgorithm, signatureAlgorithms } from "./tokens/jose.ts";
export { jwksArea } from "./tokens/jwks_routes.ts";
export { checkMasterSecret, createKeyRing, type KeyRing } from "./tokens/key_ring.ts";
export type { KeyInfo } from "./tokens/key_ring_record.ts";
export { recordKey, type SignedSessionRecord, signRecord, verifyRecord } from "./tokens/session_record.ts";
export { createTokens, type Tokens } from "./tokens/tokens.ts";
