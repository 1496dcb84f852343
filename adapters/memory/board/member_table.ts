/**
 * The index from a member to its slot: extendible hashing (Fagin, Nievergelt, Pippenger, Strong, 1979) over small
 * open-addressing segments with linear probing.
 *
 * One table that doubles would stop the world while it rehashes a million entries. Here the low bits of the hash choose
 * a segment and a full segment splits in two, so no operation ever moves more than one segment. A cell is two words,
 * the hash and slot + 1: probing, splitting and deleting (by shifting back, without tombstones) then touch no rows.
 *
 * Departure from the paper: a segment whose hashes cannot be told apart any more (`depthMax`) grows instead of splitting.
 */

import { compareUtf8 } from "../../../lib/base/text/mod.ts";

/** The `asOf` of a member that was never given one: below every real one. */
export const noAsOf = -1;

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

const chunkBits = 14;
/** Rows in a full chunk: 512 KiB. */
const chunkRows: number = 1 << chunkBits;
const firstRows = 128;
const rowBytes = 32;

export class MemberSlab {
  #ints: Int32Array[] = [];
  #floats: Float64Array[] = [];
  #asOfs: (Float64Array | undefined)[] = [];
  #texts: (string[] | undefined)[] = [];
  /** Slots from 0 to here have been handed out before. */
  #used = 0;
  readonly #free: number[] = [];
  #textCount = 0;

  get used(): number {
    return this.#used;
  }

  /** Takes a slot for a member: by its words where it is a UUID, else by its text. */
  take(words: Int32Array, text: string | undefined): number {
    const slot = this.#free.pop() ?? this.#extend();
    const chunk = slot >>> chunkBits;
    const row = slot & (chunkRows - 1);
    const ints = this.#ints[chunk] as Int32Array;
    const at = row * 8;
    if (text === undefined) {
      for (let word = 0; word < 4; word++) ints[at + word] = words[word] as number;
    } else {
      let texts = this.#texts[chunk];
      if (texts === undefined) this.#texts[chunk] = texts = [];
      texts[row] = text;
      this.#textCount++;
    }
    return slot;
  }

  release(slot: number): void {
    this.#rank(slot, Number.NaN, 0);
    const chunk = slot >>> chunkBits;
    const row = slot & (chunkRows - 1);
    if (this.#text(slot) !== undefined) {
      delete this.#texts[chunk]?.[row];
      this.#textCount--;
    }
    const asOfs = this.#asOfs[chunk];
    if (asOfs !== undefined) asOfs[row] = noAsOf;
    this.#free.push(slot);
  }

  holdsUuid(slot: number, words: Int32Array): boolean {
    const ints = this.#ints[slot >>> chunkBits] as Int32Array;
    const at = (slot & (chunkRows - 1)) * 8;
    return (
      ints[at] === words[0] &&
      ints[at + 1] === words[1] &&
      ints[at + 2] === words[2] &&
      ints[at + 3] === words[3] &&
      this.#text(slot) === undefined
    );
  }

  /** Returns true if the slot holds this text, which is no UUID. */
  holdsText(slot: number, text: string): boolean {
    return this.#text(slot) === text;
  }

  member(slot: number): string {
    const text = this.#text(slot);
    if (text !== undefined) return text;
    const ints = this.#ints[slot >>> chunkBits] as Int32Array;
    const at = (slot & (chunkRows - 1)) * 8;
    return formatUuid(
      ints[at] as number,
      ints[at + 1] as number,
      ints[at + 2] as number,
      ints[at + 3] as number,
    );
  }

