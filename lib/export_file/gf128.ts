/**
 * The field that GHASH calculates in: GF(2^128), a block's first bit being the lowest power (NIST SP 800-38D, 6.3). For a few
 * products per file and piece; what is hashed in bulk goes elsewhere.
 *
 * @module
 */

import { blockBytes } from "./counter.ts";

/** A block as an element: its bytes as one number, first byte highest. */
export type Element = bigint;

/** The neutral element of products: the block 80 00 … 00. */
export const one: Element = 1n << 127n;

const reduction = 0xe1n << 120n;

/** The block as an element. */
export function elementOf(block: Uint8Array): Element {
  const view = new DataView(block.buffer, block.byteOffset, blockBytes);
  return (view.getBigUint64(0) << 64n) | view.getBigUint64(8);
}

/** The element as a block. */
export function blockOf(element: Element): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(blockBytes);
  const view = new DataView(block.buffer);
  view.setBigUint64(0, element >> 64n);
  view.setBigUint64(8, BigInt.asUintN(64, element));
  return block;
}

/** The product. */
export function times(a: Element, b: Element): Element {
  let product = 0n;
  let shifted = b;
  for (let bit = 127n; bit >= 0n; bit--) {
    if (((a >> bit) & 1n) === 1n) product ^= shifted;
    shifted = (shifted & 1n) === 1n ? (shifted >> 1n) ^ reduction : shifted >> 1n;
  }
  return product;
}

/** The product of `exponent` times the element. */
export function power(base: Element, exponent: bigint): Element {
  let result = one;
  let square = base;
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = times(result, square);
    square = times(square, square);
  }
  return result;
}

/** What gives {@linkcode one} in a product with the element, which is not 0 (Fermat). */
export function inverse(element: Element): Element {
  return power(element, (1n << 128n) - 2n);
}
