/**
 * The cipher, Base64 and SHA-256 of exports by `node:crypto` and `node:buffer`, which Node, Bun and Deno share.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Aes256Gcm, ExportKernels } from "../../lib/fans/exports/file/kernels.ts";

/** Bytes that become text at once; a multiple of three, and small enough for the processor's cache. */
const sliceBytes = 49_152;
const tagOptions = { authTagLength: 16 } as const;

/** Returns the native functions of Node, Bun and Deno for exports. */
export function nativeExportKernels(): Required<ExportKernels> {
  return {
    aes256Gcm: nativeGcm,
    base64: nativeBase64,
    sha256: () => createHash("sha256"),
    nextTurn: () => setImmediate(),
  };
}

const nativeGcm: Aes256Gcm = {
  encrypt({ key, iv }) {
    const cipher = createCipheriv("aes-256-gcm", key, iv, tagOptions);
    return {
      update: plain => cipher.update(plain),
      finish() {
        cipher.final();
        return cipher.getAuthTag();
      },
    };
  },
  decrypt({ key, iv }) {
    const decipher = createDecipheriv("aes-256-gcm", key, iv, tagOptions);
    return {
      update: data => decipher.update(data),
      verify(tag) {
        try {
          decipher.setAuthTag(tag);
          decipher.final();
          return true;
        } catch {
          return false;
        }
      },
    };
  },
};

function nativeBase64(bytes: Uint8Array): Uint8Array {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = Buffer.allocUnsafeSlow(Math.ceil(source.length / 3) * 4);
  let to = 0;
  for (let from = 0; from < source.length; from += sliceBytes) {
    to += text.write(source.toString("base64", from, Math.min(from + sliceBytes, source.length)), to);
  }
  return text;
}
