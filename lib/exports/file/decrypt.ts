/**
 * Decryption of whole files. A file is read twice: until the tag is verified nothing of the plaintext is kept or handed out,
 * whatever its size.
 *
 * @module
 */

import { type ExportFileSource, type OpenExport, openExport } from "./cipher_pieces.ts";
import { Decryption } from "./decryption.ts";
import type { ExportKernels } from "./kernels.ts";
import { exportKey } from "./secret.ts";

/** What opens a file. */
export interface DecryptOptions {
  readonly password: string;
  /** Native functions: `nativeExportKernels()` of `grandstand/native`. Omitted: WebCrypto does the same. */
  readonly kernels?: ExportKernels;
}

/**
 * The plaintext of an encrypted export, once its tag is verified. A file that changes between the two readings fails the
 * stream at its end at the latest; bytes of a `Blob` cannot.
 *
 * @throws {AppError} `validation_failed`: this is no encrypted export. `invalid_credentials`: the password is another one, or
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
  const { salt, iv, tag } = file.header;
  const secret = { key: await exportKey(password, salt), iv };
  const verified = new Decryption(file, { ...secret, tag, kernels });
  while (!(await verified.next()).done);
  const again = await openExport(source);
  return streamOf(again, new Decryption(again, { ...secret, tag, kernels }));
}

function streamOf(file: OpenExport, decryption: Decryption): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await decryption.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
}
