/**
 * Exported files: their encryption, layout and rows.
 *
 * An encrypted export is `salt:iv:authTag:encryptedData`, four parts in Base64. The last is encrypted by AES-256-GCM under a key
 * that PBKDF2-HMAC-SHA-256 derives from the password in 600,000 rounds.
 *
 * @module
 */

export type { ExportFileSource } from "./decrypt.ts";
export { type DecryptOptions, decryptExport } from "./decrypt.ts";
export type { Aes256Gcm, ExportKernels, GcmDecryption, GcmEncryption, GcmSecret, Hash } from "./kernels.ts";
