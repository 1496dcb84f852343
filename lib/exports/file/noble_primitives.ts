/**
 * Everything in plain JavaScript by noble, in slices between which other work runs. Its modules are loaded when they are
 * first needed.
 *
 * @module
 */

import { lengthBlock, xor } from "./block.ts";
import { type BlockCipher, blockStream } from "./block_stream.ts";
import { blockBytes, counterBlock } from "./counter.ts";
import type { GcmSecret } from "./kernels.ts";
import type { Primitives } from "./primitives.ts";

/** Bytes encrypted in one slice; some 3 ms. */
export const sliceBytes = 131_072;
/** Longest slice of a key derivation, in ms. */
export const sliceMsMax = 10;

/** What needs nothing of the runtime. */
export const noblePrimitives: Primitives = {
  gcm: secret => blockStream(new NobleBlocks(secret)),
  ctr,
  async pbkdf2(password, salt, iterations) {
    const { pbkdf2Async } = await import("@noble/hashes/pbkdf2.js");
    const { sha256 } = await import("@noble/hashes/sha2.js");
    return await pbkdf2Async(sha256, password, salt, { c: iterations, dkLen: 32, asyncTick: sliceMsMax });
  },
};

interface Hash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

class NobleBlocks implements BlockCipher {
  readonly #secret: GcmSecret;
  readonly #hash: Promise<Hash>;

  constructor(secret: GcmSecret) {
    this.#secret = secret;
    this.#hash = hashOf(secret.key);
  }

  async encrypt(plain: Uint8Array, block: number): Promise<Uint8Array> {
    const hash = await this.#hash;
    const cipher = new Uint8Array(plain.length);
    for (let from = 0; from < plain.length; from += sliceBytes) {
      if (from > 0) await pause();
      const slice = await this.keyed(plain.subarray(from, from + sliceBytes), block + from / blockBytes);
      hash.update(slice);
      cipher.set(slice, from);
    }
    return cipher;
  }

  async keyed(plain: Uint8Array, block: number): Promise<Uint8Array> {
    return await keyedSlice(this.#secret.key, counterBlock(this.#secret.iv, block), plain);
  }

  async tag(rest: Uint8Array, length: number): Promise<Uint8Array> {
    const hash = await this.#hash;
    if (rest.length > 0) hash.update(Uint8Array.from(rest));
    hash.update(lengthBlock(length));
    return xor(hash.digest(), await this.keyed(new Uint8Array(blockBytes), -1));
  }
}

async function hashOf(key: Uint8Array): Promise<Hash> {
  const { ghash } = await import("@noble/ciphers/_polyval.js");
  const zeros = new Uint8Array(blockBytes);
  return ghash.create(Uint8Array.from(await keyedSlice(key, zeros, zeros)));
}

async function ctr(key: Uint8Array, counter: Uint8Array, bytes: Uint8Array): Promise<Uint8Array> {
  const [iv, first] = [
    counter.subarray(0, 12),
    new DataView(counter.buffer, counter.byteOffset).getUint32(12),
  ];
  const result = new Uint8Array(bytes.length);
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    if (from > 0) await pause();
    const block = first - 2 + from / blockBytes;
    result.set(await keyedSlice(key, counterBlock(iv, block), bytes.subarray(from, from + sliceBytes)), from);
  }
  return result;
}

async function keyedSlice(key: Uint8Array, counter: Uint8Array, bytes: Uint8Array): Promise<Uint8Array> {
  const { ctr: cipher } = await import("@noble/ciphers/aes.js");
  return cipher(Uint8Array.from(key), Uint8Array.from(counter)).encrypt(Uint8Array.from(bytes));
}

/** Lets everything else run that is due. */
function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 0));
}
