/**
 * The storage of order blocks: up to 256 entries of score, tie and slot each, cut from slabs of 64 blocks (320 KiB).
 *
 * The score and tie stand here a second time, beside the slot, so that a search inside of a block reads neighbouring
 * words instead of one random row per step. The first slab doubles from half a block up to its full size.
 *
 * @module
 */

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

  /** Gives a block back. */
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

/** A view that points nowhere yet. */
export function blockView(): BlockView {
  return { keys: new Float64Array(0), slots: new Int32Array(0), base: 0 };
}
