/**
 * The field that GHASH calculates in: GF(2^128), a block's first bit being the lowest power (NIST SP 800-38D, 6.3). For a few
 * products per file and piece; what is hashed in bulk goes elsewhere. Every product takes the same time.
 *
 * @module
 */

import { blockBytes } from "./counter.ts";

/** A block as an element: four words, the first bytes highest. */
export type Element = readonly [number, number, number, number];

/** The neutral element of sums. */
export const zero: Element = [0, 0, 0, 0];
/** The neutral element of products: the block 80 00 … 00. */
export const one: Element = [0x80000000, 0, 0, 0];

const reduction = 0xe1000000;

/** The block as an element. */
export function elementOf(block: Uint8Array): Element {
  const view = new DataView(block.buffer, block.byteOffset, blockBytes);
  return [view.getUint32(0), view.getUint32(4), view.getUint32(8), view.getUint32(12)];
}

/** The element as a block. */
export function blockOf(element: Element): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(blockBytes);
  const view = new DataView(block.buffer);
  element.forEach((word, index) => {
    view.setUint32(index * 4, word);
  });
  return block;
}

/** The sum. */
export function plus(a: Element, b: Element): Element {
  return [(a[0] ^ b[0]) >>> 0, (a[1] ^ b[1]) >>> 0, (a[2] ^ b[2]) >>> 0, (a[3] ^ b[3]) >>> 0];
}

/** The product: `b` times each power of x that is in `a`, added up. */
export function times(a: Element, b: Element): Element {
  let [p0, p1, p2, p3] = [0, 0, 0, 0];
  let [b0, b1, b2, b3] = b;
  for (const word of a) {
    for (let bit = 31; bit >= 0; bit--) {
      const isThere = -((word >>> bit) & 1);
      p0 ^= b0 & isThere;
      p1 ^= b1 & isThere;
      p2 ^= b2 & isThere;
      p3 ^= b3 & isThere;
      const leaves = -(b3 & 1);
      b3 = (b3 >>> 1) | (b2 << 31);
      b2 = (b2 >>> 1) | (b1 << 31);
      b1 = (b1 >>> 1) | (b0 << 31);
      b0 = (b0 >>> 1) ^ (reduction & leaves);
    }
  }
  return [p0 >>> 0, p1 >>> 0, p2 >>> 0, p3 >>> 0];
}

/** The product of `exponent` times the element; the exponent is not negative. */
export function power(base: Element, exponent: bigint): Element {
  let result = one;
  let square = base;
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = times(result, square);
    square = times(square, square);
  }
  return result;
}

/** What gives {@linkcode one} in a product with the element, which is not {@linkcode zero} (Fermat). */
export function inverse(element: Element): Element {
  return power(element, (1n << 128n) - 2n);
}
