import type { BoardEntry } from "../../../lib/storage/contract.ts";

/** The `asOf` of a member that was never given one: below every real one. */
export const noAsOf = -1;

/** All that a board knows of one member. */
export interface BoardRow extends BoardEntry {
  /** The version of the fact behind the score, or `noAsOf`. */
  readonly asOf: number;
}

/** Members in the order of score, tie and UTF-8 bytes. There is a form for few members and one for many. */
export interface RankedSet {
  readonly size: number;
  /** The row of a member, or undefined where it is absent. */
  get(member: string): BoardRow | undefined;
  /** Inserts the row, or replaces that of its member. */
  put(row: BoardRow): void;
  /** Takes the member out; answers whether it was there. */
  remove(member: string): boolean;
  /** How many scores are lower than this one. */
  below(score: number): number;
  /** How many scores are this one or lower. */
  upTo(score: number): number;
  /** How many entries come before this one, whether or not it is there. */
  before(entry: BoardEntry): number;
  /** `count` entries from position `start` upwards, or downwards with `reverse`; all of them must exist. */
  slice(start: number, count: number, reverse: boolean): BoardEntry[];
  /** Every row in no particular order. Rows that change between two steps may or may not be among them. */
  rows(): Iterator<BoardRow>;
}
