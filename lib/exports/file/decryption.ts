/** One reading of an encrypted file. */

import { AppError } from "../../errors/mod.ts";
import { createExportCipher } from "./cipher.ts";
import type { OpenExport } from "./cipher_pieces.ts";
import type { ExportKernels, GcmSecret } from "./kernels.ts";
import { type PartDecipher, partDecipher } from "./part_decipher.ts";

/** Where the ciphertext comes from. */
export type CipherPieces = Pick<OpenExport, "pieces" | "close">;

/** What opens the file. */
export interface DecryptionOptions extends GcmSecret {
  /** The tag that the whole must have. */
  readonly tag: Uint8Array;
  readonly kernels: ExportKernels;
}

/** Decrypts, encrypts the result again for its tag, and fails at the end where that is not the file's. */
export class Decryption {
  readonly #file: CipherPieces;
  readonly #decipher: PartDecipher;
  readonly #cipher: ReturnType<typeof createExportCipher>;
  readonly #tag: Uint8Array;

  constructor(file: CipherPieces, options: DecryptionOptions) {
    this.#file = file;
    this.#tag = options.tag;
    this.#decipher = partDecipher(options);
    this.#cipher = createExportCipher(options);
  }

  /**
   * The next piece of the plaintext.
   *
   * @throws {AppError} `invalid_credentials` at the end of what is not genuine.
   */
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
