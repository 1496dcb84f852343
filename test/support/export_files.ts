/** Encrypted exports, made with the code of the product. */

import { randomBytes } from "node:crypto";
import { base64Bytes } from "../../lib/fans/exports/file/base64.ts";
import { fileHeader } from "../../lib/fans/exports/file/header.ts";
import type { ExportKernels } from "../../lib/fans/exports/file/kernels.ts";
import { nobleGcm } from "../../lib/fans/exports/file/noble_gcm.ts";
import { exportKey, newExportSecret } from "../../lib/fans/exports/file/secret.ts";

/** An encrypted file, its content and its password. */
export interface SealedExport {
  readonly file: Uint8Array;
  readonly plain: Uint8Array;
  readonly password: string;
}

/** Encrypts bytes into a file. */
export async function sealedExport(plain: Uint8Array, kernels: ExportKernels = {}): Promise<SealedExport> {
  const { password, salt, iv } = newExportSecret(randomBytes);
  const gcm = kernels.aes256Gcm ?? nobleGcm;
  const cipher = gcm.encrypt({ key: await exportKey(password, salt), iv });
  const data = base64Bytes(await cipher.update(plain), kernels);
  const header = fileHeader({ salt, iv, tag: await cipher.finish() });
  return { file: Buffer.concat([header, data]), plain, password };
}
