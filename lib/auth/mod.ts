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
export { type Permission, permissions } from "./api_keys/record.ts";
export {
  type ApiKeyGuardOptions,
  type ApiKeysAnswer,
  apiKeyGuard,
  apiKeyRoutes,
  type IssuedApiKeyAnswer,
} from "./api_keys/routes.ts";
export {
  createClientAddress,
  formatAddress,
  networkTag,
  parseAddress,
  parseNetwork,
  type TrustedProxies,
} from "./client_address.ts";
export {
  type Clock,
  deriveKey,
  deriveKeys,
  generateMasterSecret,
  type Keys,
  MasterSecret,
  type RandomBytes,
  recordKey,
  recordKeys,
  type SignedSessionRecord,
  signRecord,
  systemClock,
  systemRandom,
  verifyRecord,
} from "./crypto/mod.ts";
export { type CursorScope, Cursors } from "./cursors.ts";
export { type SignatureAlgorithm, signatureAlgorithms } from "./tokens/jose.ts";
export { jwksArea, openIssuer, storedIssuer, storeFormat } from "./tokens/jwks_routes.ts";
export type { KeyInfo } from "./tokens/key_ring.ts";
export { checkMasterSecret, createKeyRing, type KeyRing } from "./tokens/key_ring.ts";
export { bearerToken, createTokens, hasAccessToken, invalidToken, type Tokens } from "./tokens/mod.ts";
