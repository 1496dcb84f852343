/** Pieces of any size for ciphers that work on whole blocks. */

import { concatBytes } from "@noble/hashes/utils.js";
import { blockBytes, plainBytesMax } from "./counter.ts";
import type { GcmEncryption } from "./kernels.ts";

/** The part of GCM that differs by where AES comes from. */
export interface BlockCipher {
  /** Encrypts whole blocks, of which `block` is the first, and hashes the ciphertext. */
  encrypt(plain: Uint8Array, block: number): Uint8Array | Promise<Uint8Array>;
  /** Encrypts less than a block, and hashes nothing: the rest of the block may be still to come. */
  keyed(plain: Uint8Array, block: number): Uint8Array | Promise<Uint8Array>;
  /** Hashes the last ciphertext, less than a block, and gives the tag of all `length` bytes. */
  tag(rest: Uint8Array, length: number): Uint8Array | Promise<Uint8Array>;
}

/** An encryption over a block cipher. */
export function blockStream(blocks: BlockCipher): GcmEncryption {
  return new BlockStream(blocks);
}

class BlockStream implements GcmEncryption {
  readonly #blocks: BlockCipher;
  /** Encrypted bytes up to the last whole block. */
  #done = 0;
  /** What has come of the block behind, and its ciphertext. */
  #rest: Uint8Array = new Uint8Array(0);
  #restCipher: Uint8Array = new Uint8Array(0);

  constructor(blocks: BlockCipher) {
    this.#blocks = blocks;
  }

  async update(plain: Uint8Array): Promise<Uint8Array> {
    const before = this.#rest.length;
    if (this.#done + before + plain.length > plainBytesMax) {
      throw new RangeError(`Cannot encrypt more than ${plainBytesMax} bytes`);
    }
    const all = before === 0 ? plain : concatBytes(this.#rest, plain);
    const whole = all.length - (all.length % blockBytes);
    const block = this.#done / blockBytes;
    const cipher =
      whole === 0 ? new Uint8Array(0) : await this.#blocks.encrypt(all.subarray(0, whole), block);
    this.#done += whole;
    this.#rest = all.slice(whole);
    this.#restCipher =
      whole === all.length
        ? new Uint8Array(0)
        : await this.#blocks.keyed(this.#rest, this.#done / blockBytes);
    const both = this.#restCipher.length === 0 ? cipher : concatBytes(cipher, this.#restCipher);
    return before === 0 ? both : both.subarray(before);
  }

  async finish(): Promise<Uint8Array> {
    return await this.#blocks.tag(this.#restCipher, this.#done + this.#restCipher.length);
  }
}
