/**
 * The index from a member to its slot: extendible hashing (Fagin, Nievergelt, Pippenger, Strong, 1979) over small
 * open-addressing segments with linear probing.
 *
 * One table that doubles would stop the world while it rehashes a million entries. Here the low bits of the hash choose
 * a segment and a full segment splits in two, so no operation ever moves more than one segment. A cell is two words,
 * the hash and slot + 1: probing, splitting and deleting (by shifting back, without tombstones) then touch no rows.
 *
 * Departure from the paper: a segment whose hashes cannot be told apart any more (`depthMax`) grows instead of splitting.
 *
 * @module
 */
import type { MemberSlab } from "./member_slab.ts";
import { parseUuid } from "./uuid.ts";

const firstCells = 128;
const segmentCellsMax = 4_096;
const depthMax = 20;

class Segment {
  cells: Int32Array;
  depth: number;
  count = 0;

  constructor(cells: number, depth: number) {
    this.cells = new Int32Array(cells * 2);
    this.depth = depth;
  }

  get full(): boolean {
    return this.count * 8 >= this.cells.length * 3;
  }

  add(hash: number, mark: number): void {
    const { cells } = this;
    const wrap = cells.length - 1;
    let at = home(hash, cells);
    while (cells[at + 1] !== 0) at = (at + 2) & wrap;
    cells[at] = hash;
    cells[at + 1] = mark;
    this.count++;
  }

  /** Empties a cell and moves later cells of the same run back, so that no probe ends too early. */
  clear(cell: number): void {
    const { cells } = this;
    const wrap = cells.length - 1;
    let hole = cell;
    for (let at = (hole + 2) & wrap; cells[at + 1] !== 0; at = (at + 2) & wrap) {
      const distance = (at - home(cells[at] as number, cells)) & wrap;
      if (distance < ((at - hole) & wrap)) continue;
      cells[hole] = cells[at] as number;
      cells[hole + 1] = cells[at + 1] as number;
      hole = at;
    }
    cells[hole + 1] = 0;
    this.count--;
  }
}

/** Finds slots by member. */
export class MemberTable {
  readonly #slab: MemberSlab;
  readonly #seed: number;
  readonly #words: Int32Array = new Int32Array(4);
  #directory: Segment[] = [new Segment(firstCells, 0)];
  /** Result of the last lookup, as most lookups are followed by a change of the same member. */
  #lastMember: string | undefined;
  #lastSlot = -1;
  #lastHash = 0;
  #lastIsUuid = false;

  /** Indexes the rows of `slab`; `seed` keeps clients from choosing members that collide. */
  constructor(slab: MemberSlab, seed: number) {
    this.#slab = slab;
    this.#seed = seed;
  }

  /** Returns the slot of a member, or -1. */
  find(member: string): number {
    if (member === this.#lastMember) return this.#lastSlot;
    const isUuid = parseUuid(member, this.#words);
    const hash = isUuid ? hashWords(this.#words, this.#seed) : hashText(member, this.#seed);
    this.#lastMember = member;
    this.#lastHash = hash;
    this.#lastIsUuid = isUuid;
    const cell = this.#cell(hash, member, isUuid);
    this.#lastSlot = cell < 0 ? -1 : (this.#segment(hash).cells[cell + 1] as number) - 1;
    return this.#lastSlot;
  }

  /** Takes a slot for a member that is not there yet. */
  insert(member: string): number {
    this.find(member);
    const slot = this.#slab.take(this.#words, this.#lastIsUuid ? undefined : member);
    let segment = this.#segment(this.#lastHash);
    while (segment.full) {
      this.#relieve(segment, this.#lastHash);
      segment = this.#segment(this.#lastHash);
    }
    segment.add(this.#lastHash, slot + 1);
    this.#lastSlot = slot;
    return slot;
  }

  /** Removes a member that is there, and frees its slot. */
  remove(member: string): void {
    const slot = this.find(member);
    const cell = this.#cell(this.#lastHash, member, this.#lastIsUuid);
    this.#segment(this.#lastHash).clear(cell);
    this.#slab.release(slot);
    this.#lastSlot = -1;
  }

  #segment(hash: number): Segment {
    return this.#directory[hash & (this.#directory.length - 1)] as Segment;
  }

  #cell(hash: number, member: string, isUuid: boolean): number {
    const { cells } = this.#segment(hash);
    const wrap = cells.length - 1;
    for (let at = home(hash, cells); ; at = (at + 2) & wrap) {
      const mark = cells[at + 1] as number;
      if (mark === 0) return -1;
      if (cells[at] !== hash) continue;
      if (isUuid ? this.#slab.holdsUuid(mark - 1, this.#words) : this.#slab.holdsText(mark - 1, member))
        return at;
    }
  }

  /** Makes room where `hash` belongs: by doubling a small segment, else by splitting it. */
  #relieve(segment: Segment, hash: number): void {
    const cells = segment.cells.length / 2;
    if (cells < segmentCellsMax || segment.depth === depthMax) {
      const wider = new Segment(cells * 2, segment.depth);
      spread(segment, () => wider);
      segment.cells = wider.cells;
      return;
    }
    if (1 << segment.depth === this.#directory.length)
      this.#directory = [...this.#directory, ...this.#directory];
    const bit = 1 << segment.depth;
    const depth = segment.depth + 1;
    const low = new Segment(segmentCellsMax, depth);
    const high = new Segment(segmentCellsMax, depth);
    spread(segment, moved => (moved & bit ? high : low));
    for (let at = hash & (bit - 1); at < this.#directory.length; at += bit) {
      this.#directory[at] = at & bit ? high : low;
    }
  }
}

function spread(segment: Segment, target: (hash: number) => Segment): void {
  const { cells } = segment;
  for (let at = 0; at < cells.length; at += 2) {
    const mark = cells[at + 1] as number;
    const hash = cells[at] as number;
    if (mark !== 0) target(hash).add(hash, mark);
  }
}

/** Returns the cell where the probe of a hash begins: its high bits, as the low ones have chosen the segment. */
function home(hash: number, cells: Int32Array): number {
  return (hash >>> (Math.clz32(cells.length) + 2)) << 1;
}

function hashWords(words: Int32Array, seed: number): number {
  let hash = seed;
  for (let word = 0; word < 4; word++) {
    hash = Math.imul(hash ^ (words[word] as number), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  return mix(hash);
}

function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mix(hash);
}

/** Returns the end of MurmurHash3's finalizer (A. Appleby): the low and the high bits both depend on all bits. */
function mix(bits: number): number {
  let hash = bits ^ (bits >>> 16);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
