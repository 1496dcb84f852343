/** The cipher of exports. */

import type { ExportKernels, GcmEncryption, GcmSecret } from "../ports/export_kernels.ts";
import { nobleGcm } from "./noble_cipher.ts";

/** What an export is encrypted with, and by which means. */
export interface ExportCipherOptions extends GcmSecret {
  /** Native functions: `nativeExportKernels()` of `grandstand/native`. Omitted: portable ones take their place. */
  readonly kernels?: ExportKernels;
}

/** Begins to encrypt a file by AES-256-GCM. Every implementation gives the same bytes. */
export function createExportCipher({ key, iv, kernels = {} }: ExportCipherOptions): GcmEncryption {
  return (kernels.aes256Gcm ?? nobleGcm)({ key, iv });
}
