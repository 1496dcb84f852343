/**
 * A Fenwick tree (P. Fenwick, "A new data structure for cumulative frequency tables", 1994) over the counts of a row of
 * blocks: adding to one count, summing a prefix and finding the block of a position are O(log n).
 *
 * Departure from the paper: blocks are also inserted and removed, which a Fenwick tree cannot do. As a block holds
 * hundreds of entries this is rare, so the tree is then rebuilt from the counts, in O(n) without multiplication.
 *
 * @module
 */

/** A block and an offset inside of it. */
export interface FenwickPosition {
  block: number;
  offset: number;
}

/** Cumulative counts over blocks 0 to `size` - 1. */
export class Fenwick {
  #tree: Int32Array = new Int32Array(2);
  #size = 0;
  #top = 0;

  /** Takes over the first `size` counts. */
  rebuild(counts: Int32Array, size: number): void {
    if (this.#tree.length <= size) this.#tree = new Int32Array(Math.max(size + 1, this.#tree.length * 2));
    const tree = this.#tree;
    this.#size = size;
    this.#top = size === 0 ? 0 : 1 << (31 - Math.clz32(size));
    tree.fill(0, 1, size + 1);
    for (let i = 1; i <= size; i++) {
      const sum = read(tree, i) + read(counts, i - 1);
      tree[i] = sum;
      const parent = i + (i & -i);
      if (parent <= size) tree[parent] = read(tree, parent) + sum;
    }
  }

  /** Adds to the count of one block. */
  add(block: number, by: number): void {
    const tree = this.#tree;
    for (let i = block + 1; i <= this.#size; i += i & -i) tree[i] = read(tree, i) + by;
  }

  /** Returns the sum of the counts of all blocks before this one. */
  before(block: number): number {
    const tree = this.#tree;
    let sum = 0;
    for (let i = block; i > 0; i -= i & -i) sum += read(tree, i);
    return sum;
  }

  /** Writes to `place` where a position lies; it must be below the sum of all counts. */
  locate(position: number, place: FenwickPosition): void {
    const tree = this.#tree;
    let block = 0;
    let left = position;
    for (let step = this.#top; step > 0; step >>= 1) {
      const next = block + step;
      if (next > this.#size) continue;
      const count = read(tree, next);
      if (count <= left) {
        block = next;
        left -= count;
      }
    }
    place.block = block;
    place.offset = left;
  }
}

function read(array: Int32Array, index: number): number {
  return array[index] as number;
}
