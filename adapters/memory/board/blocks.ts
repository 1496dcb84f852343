/**
 * The storage of order blocks: up to 256 entries of score, tie and slot each, cut from slabs of 64 blocks (320 KiB).
 *
 * The score and tie stand here a second time, beside the slot, so that a search inside of a block reads neighbouring
 * words instead of one random row per step. The first slab doubles from half a block up to its full size.
 *
 * @module
 */

import { Fenwick, type FenwickPosition } from "./fenwick.ts";

const blockBits = 8;
/** Entries in a full block. */
export const blockEntries: number = 1 << blockBits;
const slabBits = 6;
const slabEntries: number = blockEntries << slabBits;
const firstEntries: number = blockEntries / 2;

/** The columns in which a block lies: its entry `i` is at `base + i`. */
export interface BlockView {
  /** Score and tie of an entry at twice its index. */
  keys: Float64Array;
  slots: Int32Array;
  base: number;
}

/** Blocks by number. */
export class BlockSlab {
  readonly #slabs: { readonly keys: Float64Array; readonly slots: Int32Array }[] = [];
  readonly #free: number[] = [];
  #used = 0;

  /** Takes a block; its entries are undefined until written. */
  take(): number {
    return this.#free.pop() ?? this.#used++;
  }

  /** Frees a block. */
  release(block: number): void {
    this.#free.push(block);
  }

  /** Points `view` at a block, with room for `entries` of its entries. Making room invalidates other views. */
  open(block: number, entries: number, view: BlockView): void {
    const base = (block & ((1 << slabBits) - 1)) << blockBits;
    const index = block >>> slabBits;
    let slab = this.#slabs[index];
    if (slab === undefined || slab.slots.length < base + entries) slab = this.#grow(index, base + entries);
    view.keys = slab.keys;
    view.slots = slab.slots;
    view.base = base;
  }

  #grow(index: number, entries: number): { readonly keys: Float64Array; readonly slots: Int32Array } {
    let length = index === 0 ? firstEntries : slabEntries;
    while (length < entries) length *= 2;
    const slab = { keys: new Float64Array(length * 2), slots: new Int32Array(length) };
    const before = this.#slabs[index];
    if (before !== undefined) {
      slab.keys.set(before.keys);
      slab.slots.set(before.slots);
    }
    this.#slabs[index] = slab;
    return slab;
  }
}

/** Returns a view that points nowhere yet. */
export function blockView(): BlockView {
  return { keys: new Float64Array(0), slots: new Int32Array(0), base: 0 };
}

const firstPositions = 4;

/** Blocks by position. After `insert`, `remove` or direct changes of `counts` the sums need a `rebuild`. */
export class BlockRow {
  size = 0;
  blocks: Int32Array = new Int32Array(firstPositions);
  counts: Int32Array = new Int32Array(firstPositions);
  scores: Float64Array = new Float64Array(firstPositions);
  ties: Float64Array = new Float64Array(firstPositions);
  slots: Int32Array = new Int32Array(firstPositions);
  readonly #sums: Fenwick = new Fenwick();

  /** Puts an empty block at a position and moves the later ones up. */
  insert(position: number, block: number): void {
    if (this.size === this.blocks.length) this.#widen();
    for (const column of this.#columns()) column.copyWithin(position + 1, position, this.size);
    this.blocks[position] = block;
    this.counts[position] = 0;
    this.size++;
  }

  /** Takes a position out and moves the later ones down. */
  remove(position: number): void {
    for (const column of this.#columns()) column.copyWithin(position, position + 1, this.size);
    this.size--;
  }

  /** Stores the first entry of the block at a position. */
  setFirst(position: number, score: number, tie: number, slot: number): void {
    this.scores[position] = score;
    this.ties[position] = tie;
    this.slots[position] = slot;
  }

  /** Adds to the count at a position. */
  grow(position: number, by: number): void {
    this.counts[position] = (this.counts[position] as number) + by;
    this.#sums.add(position, by);
  }

  /** Sums the counts anew. */
  rebuild(): void {
    this.#sums.rebuild(this.counts, this.size);
  }

  /** Returns the number of entries in the blocks before a position. */
  before(position: number): number {
    return this.#sums.before(position);
  }

  /** Finds the position and offset of the entry with this ordinal. */
  locate(ordinal: number, place: FenwickPosition): void {
    this.#sums.locate(ordinal, place);
  }

  #columns(): (Int32Array | Float64Array)[] {
    return [this.blocks, this.counts, this.scores, this.ties, this.slots];
  }

  #widen(): void {
    const length = this.blocks.length * 2;
    this.blocks = widened(new Int32Array(length), this.blocks);
    this.counts = widened(new Int32Array(length), this.counts);
    this.scores = widened(new Float64Array(length), this.scores);
    this.ties = widened(new Float64Array(length), this.ties);
    this.slots = widened(new Int32Array(length), this.slots);
  }
}

function widened<A extends Int32Array | Float64Array>(wide: A, narrow: A): A {
  wide.set(narrow);
  return wide;
}
