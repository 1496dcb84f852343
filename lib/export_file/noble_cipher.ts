/** AES-256-GCM in plain JavaScript, by the counter mode and the hash of noble, in slices between which other work runs. */

import { ghash } from "@noble/ciphers/_polyval.js";
import { ctr } from "@noble/ciphers/aes.js";
import type { GcmEncryption, GcmSecret } from "../ports/export_kernels.ts";
import { lengthBlock, xor } from "./block.ts";
import type { BlockCipher } from "./block_stream.ts";
import { blockStream } from "./block_stream.ts";
import { blockBytes, counterBlock } from "./counter.ts";

/** Bytes encrypted at once; about 3 ms. */
export const nobleSliceBytes = 131_072;

/** Begins an encryption that needs nothing of the runtime. */
export function nobleGcm(secret: GcmSecret): GcmEncryption {
  return blockStream(new NobleBlocks(secret));
}

class NobleBlocks implements BlockCipher {
  readonly #secret: GcmSecret;
  readonly #hash: ReturnType<typeof ghash.create>;

  constructor(secret: GcmSecret) {
    this.#secret = secret;
    const hashKey = ctr(secret.key, new Uint8Array(blockBytes)).encrypt(new Uint8Array(blockBytes));
    this.#hash = ghash.create(hashKey);
  }

  async encrypt(plain: Uint8Array, block: number): Promise<Uint8Array> {
    const cipher = new Uint8Array(plain.length);
    for (let from = 0; from < plain.length; from += nobleSliceBytes) {
      if (from > 0) await new Promise(resolve => setTimeout(resolve, 0));
      const slice = this.keyed(plain.subarray(from, from + nobleSliceBytes), block + from / blockBytes);
      this.#hash.update(slice);
      cipher.set(slice, from);
    }
    return cipher;
  }

  keyed(bytes: Uint8Array, block: number): Uint8Array {
    const { key, iv } = this.#secret;
    return ctr(key, counterBlock(iv, block)).encrypt(Uint8Array.from(bytes));
  }

  tag(rest: Uint8Array, length: number): Uint8Array {
    if (rest.length > 0) this.#hash.update(Uint8Array.from(rest));
    this.#hash.update(lengthBlock(length));
    return xor(this.#hash.digest(), this.keyed(new Uint8Array(blockBytes), -1));
  }
}
