/**
 * The ranked set for few members: one sorted array of rows, searched member by member.
 *
 * Most boards are tiny (a duel, a private league), and a hundred bytes of array serve them better than any index. All
 * operations are O(n) for n up to a few dozen.
 *
 * @module
 */

import { compareUtf8 } from "../../../lib/base/text/utf8.ts";
import type { BoardEntry } from "../../../lib/storage/contract.ts";

/** The `asOf` of a member that was never given one: below every real one. */
export const noAsOf = -1;

/** Data of one member of a board. */
export interface BoardRow extends BoardEntry {
  /** The version of the fact behind the score, or `noAsOf`. */
  readonly asOf: number;
}

/** Members in the order of score, tie and UTF-8 bytes. There is a form for few members and one for many. */
export interface RankedSet {
  readonly size: number;
  /** Returns the row of a member, or undefined if it is absent. */
  get(member: string): BoardRow | undefined;
  /** Inserts the row, or replaces that of its member. */
  put(row: BoardRow): void;
  /** Removes the member. Returns true if it was there. */
  remove(member: string): boolean;
  /** Returns the number of scores that are lower than this one. */
  below(score: number): number;
  /** Returns the number of scores that are this one or lower. */
  upTo(score: number): number;
  /** Returns the number of entries that come before this one, whether or not it is there. */
  before(entry: BoardEntry): number;
  /** `count` entries from position `start` upwards, or downwards with `reverse`; all of them must exist. */
  slice(start: number, count: number, reverse: boolean): BoardEntry[];
  /** Returns every row in no particular order. Rows that change between two steps may or may not be among them. */
  rows(): Iterator<BoardRow>;
}

/** A sorted array of rows. */
export class SmallSet implements RankedSet {
  readonly #rows: BoardRow[] = [];

  get size(): number {
    return this.#rows.length;
  }

  get(member: string): BoardRow | undefined {
    for (const row of this.#rows) if (row.member === member) return row;
    return undefined;
  }

  put(row: BoardRow): void {
    this.remove(row.member);
    let at = this.#rows.length;
    for (let before = this.#rows[at - 1]; before !== undefined && compare(before, row) > 0; ) {
      at--;
      before = this.#rows[at - 1];
    }
    this.#rows.splice(at, 0, row);
  }

  remove(member: string): boolean {
    const at = this.#rows.findIndex(row => row.member === member);
    if (at < 0) return false;
    this.#rows.splice(at, 1);
    return true;
  }

  below(score: number): number {
    let count = 0;
    for (const row of this.#rows) if (row.score < score) count++;
    return count;
  }

  upTo(score: number): number {
    let count = 0;
    for (const row of this.#rows) if (row.score <= score) count++;
    return count;
  }

  before(entry: BoardEntry): number {
    let count = 0;
    for (const row of this.#rows) if (compare(row, entry) < 0) count++;
    return count;
  }

  slice(start: number, count: number, reverse: boolean): BoardEntry[] {
    const rows = reverse
      ? this.#rows.slice(start - count + 1, start + 1).reverse()
      : this.#rows.slice(start, start + count);
    return rows.map(({ member, score, tie }) => ({ member, score, tie }));
  }

  rows(): Iterator<BoardRow> {
    // A copy: an insertion between two steps would shift the rows under a live iterator.
    return [...this.#rows].values();
  }
}

function compare(a: BoardEntry, b: BoardEntry): number {
  return a.score - b.score || a.tie - b.tie || compareUtf8(a.member, b.member);
}
