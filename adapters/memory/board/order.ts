/**
 * The order of a large ranked set: entries (score, tie, slot) in counted blocks of up to 256, a sorted list cut into
 * pieces, with a Fenwick tree over the counts.
 *
 * An insertion finds its block by binary search over the first entries, its place by binary search inside, and shifts
 * half a block of typed arrays at most, which costs less than the cache misses of a tree's path. A full block splits in
 * half, or opens a new block where the entry goes to the very end, so that ascending input fills blocks completely.
 * Blocks that fall below a quarter are merged with a neighbour. Entries with equal score and tie are ordered by the
 * comparison of their members, which the caller supplies.
 */

const blockBits = 8;
export const blockEntries: number = 1 << blockBits;
const mergeBelow: number = blockEntries / 4;
/** Entries between the first two steps of a search: a cache line of scores and ties. */
const firstStep = 4;
/** Up to here a loop moves entries faster than two calls of the runtime do. */
const loopMax = 32;
const mergedMax: number = (blockEntries / 4) * 3;

export class Order {
  readonly #row: BlockRow = new BlockRow();
  readonly #slab: BlockSlab = new BlockSlab();
  readonly #compare: (slot: number, other: number) => number;
  readonly #view: BlockView = blockView();
  readonly #other: BlockView = blockView();
  readonly #place: FenwickPosition = { block: 0, offset: 0 };

  /** `compareMembers` orders two slots whose score and tie are equal. */
  constructor(compareMembers: (slot: number, other: number) => number) {
    this.#compare = compareMembers;
    this.#row.insert(0, this.#slab.take());
    this.#row.rebuild();
  }

  insert(score: number, tie: number, slot: number): void {
    this.#insertAt(this.#position(score, tie, slot), score, tie, slot);
  }

  remove(score: number, tie: number, slot: number): void {
    const position = this.#position(score, tie, slot);
    this.#removeAt(position, this.#offset(position, score, tie, slot));
    if (this.#count(position) < mergeBelow) this.#merge(position);
  }

  move(score: number, tie: number, slot: number, newScore: number, newTie: number): void {
    const position = this.#position(score, tie, slot);
    const target = this.#position(newScore, newTie, slot);
    const from = this.#offset(position, score, tie, slot);
    if (position === target) {
      this.#moveInside(position, from, newScore, newTie, slot);
    } else if (this.#count(position) > mergeBelow) {
      this.#removeAt(position, from);
      this.#insertAt(target, newScore, newTie, slot);
    } else {
      // Merging renumbers the positions.
      this.remove(score, tie, slot);
      this.insert(newScore, newTie, slot);
    }
  }

  /** Returns the number of scores that are lower than this one, or with `inclusive` lower or equal. */
  below(score: number, inclusive: boolean): number {
    const { scores, size } = this.#row;
    let low = 0;
    let high = size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = scores[middle] as number;
      if (other < score || (inclusive && other === score)) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return 0;
    // No tie is infinite, so that no entry is equal to this one.
    const tie = inclusive ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    return this.#row.before(low - 1) + this.#offset(low - 1, score, tie, -1);
  }

  /** Returns the number of entries that come before a point; `isBefore` decides for slots that share its score and tie. */
  before(score: number, tie: number, isBefore: (slot: number) => boolean): number {
    const { scores, ties, slots, size } = this.#row;
    const blocks = partition(0, size, at => {
      return isBelow(scores[at] as number, ties[at] as number, slots[at] as number);
    });
    if (blocks === 0) return 0;
    const view = this.#open(blocks - 1, 0);
    const inside = partition(view.base, view.base + this.#count(blocks - 1), at => {
      return isBelow(view.keys[at * 2] as number, view.keys[at * 2 + 1] as number, view.slots[at] as number);
    });
    return this.#row.before(blocks - 1) + inside - view.base;

    function isBelow(otherScore: number, otherTie: number, slot: number): boolean {
      if (otherScore !== score) return otherScore < score;
      return otherTie === tie ? isBefore(slot) : otherTie < tie;
    }
  }

  /** Calls `visit` with the slots of `count` entries from an ordinal on, upwards or downwards. */
  visit(start: number, count: number, reverse: boolean, visit: (slot: number) => void): void {
    this.#row.locate(start, this.#place);
    let { block: position, offset } = this.#place;
    let view = this.#open(position, 0);
    const step = reverse ? -1 : 1;
    for (let left = count; left > 0; left--) {
      if (offset < 0 || offset >= this.#count(position)) {
        position += step;
        view = this.#open(position, 0);
        offset = reverse ? this.#count(position) - 1 : 0;
      }
      visit(view.slots[view.base + offset] as number);
      offset += step;
    }
  }

