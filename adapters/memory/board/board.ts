/**
 * One board: a ranked set that changes its form with its size, and the range and rank queries of the contract over it.
 *
 * @module
 */
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
import { LargeSet } from "./large_set.ts";
import type { BoardRow, RankedSet } from "./ranked_set.ts";
import { SmallSet } from "./ranked_set.ts";

/** Most members that are kept in a plain sorted array. */
export const smallMembersMax = 64;
/** At this many members a large board turns back; far below `smallMembersMax`, so that it does not go to and fro. */
export const shrinkMembersMax = 16;

/** Ranked members with score, tie and asOf. */
export class Board {
  readonly #seed: number;
  #set: RankedSet = new SmallSet();

  /** `seed` makes the placement of members unpredictable to clients; it changes no result. */
  constructor(seed = 0) {
    this.#seed = seed;
  }

  /** The number of members. */
  get size(): number {
    return this.#set.size;
  }

  /** Returns the row of a member, or undefined if it is absent. */
  get(member: string): BoardRow | undefined {
    return this.#set.get(member);
  }

  /** Inserts the row, or replaces that of its member. */
  put(row: BoardRow): void {
    this.#set.put(row);
    if (this.#set.size > smallMembersMax && this.#set instanceof SmallSet)
      this.#turnInto(new LargeSet(this.#seed));
  }

  /** Removes the member. Returns true if it was there. */
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

  /** Answers a range query. */
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

  /** Returns the entries around a member; null if it is absent. */
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
