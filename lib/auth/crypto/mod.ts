/**
 * Encodings, ids, sealed texts and keyed tags.
 *
 * @module
 */

export { capabilityId, constantTimeEqual, isUuid, uuid } from "../environment.ts";
export { base64url, fromBase64url, fromUtf8, utf8 } from "./encoding.ts";
export { keyedTag, seal, unseal } from "./seal.ts";