  #count(position: number): number {
    return this.#row.counts[position] as number;
  }

  #open(position: number, entries: number): BlockView {
    this.#slab.open(this.#row.blocks[position] as number, entries, this.#view);
    return this.#view;
  }

  /** Returns the last block whose first entry is not above the given one, else the first block. */
  #position(score: number, tie: number, slot: number): number {
    const { scores, ties, slots, size } = this.#row;
    let low = 1;
    let high = size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = scores[middle] as number;
      const above =
        other === score
          ? this.#above(ties[middle] as number, slots[middle] as number, tie, slot)
          : other > score;
      if (above) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }

  /**
   * Returns the offset in the block of the first entry that is not below the given one. Scores between the first of this block and
   * the first of the next tell where it would be if they were even: from there the search widens until it has the place
   * between two steps, so that it reads two cache lines where scores are even, and O(log n) wherever they are not.
   */
  #offset(position: number, score: number, tie: number, slot: number): number {
    const { keys, slots, base } = this.#open(position, 0);
    const count = this.#count(position);
    let low = base;
    let high = base + count;
    if (count === 0) return 0;
    let middle = base + this.#guess(position, count, score);
    let step = firstStep;
    let isBracketed = false;
    let wasBelow = false;
    while (low < high) {
      const other = keys[middle * 2] as number;
      const below =
        other === score
          ? this.#above(tie, slot, keys[middle * 2 + 1] as number, slots[middle] as number)
          : other < score;
      if (below) low = middle + 1;
      else high = middle;
      isBracketed ||= step > firstStep && below !== wasBelow;
      wasBelow = below;
      middle = below ? low + step : high - step;
      if (isBracketed || middle < low || middle >= high) middle = (low + high) >>> 1;
      else step *= 2;
    }
    return low - base;
  }

  /** Returns the offset at which a score would be if the scores of a block were even. */
  #guess(position: number, count: number, score: number): number {
    const { scores, size } = this.#row;
    const first = scores[position] as number;
    const next = position + 1 < size ? (scores[position + 1] as number) : Number.NaN;
    const guess = ((score - first) / (next - first)) * count;
    // Not so where the scores are equal, infinitely far away, or nothing is known about the last one.
    if (!(guess >= 0)) return count >>> 1;
    return guess < count ? Math.floor(guess) : count - 1;
  }

  /** Returns true if the first of two entries with equal scores is above the second. */
  #above(tie: number, slot: number, otherTie: number, otherSlot: number): boolean {
    return tie === otherTie ? slot !== otherSlot && this.#compare(slot, otherSlot) > 0 : tie > otherTie;
  }

  #insertAt(position: number, score: number, tie: number, slot: number): void {
    let target = position;
    let at = this.#offset(position, score, tie, slot);
    if (this.#count(position) === blockEntries) {
      target = this.#divide(position, at);
      at = this.#offset(target, score, tie, slot);
    }
    const count = this.#count(target);
    const view = this.#open(target, count + 1);
    shift(view, at, count, 1);
    write(view, at, score, tie, slot);
    if (at === 0) this.#row.setFirst(target, score, tie, slot);
    this.#row.grow(target, 1);
  }

  #removeAt(position: number, at: number): void {
    const count = this.#count(position);
    shift(this.#open(position, 0), at + 1, count, -1);
    this.#row.grow(position, -1);
    if (at === 0 && count > 1) this.#refreshFirst(position);
  }

  #moveInside(position: number, from: number, score: number, tie: number, slot: number): void {
    const to = this.#offset(position, score, tie, slot);
    const at = to > from ? to - 1 : to;
    const view = this.#open(position, 0);
    if (to > from) shift(view, from + 1, to, -1);
    else shift(view, to, from, 1);
    write(view, at, score, tie, slot);
    if (from === 0 || at === 0) this.#refreshFirst(position);
  }

  #refreshFirst(position: number): void {
    const { keys, slots, base } = this.#open(position, 0);
    this.#row.setFirst(
      position,
      keys[base * 2] as number,
      keys[base * 2 + 1] as number,
      slots[base] as number,
    );
  }

  /** Cuts a full block so that an entry fits at offset `at`; returns the position to which it now belongs. */
  #divide(position: number, at: number): number {
    const atEnd = at === blockEntries && position === this.#row.size - 1;
    const remaining = atEnd ? blockEntries : blockEntries / 2;
    this.#row.insert(position + 1, this.#slab.take());
    this.#transfer(position, position + 1, remaining);
    if (!atEnd) this.#refreshFirst(position + 1);
    this.#row.rebuild();
    return atEnd || at > remaining ? position + 1 : position;
  }

  #merge(position: number): void {
    if (this.#row.size === 1) return;
    const left = position === 0 || this.#isRoomierAfter(position) ? position : position - 1;
    const wasEmpty = this.#count(left) === 0;
    const hasEmpty = wasEmpty || this.#count(left + 1) === 0;
    if (!hasEmpty && this.#count(left) + this.#count(left + 1) > mergedMax) return;
    this.#transfer(left + 1, left, 0);
    this.#slab.release(this.#row.blocks[left + 1] as number);
    this.#row.remove(left + 1);
    if (wasEmpty) this.#refreshFirst(left);
    this.#row.rebuild();
  }

  #isRoomierAfter(position: number): boolean {
    return position + 1 < this.#row.size && this.#count(position + 1) < this.#count(position - 1);
  }

  /** Moves all entries of a block from offset `from` on to the end of another block. */
  #transfer(source: number, target: number, from: number): void {
    const { blocks, counts } = this.#row;
    const moved = this.#count(source) - from;
    const targetCount = this.#count(target);
    this.#slab.open(blocks[target] as number, targetCount + moved, this.#other);
    const { keys, slots, base } = this.#open(source, 0);
    const start = base + from;
    const end = start + moved;
    this.#other.keys.set(keys.subarray(start * 2, end * 2), (this.#other.base + targetCount) * 2);
    this.#other.slots.set(slots.subarray(start, end), this.#other.base + targetCount);
    counts[source] = from;
    counts[target] = targetCount + moved;
  }
}

