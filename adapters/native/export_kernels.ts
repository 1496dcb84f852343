/**
 * The cipher and the Base64 of exports by `node:crypto` and `node:buffer`, which Node, Bun and Deno share.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createCipheriv, createHash } from "node:crypto";
import { versions } from "node:process";
import { setImmediate } from "node:timers/promises";
import type { ExportKernels, GcmEncryption, GcmSecret } from "../../lib/exports/file/kernels.ts";

/** Bytes that become text at once; a multiple of three, and small enough for the cache. */
const sliceBytes = 49_152;
const tagBytes = 16;

/**
 * What this runtime has natively that is faster than the web's standards in it: the cipher except on Deno, where WebCrypto is
 * four times as fast, and Base64 where there is no `Uint8Array.prototype.toBase64`; besides the digest and the turns.
 */
export function nativeExportKernels(): ExportKernels {
  return {
    ...("deno" in versions ? {} : { aes256Gcm: nativeGcm }),
    ...("toBase64" in Uint8Array.prototype ? {} : { base64: nativeBase64 }),
    sha256: () => createHash("sha256"),
    nextTurn: () => setImmediate(),
  };
}

/** AES-256-GCM by `node:crypto`. */
export function nativeGcm({ key, iv }: GcmSecret): GcmEncryption {
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
  return {
    update: plain => cipher.update(plain),
    finish() {
      cipher.final();
      return cipher.getAuthTag();
    },
  };
}

/** Standard Base64 with padding by `node:buffer`, as ASCII bytes. */
export function nativeBase64(bytes: Uint8Array): Uint8Array {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = Buffer.allocUnsafeSlow(Math.ceil(source.length / 3) * 4);
  let to = 0;
  for (let from = 0; from < source.length; from += sliceBytes) {
    to += text.write(source.toString("base64", from, Math.min(from + sliceBytes, source.length)), to);
  }
  return text;
}
