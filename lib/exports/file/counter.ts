/** Positions in the key stream of AES-GCM. */

/** Bytes of a block of AES. */
export const blockBytes = 16;
/** Most bytes of one encryption: 2^36 - 32, because the counter has 32 bits (NIST SP 800-38D, 5.2.1.1). */
export const plainBytesMax = 68_719_476_704;

/** The counter block of a block of the data; the tag's own is that of -1. */
export function counterBlock(iv: Uint8Array, block: number): Uint8Array<ArrayBuffer> {
  const counter = new Uint8Array(blockBytes);
  counter.set(iv);
  new DataView(counter.buffer).setUint32(iv.length, block + 2);
  return counter;
}
