/** Encrypted exports as the product makes them. */

import { randomBytes } from "node:crypto";
import type { ExportKernels } from "../../lib/exports/file/kernels.ts";
import {
  base64Bytes,
  createExportCipher,
  exportKey,
  fileHeader,
  newExportSecret,
} from "../../lib/exports/file/mod.ts";

/** A file with what is in it and what opens it. */
export interface SealedExport {
  readonly file: Uint8Array;
  readonly plain: Uint8Array;
  readonly password: string;
}

/** Encrypts bytes into a file. */
export async function sealedExport(plain: Uint8Array, kernels: ExportKernels = {}): Promise<SealedExport> {
  const { password, salt, iv } = newExportSecret(randomBytes);
  const cipher = createExportCipher({ key: await exportKey(password, salt), iv, kernels });
  const data = base64Bytes(await cipher.update(plain), kernels);
  const header = fileHeader({ salt, iv, tag: await cipher.finish() });
  return { file: Buffer.concat([header, data]), plain, password };
}