  /** Orders the members of two slots by their UTF-8 bytes. */
  compare(a: number, b: number): number {
    if (this.#textCount > 0 && (this.#text(a) !== undefined || this.#text(b) !== undefined)) {
      return compareUtf8(this.member(a), this.member(b));
    }
    const left = this.#ints[a >>> chunkBits] as Int32Array;
    const right = this.#ints[b >>> chunkBits] as Int32Array;
    const leftAt = (a & (chunkRows - 1)) * 8;
    const rightAt = (b & (chunkRows - 1)) * 8;
    for (let word = 0; word < 4; word++) {
      const difference = ((left[leftAt + word] as number) >>> 0) - ((right[rightAt + word] as number) >>> 0);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  score(slot: number): number {
    return (this.#floats[slot >>> chunkBits] as Float64Array)[(slot & (chunkRows - 1)) * 4 + 2] as number;
  }

  tie(slot: number): number {
    return (this.#floats[slot >>> chunkBits] as Float64Array)[(slot & (chunkRows - 1)) * 4 + 3] as number;
  }

  asOf(slot: number): number {
    return this.#asOfs[slot >>> chunkBits]?.[slot & (chunkRows - 1)] ?? noAsOf;
  }

  store(slot: number, score: number, tie: number, asOf: number): void {
    this.#rank(slot, score, tie);
    const chunk = slot >>> chunkBits;
    let asOfs = this.#asOfs[chunk];
    if (asOfs === undefined) {
      if (asOf === noAsOf) return;
      const rows = (this.#ints[chunk] as Int32Array).length / 8;
      this.#asOfs[chunk] = asOfs = new Float64Array(rows).fill(noAsOf);
    }
    asOfs[slot & (chunkRows - 1)] = asOf;
  }

  #rank(slot: number, score: number, tie: number): void {
    const floats = this.#floats[slot >>> chunkBits] as Float64Array;
    const at = (slot & (chunkRows - 1)) * 4;
    floats[at + 2] = score;
    floats[at + 3] = tie;
  }

  #text(slot: number): string | undefined {
    if (this.#textCount === 0) return undefined;
    return this.#texts[slot >>> chunkBits]?.[slot & (chunkRows - 1)];
  }

  #extend(): number {
    const slot = this.#used++;
    const chunk = slot >>> chunkBits;
    const ints = this.#ints[chunk];
    if (ints === undefined) this.#allocate(chunk, chunk === 0 ? firstRows : chunkRows);
    else if ((slot & (chunkRows - 1)) * 8 >= ints.length) this.#allocate(chunk, ints.length / 4);
    return slot;
  }

  #allocate(chunk: number, rows: number): void {
    const ints = new Int32Array((rows * rowBytes) / 4);
    const before = this.#ints[chunk];
    if (before !== undefined) ints.set(before);
    this.#ints[chunk] = ints;
    this.#floats[chunk] = new Float64Array(ints.buffer);
    const asOfs = this.#asOfs[chunk];
    if (asOfs === undefined) return;
    const wider = new Float64Array(rows).fill(noAsOf);
    wider.set(asOfs);
    this.#asOfs[chunk] = wider;
  }
}

const uuidLength = 36;

const hyphen = 45;
/** The low four bits are the digit; anything above them marks a character that is no lower-case hex digit. */
const values: Uint16Array = new Uint16Array(128).fill(0x100);
for (let value = 0; value < 16; value++) values[code(value, 0)] = value;
let marks = 0;

/** Writes the four words of a canonical lower-case UUID to `words`; returns false, with `words` spoilt, for other text. */
export function parseUuid(text: string, words: Int32Array): boolean {
  if (text.length !== uuidLength) return false;
  if (text.charCodeAt(8) !== hyphen || text.charCodeAt(13) !== hyphen) return false;
  if (text.charCodeAt(18) !== hyphen || text.charCodeAt(23) !== hyphen) return false;
  marks = 0;
  words[0] = (half(text, 0) << 16) | half(text, 4);
  words[1] = (half(text, 9) << 16) | half(text, 14);
  words[2] = (half(text, 19) << 16) | half(text, 24);
  words[3] = (half(text, 28) << 16) | half(text, 32);
  return marks < 16;
}

/** Returns the canonical text of four words. One call with 36 codes makes one flat string, 2x faster than joining pieces. */
export function formatUuid(a: number, b: number, c: number, d: number): string {
  // biome-ignore format: one row per half word
  return String.fromCharCode(
    code(a, 28), code(a, 24), code(a, 20), code(a, 16),
    code(a, 12), code(a, 8), code(a, 4), code(a, 0), hyphen,
    code(b, 28), code(b, 24), code(b, 20), code(b, 16), hyphen,
    code(b, 12), code(b, 8), code(b, 4), code(b, 0), hyphen,
    code(c, 28), code(c, 24), code(c, 20), code(c, 16), hyphen,
    code(c, 12), code(c, 8), code(c, 4), code(c, 0),
    code(d, 28), code(d, 24), code(d, 20), code(d, 16),
    code(d, 12), code(d, 8), code(d, 4), code(d, 0),
  );
}

/** Reads four digits, and collects in `marks` whether all of them were some. */
function half(text: string, at: number): number {
  const a = text.charCodeAt(at);
  const b = text.charCodeAt(at + 1);
  const c = text.charCodeAt(at + 2);
  const d = text.charCodeAt(at + 3);
  const first = values[a & 0x7f] as number;
  const second = values[b & 0x7f] as number;
  const third = values[c & 0x7f] as number;
  const fourth = values[d & 0x7f] as number;
  marks |= first | second | third | fourth | ((a | b | c | d) & 0xff80);
  return (first << 12) | (second << 8) | (third << 4) | fourth;
}

/** Returns the character code of the hex digit at a bit of a word: 39 lie between "9" and "a" in ASCII. */
function code(word: number, bit: number): number {
  const value = (word >>> bit) & 15;
  return value + 48 + (((9 - value) >> 31) & 39);
}
