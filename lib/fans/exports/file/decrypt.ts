/**
 * Decryption of whole files in constant memory. A file is read twice, so that no plaintext is released before the tag is
 * verified.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { type ExportFileSource, type OpenExport, openExport } from "./file_reader.ts";
import type { ExportHeader } from "./header.ts";
import type { ExportKernels } from "./kernels.ts";
import { nobleGcm } from "./noble_gcm.ts";
import { exportKey } from "./secret.ts";

/** Options of {@linkcode decryptExport}. */
export interface DecryptOptions {
  readonly password: string;
  /** Native functions: `nativeExportKernels()` of `grandstand/native`. @default portable code, which is slower */
  readonly kernels?: ExportKernels | undefined;
}

/**
 * Decrypts an export after its tag is verified. A file that changes between the two readings fails the stream at its end;
 * bytes of a `Blob` cannot change.
 *
 * @throws {AppError} `validation_failed`: this is not an encrypted export. `invalid_credentials`: the password is wrong, or
 *   the file was changed. `internal_error`: the source failed.
 *
 * @example
 * ```ts
 * const plaintext = await decryptExport(file, { password });
 * console.log(await new Response(plaintext).text());
 * ```
 */
export async function decryptExport(
  source: ExportFileSource,
  { password, kernels = {} }: DecryptOptions,
): Promise<ReadableStream<Uint8Array>> {
  const file = await openExport(source);
  const { header } = file;
  const secret = { key: await exportKey(password, header.salt), iv: header.iv };
  const gcm = kernels.aes256Gcm ?? nobleGcm;
  const read = (from: OpenExport): AsyncGenerator<Uint8Array, void> =>
    plaintextOf(from, { decryption: gcm.decrypt(secret), tag: header.tag });
  for await (const _ of read(file));
  const again = await openExport(source);
  const pieces = read(again);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => again.close(),
    },
    { highWaterMark: 0 },
  );
}

/** Decrypts a file piece by piece, and fails after the last one if the tag does not match. */
async function* plaintextOf(
  file: OpenExport,
  {
    decryption,
    tag,
  }: { readonly decryption: ReturnType<typeof nobleGcm.decrypt>; readonly tag: ExportHeader["tag"] },
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of file.pieces) yield await decryption.update(piece);
  } catch (error) {
    await file.close();
    throw error;
  }
  if (await decryption.verify(tag)) return;
  throw new AppError(
    "invalid_credentials",
    "Cannot decrypt the export: the password is wrong, or the file was changed",
  );
}
