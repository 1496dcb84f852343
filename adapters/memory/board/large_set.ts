/**
 * The ranked set for many members: a table from member to row, rows in typed arrays, and their order in counted blocks.
 * Every operation is O(log n), and none allocates or moves more than a fixed amount at once.
 *
 * @module
 */

import { compareUtf8 } from "../../../lib/base/text/utf8.ts";
import type { BoardEntry } from "../../../lib/storage/contract.ts";
import { MemberSlab } from "./member_slab.ts";
import { MemberTable } from "./member_table.ts";
import { Order } from "./order.ts";
import type { BoardRow, RankedSet } from "./ranked_set.ts";

/** Most members whose text is kept. */
const textsMax = 128;

/** Rows by slot, found by member and by rank. */
export class LargeSet implements RankedSet {
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
