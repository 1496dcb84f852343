/**
 * Decryption of whole files. A file is read twice: until the tag is verified nothing of the plaintext is kept or handed out,
 * whatever its size.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";
import type { ExportKernels, GcmSecret } from "../ports/export_kernels.ts";
import { createExportCipher } from "./cipher.ts";
import { type ExportFileSource, type OpenExport, openExport } from "./cipher_pieces.ts";
import { type PartDecipher, partDecipher } from "./part_decipher.ts";
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

/** One reading: decrypts, encrypts the result again for its tag, and fails at the end where that is not the file's. */
class Decryption {
  readonly #file: OpenExport;
  readonly #decipher: PartDecipher;
  readonly #cipher: ReturnType<typeof createExportCipher>;
  readonly #tag: Uint8Array;

  constructor(
    file: OpenExport,
    options: GcmSecret & { readonly tag: Uint8Array; readonly kernels: ExportKernels },
  ) {
    this.#file = file;
    this.#tag = options.tag;
    this.#decipher = partDecipher(options);
    this.#cipher = createExportCipher(options);
  }

  /** @throws {AppError} `invalid_credentials` at the end of what is not genuine. */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = await this.#piece();
    if (piece.done !== true) {
      const plain = await this.#decipher.update(piece.value);
      await this.#cipher.update(plain);
      return { done: false, value: plain };
    }
    if (!isSame(await this.#cipher.finish(), this.#tag)) throw notGenuine();
    return { done: true, value: undefined };
  }

  async #piece(): Promise<IteratorResult<Uint8Array, void>> {
    try {
      return await this.#file.pieces.next();
    } catch (error) {
      await this.#file.close();
      throw error;
    }
  }
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

/** Compares in a time that tells nothing of where the bytes differ. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0);
  return difference === 0;
}

function notGenuine(): AppError {
  return new AppError(
    "invalid_credentials",
    "Cannot decrypt the export: the password is wrong, or the file was changed",
  );
}
