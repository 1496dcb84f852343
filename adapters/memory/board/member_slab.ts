/**
 * The rows of a large ranked set: 32 bytes per member in typed arrays, addressed by a slot number.
 *
 * A row is four 32-bit words (the UUID), the score and the tie, so that one cache line answers both "is it this member"
 * and "where does it stand". Members that are no UUID keep their text in a side column, and `asOf` has a column of its
 * own; both columns exist only where they are used. Rows live in chunks: the first doubles up to the full chunk size,
 * later ones are allocated whole, so growth never copies more than one chunk.
 *
 * @module
 */
import { compareUtf8 } from "../../../lib/base/text/utf8.ts";
import { noAsOf } from "./ranked_set.ts";
import { formatUuid } from "./uuid.ts";

const chunkBits = 14;
/** Rows in a full chunk: 512 KiB. */
const chunkRows: number = 1 << chunkBits;
const firstRows = 128;
const rowBytes = 32;

/** Rows by slot. A free slot has NaN as its score. */
export class MemberSlab {
  #ints: Int32Array[] = [];
  #floats: Float64Array[] = [];
  #asOfs: (Float64Array | undefined)[] = [];
  #texts: (string[] | undefined)[] = [];
  /** Slots from 0 to here have been handed out before. */
  #used = 0;
  readonly #free: number[] = [];
  #textCount = 0;

  /** One above the highest slot that was ever taken. */
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

  /** Frees a slot. */
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

  /** Returns the member of a slot as text. */
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
