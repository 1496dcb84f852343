/**
 * AES-256-GCM over a stream by WebCrypto, which encrypts whole messages only.
 *
 * Every piece is a message of its own, under an initialization vector chosen so that its counter begins where the piece
 * before ended. GCM takes a vector of 16 bytes through its hash: J0 = (IV·H ⊕ 128)·H, where H is the encrypted zero block and 128 the
 * length of the vector. So IV = (J0·H⁻¹ ⊕ 128)·H⁻¹ gives any J0 that is wanted. The tag of such a message is E(J0) ⊕ G, G being the
 * hash of its ciphertext and length, and E(J0) the key stream of the block before. The hash is linear: that of everything is
 * the one so far times H to the number of new blocks, plus that of the piece alone.
 *
 * Only messages of this one file are encrypted under the key, and no counter is used for two of them.
 *
 * @module
 */

import { lengthBlock, xor } from "./block.ts";
import { type BlockCipher, blockStream } from "./block_stream.ts";
import { blockBytes, counterBlock } from "./counter.ts";
import { blockOf, type Element, elementOf, inverse, one, plus, power, times, zero } from "./gf128.ts";
import type { GcmEncryption, GcmSecret } from "./kernels.ts";

/** Most bytes of one message. */
export const webPieceBytesMax = 1_048_576;

/** Bits of a vector of 16 bytes, as the block that its hash ends with. */
const vectorBits: Element = [0, 0, 0, 128];

/** Begins an encryption by WebCrypto. */
export function webGcm(subtle: SubtleCrypto, secret: GcmSecret): GcmEncryption {
  return blockStream(new WebBlocks(subtle, secret));
}

/** The bytes under the key stream of AES-CTR that begins with a counter block. */
export async function webCtr(
  subtle: SubtleCrypto,
  key: CryptoKey,
  { counter, bytes }: { readonly counter: Uint8Array; readonly bytes: Uint8Array },
): Promise<Uint8Array> {
  const algorithm = { name: "AES-CTR", counter: Uint8Array.from(counter), length: 32 };
  return new Uint8Array(await subtle.encrypt(algorithm, key, bytes as BufferSource));
}

/** Keys and powers, made once per file. */
interface Setup {
  readonly gcm: CryptoKey;
  readonly ctr: CryptoKey;
  readonly h: Element;
  readonly hInverse: Element;
  /** H⁻², and H⁻¹ times the length of a vector: IV = J0 · squared ⊕ length. */
  readonly hInverseSquared: Element;
  readonly lengthInVector: Element;
  /** The key stream of the tag. */
  readonly tagMask: Uint8Array;
}

class WebBlocks implements BlockCipher {
  readonly #subtle: SubtleCrypto;
  readonly #iv: Uint8Array;
  readonly #setup: Promise<Setup>;
  /** The hash of all ciphertext blocks so far. */
  #hash: Element = zero;
  /** The key stream of the last block so far. */
  #lastMask: Uint8Array | null = null;
  /** The power of H for pieces of so many blocks; one size is the rule. */
  #power: { readonly blocks: number; readonly value: Element } = { blocks: 0, value: one };

  constructor(subtle: SubtleCrypto, secret: GcmSecret) {
    this.#subtle = subtle;
    this.#iv = secret.iv;
    this.#setup = prepare(subtle, secret);
  }

  async encrypt(plain: Uint8Array, block: number): Promise<Uint8Array> {
    if (plain.length <= webPieceBytesMax) return await this.#piece(plain, block);
    const cipher = new Uint8Array(plain.length);
    for (let from = 0; from < plain.length; from += webPieceBytesMax) {
      const piece = plain.subarray(from, from + webPieceBytesMax);
      cipher.set(await this.#piece(piece, block + from / blockBytes), from);
    }
    return cipher;
  }

  async keyed(plain: Uint8Array, block: number): Promise<Uint8Array> {
    const { ctr } = await this.#setup;
    return await webCtr(this.#subtle, ctr, { counter: counterBlock(this.#iv, block), bytes: plain });
  }

  async tag(rest: Uint8Array, length: number): Promise<Uint8Array> {
    const { h, tagMask } = await this.#setup;
    let hash = this.#hash;
    if (rest.length > 0) {
      const padded = new Uint8Array(blockBytes);
      padded.set(rest);
      hash = times(plus(hash, elementOf(padded)), h);
    }
    return xor(blockOf(times(plus(hash, elementOf(lengthBlock(length))), h)), tagMask);
  }

  /** One message. */
  async #piece(plain: Uint8Array, block: number): Promise<Uint8Array> {
    const { gcm, h, hInverse, hInverseSquared, lengthInVector, tagMask } = await this.#setup;
    const start = elementOf(counterBlock(this.#iv, block - 1));
    const iv = blockOf(plus(times(start, hInverseSquared), lengthInVector));
    const sealed = new Uint8Array(
      await this.#subtle.encrypt({ name: "AES-GCM", iv, tagLength: 128 }, gcm, plain as BufferSource),
    );
    const cipher = sealed.subarray(0, plain.length);
    const startMask = block === 0 ? tagMask : this.#lastMask;
    if (startMask === null) throw new RangeError("Cannot encrypt a block before those that come first");
    const hashed = elementOf(xor(sealed.subarray(plain.length), startMask));
    const alone = plus(times(hashed, hInverse), elementOf(lengthBlock(plain.length)));
    this.#hash = plus(times(this.#hash, this.#powerOf(h, plain.length / blockBytes)), alone);
    this.#lastMask = xor(plain.subarray(-blockBytes), cipher.subarray(-blockBytes));
    return cipher;
  }

  #powerOf(h: Element, blocks: number): Element {
    if (this.#power.blocks !== blocks) this.#power = { blocks, value: power(h, BigInt(blocks)) };
    return this.#power.value;
  }
}

async function prepare(subtle: SubtleCrypto, { key, iv }: GcmSecret): Promise<Setup> {
  const raw = Uint8Array.from(key);
  const gcm = await subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt"]);
  const ctr = await subtle.importKey("raw", raw, "AES-CTR", false, ["encrypt"]);
  const zeros = new Uint8Array(blockBytes);
  const h = elementOf(await webCtr(subtle, ctr, { counter: zeros, bytes: zeros }));
  const hInverse = inverse(h);
  return {
    gcm,
    ctr,
    h,
    hInverse,
    hInverseSquared: times(hInverse, hInverse),
    lengthInVector: times(vectorBits, hInverse),
    tagMask: await webCtr(subtle, ctr, { counter: counterBlock(iv, -1), bytes: zeros }),
  };
}
