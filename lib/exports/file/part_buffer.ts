/**
 * The bytes of a part while it grows, in memory that is used again for the part after the next.
 *
 * Parts live long enough to be moved to where memory is collected rarely, so that those of many seconds would pile up.
 *
 * @module
 */

/** Bytes that a buffer has room for at first; a little more than a part. */
export const partBufferBytes: number = 5 * 1_024 * 1_024;
/** Bytes that are handed out at a time. */
export const partSliceBytes: number = 256 * 1_024;

/** A buffer that grows where it must. */
export class PartBuffer {
  #bytes: Uint8Array = new Uint8Array(partBufferBytes);
  #length = 0;

  /** Bytes that were added since it was emptied. */
  get length(): number {
    return this.#length;
  }

  /** Adds a copy of the bytes. */
  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /** What was added, in views of the buffer. */
  slices(): readonly Uint8Array[] {
    const slices: Uint8Array[] = [];
    for (let from = 0; from < this.#length; from += partSliceBytes) {
      slices.push(this.#bytes.subarray(from, Math.min(from + partSliceBytes, this.#length)));
    }
    return slices;
  }

  empty(): void {
    this.#length = 0;
  }
}
