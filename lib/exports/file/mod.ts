/**
 * The files that exports are: their layout, encryption and decryption, and rows as CSV or JSON.
 *
 * An encrypted export is `salt:iv:authTag:encryptedData`, four parts in Base64 of which the last is encrypted by AES-256-GCM
 * under a key that PBKDF2-HMAC-SHA-256 derives from the password in 600,000 rounds.
 *
 * @module
 */

export { base64Bytes } from "./base64.ts";
export { createExportCipher, type ExportCipherOptions } from "./cipher.ts";
export type { ExportFileSource } from "./cipher_pieces.ts";
export { plainBytesMax } from "./counter.ts";
export { type DecryptOptions, decryptExport } from "./decrypt.ts";
export { type ExportHeader, fileHeader, headerBytes, ivBytes, saltBytes, tagBytes } from "./header.ts";
export { type PartDecipher, type PartDecipherOptions, partDecipher } from "./part_decipher.ts";
export { keyBytes, keyIterations } from "./primitives.ts";
export { type ExportFormat, exportFormats, type RowEncoder, rowEncoder } from "./row_encoder.ts";
export { type ExportSecret, exportKey, newExportSecret, passwordCharacters } from "./secret.ts";
