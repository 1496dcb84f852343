/**
 * Authentication: master secret, tokens and their key ring, API keys, the signed session record and client addresses.
 *
 * The folders `crypto`, `passwords`, `remote_issuers` and `tokens` have a `mod.ts` of their own for other areas.
 *
 * @module
 */

export type { ApiKeyInfo, ApiKeyPrincipal, ApiKeys, IssuedApiKey } from "./api_keys/api_keys.ts";
export { type Permission, permissions } from "./api_keys/record.ts";
export type { TrustedProxies } from "./client_address.ts";
export {
  type Clock,
  MasterSecret,
  type RandomBytes,
  recordKey,
  type SignedSessionRecord,
  signRecord,
  verifyRecord,
} from "./crypto/mod.ts";
export { type CursorScope, Cursors } from "./cursors.ts";
export type { SignatureAlgorithm } from "./tokens/jose.ts";
export type { KeyInfo, KeyRing } from "./tokens/key_ring.ts";
export type { Tokens } from "./tokens/mod.ts";
