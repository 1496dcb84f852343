/**
 * Walking over a whole board in pages while it changes.
 *
 * @module
 */

import type { BoardEntry, Partition, ReadBefore, Store } from "../../storage/mod.ts";
import { compareBoardEntries } from "../ranking/ranking.ts";

/** Number of entries that are read at a time. */
export const walkPageMax = 500;
/** How far a page reaches back, so that entries which left meanwhile cannot push others past the walk. */
const overlap = 50;

/** What is walked over. */
export interface WalkedBoard {
  readonly partition: Partition;
  readonly key: string;
}

/**
 * The entries of a board in order, page by page. Every entry that keeps its place during the walk is met exactly once;
 * one that moves may be met twice or not at all.
 */
export async function* walkBoard(
  store: Store,
  { partition, key }: WalkedBoard,
): AsyncGenerator<readonly BoardEntry[], void, void> {
  let last: BoardEntry = { score: Number.NEGATIVE_INFINITY, tie: 0, member: "" };
  for (let offset = 0; ; ) {
    const { score, tie, member } = last;
    const point: ReadBefore =
      member === "" ? { type: "before", key, score } : { type: "before", key, score, tie, member };
    const [{ entries }, before] = await store.read(partition, [
      { type: "board", key, offset, limit: walkPageMax },
      point,
    ]);
    // Where the page begins after the point, something between them may have been missed.
    const page = offset > before ? [] : entries.filter(entry => compareBoardEntries(entry, last) > 0);
    if (page.length > 0) yield page;
    last = page.at(-1) ?? last;
    if (page.length === 0 && offset <= before && entries.length < walkPageMax) return;
    offset = Math.max(0, before + page.length - overlap);
  }
}
