/** Decryption from any position, without the tag: for parts that the same process family has written, and for verified files. */

import { blockBytes, counterBlock } from "./counter.ts";

/** What is decrypted, and from which byte of the data on. */
export interface PartDecipherOptions {
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
  /** Bytes of the data before the first that is decrypted. @default 0 */
  readonly offset?: number;
}

/** Decrypts piece by piece. */
export interface PartDecipher {
  /** The plaintext of the next bytes, exactly as many. */
  update(cipher: Uint8Array): Promise<Uint8Array>;
}

/**
 * Begins to decrypt at a position. Nothing tells whether the bytes are genuine: whoever did not write them computes the tag
 * of all of them first.
 */
export function partDecipher({ key, iv, offset = 0 }: PartDecipherOptions): PartDecipher {
  let position = offset;
  const imported = crypto.subtle.importKey("raw", Uint8Array.from(key), "AES-CTR", false, ["decrypt"]);
  return {
    async update(cipher) {
      const skipped = position % blockBytes;
      const counter = counterBlock(iv, (position - skipped) / blockBytes);
      position += cipher.length;
      const input = new Uint8Array(skipped + cipher.length);
      input.set(cipher, skipped);
      const plain = await crypto.subtle.decrypt(
        { name: "AES-CTR", counter, length: 32 },
        await imported,
        input,
      );
      return new Uint8Array(plain, skipped);
    },
  };
}