/** Returns the first number from `low` on that is not below, or `high`. */
function partition(low: number, high: number, isBelow: (at: number) => boolean): number {
  let first = low;
  let end = high;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (isBelow(middle)) first = middle + 1;
    else end = middle;
  }
  return first;
}

function shift({ keys, slots, base }: BlockView, from: number, to: number, by: 1 | -1): void {
  const start = base + from;
  const end = base + to;
  if (end - start > loopMax) {
    keys.copyWithin((start + by) * 2, start * 2, end * 2);
    slots.copyWithin(start + by, start, end);
    return;
  }
  const first = by === 1 ? end - 1 : start;
  for (let at = first; at >= start && at < end; at -= by) {
    keys[(at + by) * 2] = keys[at * 2] as number;
    keys[(at + by) * 2 + 1] = keys[at * 2 + 1] as number;
    slots[at + by] = slots[at] as number;
  }
}

function write(view: BlockView, offset: number, score: number, tie: number, slot: number): void {
  const at = view.base + offset;
  view.keys[at * 2] = score;
  view.keys[at * 2 + 1] = tie;
  view.slots[at] = slot;
}

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

class BlockSlab {
  readonly #slabs: { readonly keys: Float64Array; readonly slots: Int32Array }[] = [];
  readonly #free: number[] = [];
  #used = 0;

  /** Takes a block; its entries are undefined until written. */
  take(): number {
    return this.#free.pop() ?? this.#used++;
  }

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

function blockView(): BlockView {
  return { keys: new Float64Array(0), slots: new Int32Array(0), base: 0 };
}

const firstPositions = 4;

/** Blocks by position. After `insert`, `remove` or direct changes of `counts` the sums need a `rebuild`. */
class BlockRow {
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

  remove(position: number): void {
    for (const column of this.#columns()) column.copyWithin(position, position + 1, this.size);
    this.size--;
  }

  setFirst(position: number, score: number, tie: number, slot: number): void {
    this.scores[position] = score;
    this.ties[position] = tie;
    this.slots[position] = slot;
  }

  grow(position: number, by: number): void {
    this.counts[position] = (this.counts[position] as number) + by;
    this.#sums.add(position, by);
  }

  rebuild(): void {
    this.#sums.rebuild(this.counts, this.size);
  }

  before(position: number): number {
    return this.#sums.before(position);
  }

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

interface FenwickPosition {
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

  add(block: number, by: number): void {
    const tree = this.#tree;
    for (let i = block + 1; i <= this.#size; i += i & -i) tree[i] = read(tree, i) + by;
  }

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
