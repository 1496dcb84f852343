/** The cipher of exports. */

import { ivBytes } from "./header.ts";
import type { ExportKernels, GcmEncryption, GcmSecret } from "./kernels.ts";
import { primitives } from "./portable_primitives.ts";
import { keyBytes } from "./primitives.ts";

/** What an export is encrypted with, and by which means. */
export interface ExportCipherOptions extends GcmSecret {
  /** Native functions: `nativeExportKernels()` of `grandstand/native`. Omitted: WebCrypto does the same. */
  readonly kernels?: ExportKernels;
}

/**
 * Begins to encrypt a file by AES-256-GCM. Every implementation gives the same bytes.
 *
 * @throws {RangeError} Key or iv are not 32 and 12 bytes.
 */
export function createExportCipher({ key, iv, kernels = {} }: ExportCipherOptions): GcmEncryption {
  requireSecret({ key, iv });
  return kernels.aes256Gcm?.({ key, iv }) ?? primitives().gcm({ key, iv });
}

/** @throws {RangeError} Key or iv are not 32 and 12 bytes. */
export function requireSecret({ key, iv }: GcmSecret): void {
  if (key.length === keyBytes && iv.length === ivBytes) return;
  throw new RangeError(`Cannot use a key and an iv that are not ${keyBytes} and ${ivBytes} bytes`);
}
