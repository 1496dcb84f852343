/** Blocks of 16 bytes. */

import { blockBytes } from "./counter.ts";

/** The last block that GHASH takes in: the number of bits of the additional data, here none, and of the ciphertext. */
export function lengthBlock(cipherBytes: number): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(blockBytes);
  new DataView(block.buffer).setBigUint64(8, BigInt(cipherBytes) * 8n);
  return block;
}

/** Two byte strings of one length, bit by bit exclusive. */
export function xor(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(a, (byte, index) => byte ^ (b[index] ?? 0));
}
