/** Decryption from any position, without the tag. */

import { requireSecret } from "./cipher.ts";
import { blockBytes, counterBlock } from "./counter.ts";
import type { GcmSecret } from "./kernels.ts";
import { primitives } from "./portable_primitives.ts";

/** What is decrypted, and from which byte of the data on. */
export interface PartDecipherOptions extends GcmSecret {
  /** Bytes of the data before the first that is decrypted. @default 0 */
  readonly offset?: number;
}

/** Decrypts piece by piece. */
export interface PartDecipher {
  /** The plaintext of the next bytes, exactly as many. */
  update(cipher: Uint8Array): Promise<Uint8Array>;
}

/**
 * Begins to decrypt at a position. Nothing tells whether the bytes are genuine: whoever cannot know that computes the tag of
 * all of them first.
 *
 * @throws {RangeError} Key or iv are not 32 and 12 bytes.
 */
export function partDecipher({ key, iv, offset = 0 }: PartDecipherOptions): PartDecipher {
  requireSecret({ key, iv });
  const { ctr } = primitives();
  let position = offset;
  return {
    async update(cipher) {
      const skipped = position % blockBytes;
      const counter = counterBlock(iv, (position - skipped) / blockBytes);
      position += cipher.length;
      if (skipped === 0) return await ctr(key, counter, cipher);
      const input = new Uint8Array(skipped + cipher.length);
      input.set(cipher, skipped);
      return (await ctr(key, counter, input)).subarray(skipped);
    },
  };
}
