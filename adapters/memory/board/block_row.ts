/**
 * The row of blocks in order: which block stands at which position, the first entry and the count of each.
 *
 * The first entries lie in arrays of their own, so that the binary search for a block stays inside a few cache lines.
 *
 * @module
 */
import { Fenwick, type Place } from "./fenwick.ts";

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

  /** The number of entries in the blocks before a position. */
  before(position: number): number {
    return this.#sums.before(position);
  }

  /** Finds the position and offset of the entry with this ordinal. */
  locate(ordinal: number, place: Place): void {
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
