/** One board: a ranked set that changes its form with its size, and the range and rank queries of the contract over it. */

import { compareUtf8 } from "../../../lib/base/text/mod.ts";
import { compareBoardEntries } from "../../../lib/storage/board_pages.ts";
import type {
  BoardEntry,
  BoardRange,
  BoardWindow,
  ReadAround,
  ReadBefore,
  ReadBoard,
  ReadStanding,
  Standing,
} from "../../../lib/storage/contract.ts";
import { MemberSlab, MemberTable } from "./member_table.ts";
import { Order } from "./order.ts";

/** Most members that are kept in a plain sorted array. */
export const smallMembersMax = 64;
/** At this many members a large board turns back; far below `smallMembersMax`, so that it does not go to and fro. */
export const shrinkMembersMax = 16;

export class Board {
  readonly #seed: number;
  #set: RankedSet = new SmallSet();

  /** `seed` makes the placement of members unpredictable to clients; it changes no result. */
  constructor(seed = 0) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#set.size;
  }

  get(member: string): BoardRow | undefined {
    return this.#set.get(member);
  }

  put(row: BoardRow): void {
    this.#set.put(row);
    if (this.#set.size > smallMembersMax && this.#set instanceof SmallSet)
      this.#turnInto(new LargeSet(this.#seed));
  }

  remove(member: string): boolean {
    const removed = this.#set.remove(member);
    if (this.#set.size <= shrinkMembersMax && this.#set instanceof LargeSet) this.#turnInto(new SmallSet());
    return removed;
  }

  /** Score, tie and competition rank of a member, and its position where asked for; null if it is absent. */
  standing({ member, position = false }: Omit<ReadStanding, "type" | "key">): Standing | null {
    const row = this.#set.get(member);
    if (row === undefined) return null;
    const standing = { score: row.score, tie: row.tie, below: this.#set.below(row.score) };
    return position ? { ...standing, position: this.#set.before(row) } : standing;
  }

  /** Returns the number of entries that come before a point of the order. */
  before({ score, tie = 0, member = "" }: Omit<ReadBefore, "type" | "key">): number {
    return this.#set.before({ score, tie, member });
  }

  range(query: Omit<ReadBoard, "type" | "key">): BoardRange {
    const { limit, offset = 0, min, max, reverse = false } = query;
    const set = this.#set;
    const from = min === undefined ? 0 : set.below(min);
    const to = max === undefined ? set.size : set.upTo(max);
    const count = Math.min(limit, to - from - offset);
    const entries: BoardEntry[] =
      count > 0 ? set.slice(reverse ? to - 1 - offset : from + offset, count, reverse) : [];
    return { entries, size: set.size };
  }

  around({ member, limit }: Omit<ReadAround, "type" | "key">): BoardWindow | null {
    const set = this.#set;
    const row = set.get(member);
    if (row === undefined) return null;
    const { size } = set;
    const offset = Math.max(0, Math.min(set.before(row) - ((limit - 1) >> 1), size - limit));
    const entries = set.slice(offset, Math.min(limit, size), false);
    return { entries, size, offset, below: set.below(entries[0]?.score ?? row.score) };
  }

  /** Returns every row in no particular order. Rows that change between two steps may or may not be among them. */
  rows(): Iterator<BoardRow> {
    return this.#set.rows();
  }

  #turnInto(form: RankedSet): void {
    const rows = this.#set.rows();
    for (let step = rows.next(); !step.done; step = rows.next()) form.put(step.value);
    this.#set = form;
  }
}

export interface BoardRow extends BoardEntry {
  /** The version of the fact behind the score, or `noAsOf`. */
  readonly asOf: number;
}

/** Members in the order of score, tie and UTF-8 bytes. There is a form for few members and one for many. */
interface RankedSet {
  readonly size: number;
  get(member: string): BoardRow | undefined;
  put(row: BoardRow): void;
  remove(member: string): boolean;
  below(score: number): number;
  upTo(score: number): number;
  before(entry: BoardEntry): number;
  /** `count` entries from position `start` upwards, or downwards with `reverse`; all of them must exist. */
  slice(start: number, count: number, reverse: boolean): BoardEntry[];
  /** Returns every row in no particular order. Rows that change between two steps may or may not be among them. */
  rows(): Iterator<BoardRow>;
}

class SmallSet implements RankedSet {
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
    for (let before = this.#rows[at - 1]; before !== undefined && compareBoardEntries(before, row) > 0; ) {
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
    for (const row of this.#rows) if (compareBoardEntries(row, entry) < 0) count++;
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

const textsMax = 128;

class LargeSet implements RankedSet {
  readonly #slab: MemberSlab = new MemberSlab();
  readonly #table: MemberTable;
  readonly #order: Order = new Order((a, b) => this.#slab.compare(a, b));
  /** Texts by slot that short ranges returned: the leaders are asked for again and again, and the same string is found faster. */
  readonly #texts: Map<number, string> = new Map();
  #size = 0;

  /** `seed` makes the placement of members unpredictable; it changes no result. */
  constructor(seed: number) {
    this.#table = new MemberTable(this.#slab, seed);
  }

  get size(): number {
    return this.#size;
  }

  get(member: string): BoardRow | undefined {
    const slot = this.#table.find(member);
    if (slot < 0) return undefined;
    return { member, score: this.#slab.score(slot), tie: this.#slab.tie(slot), asOf: this.#slab.asOf(slot) };
  }

  put(row: BoardRow): void {
    const { member, score, tie, asOf } = row;
    let slot = this.#table.find(member);
    if (slot < 0) {
      slot = this.#table.insert(member);
      this.#order.insert(score, tie, slot);
      this.#size++;
    } else {
      const oldScore = this.#slab.score(slot);
      const oldTie = this.#slab.tie(slot);
      if (oldScore !== score || oldTie !== tie) this.#order.move(oldScore, oldTie, slot, score, tie);
    }
    this.#slab.store(slot, score, tie, asOf);
  }

  remove(member: string): boolean {
    const slot = this.#table.find(member);
    if (slot < 0) return false;
    this.#order.remove(this.#slab.score(slot), this.#slab.tie(slot), slot);
    this.#table.remove(member);
    this.#texts.delete(slot);
    this.#size--;
    return true;
  }

  below(score: number): number {
    return this.#order.below(score, false);
  }

  upTo(score: number): number {
    return this.#order.below(score, true);
  }

  before({ score, tie, member }: BoardEntry): number {
    return this.#order.before(score, tie, slot => compareUtf8(this.#slab.member(slot), member) < 0);
  }

  slice(start: number, count: number, reverse: boolean): BoardEntry[] {
    const entries: BoardEntry[] = [];
    const isShort = count <= textsMax;
    this.#order.visit(start, count, reverse, slot => {
      entries.push({
        member: isShort ? this.#text(slot) : this.#slab.member(slot),
        score: this.#slab.score(slot),
        tie: this.#slab.tie(slot),
      });
    });
    return entries;
  }

  #text(slot: number): string {
    const known = this.#texts.get(slot);
    if (known !== undefined) return known;
    if (this.#texts.size >= textsMax) this.#texts.clear();
    const text = this.#slab.member(slot);
    this.#texts.set(slot, text);
    return text;
  }

  *rows(): Generator<BoardRow, undefined> {
    for (let slot = 0; slot < this.#slab.used; slot++) {
      const score = this.#slab.score(slot);
      if (Number.isNaN(score)) continue;
      yield {
        member: this.#slab.member(slot),
        score,
        tie: this.#slab.tie(slot),
        asOf: this.#slab.asOf(slot),
      };
    }
    return undefined;
  }
}
