/**
 * A user's ledger in pages, newest entry first.
 *
 * The entries are in the records of the history, and many records have none. So a page reads a bounded number of records: it
 * may be short, or empty, and still have an end from which the next one continues.
 *
 * @module
 */

import type { LogEntry, Partition, ReadLog, Store } from "../../../storage/mod.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import { entryId, type HistoryEntry, type HistoryTransaction, transactionsOf } from "../user/history.ts";
import { parseEntry, ReadSize } from "../user/read_history.ts";
import { readReversedIds, reversalGenerationsRead } from "../user/reversal_marks.ts";

/** Most records that a page reads. */
const recordsMax = 1_000;

/** The end of a page: after some entries of a record, newest first, or after all of them. */
export interface LedgerCursor {
  readonly recordId: string;
  /** 0: the whole record. */
  readonly taken: number;
}

export interface LedgerQuery {
  /** Most entries of the page, 1 or more. */
  readonly limit: number;
  readonly type?: LedgerEntry["type"] | undefined;
  readonly metricId?: string | undefined;
  /** The end of the page before. */
  readonly after?: LedgerCursor | undefined;
}

/** An entry with its transaction and record. */
export interface LedgerEntryView {
  /** Unique among the user's entries. */
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly entry: LedgerEntry;
  readonly transaction: HistoryTransaction;
  readonly record: HistoryEntry;
  /** True where its transaction was reversed. */
  readonly isReversed: boolean;
}

/** A part of the ledger, newest entry first. */
export interface LedgerPage {
  readonly items: readonly LedgerEntryView[];
  /** Null: there are no further entries. */
  readonly end: LedgerCursor | null;
}

/** Reads a page of the ledger. Pages follow one another without a gap or a repetition, whatever is added meanwhile. */
export async function readLedger(
  store: Store,
  partition: Partition,
  query: LedgerQuery,
): Promise<LedgerPage> {
  const page = new Page(query);
  let cursor = query.after === undefined ? undefined : cursorOf(query.after);
  const size = new ReadSize();
  for (let records = 0; records < recordsMax; ) {
    const limit = Math.min(records === 0 ? query.limit : size.limit, size.limit, recordsMax - records);
    const read: ReadLog = { type: "log", key: "history", limit, reverse: true };
    const [entries, generations] = await store.read(partition, [
      cursor === undefined ? read : { ...read, cursor },
      reversalGenerationsRead,
    ]);
    const reversed = await readReversedIds(store, partition, generations, entries);
    for (const entry of entries) if (!page.add(entry, reversed)) return { items: page.items, end: page.end };
    if (entries.length < limit) return { items: page.items, end: null };
    size.add(entries);
    cursor = entries.at(-1)?.id;
    records += entries.length;
  }
  return { items: page.items, end: page.end };
}

class Page {
  readonly items: LedgerEntryView[] = [];
  end: LedgerCursor | null = null;
  readonly #query: LedgerQuery;

  constructor(query: LedgerQuery) {
    this.#query = query;
  }

  /** Adds the entries of the next record; false where not all had room. */
  add(stored: LogEntry, reversed: ReadonlySet<string>): boolean {
    const { limit, type, metricId, after } = this.#query;
    const items = itemsOf(parseEntry(stored), reversed);
    const taken = after?.recordId === stored.id ? after.taken : 0;
    for (const [index, item] of items.entries()) {
      const isWanted =
        index >= taken &&
        (type === undefined || item.entry.type === type) &&
        (metricId === undefined || item.entry.metricId === metricId);
      if (isWanted && this.items.length === limit) return false;
      if (isWanted) this.items.push(item);
      this.end = { recordId: stored.id, taken: index + 1 };
    }
    this.end = { recordId: stored.id, taken: 0 };
    return true;
  }
}

/** Lists the entries of a record, newest first. */
function itemsOf(record: HistoryEntry, reversed: ReadonlySet<string>): readonly LedgerEntryView[] {
  const items = transactionsOf(record).flatMap(transaction =>
    transaction.entries.map((entry, n): LedgerEntryView => {
      const { id, at } = transaction;
      const isReversed = reversed.has(id);
      return {
        id: entryId(id, n),
        at: entry.at ?? at,
        entry,
        transaction,
        record,
        isReversed,
      };
    }),
  );
  return items.reverse();
}

/** Continues after a record, or reads it once more where a part of it is left. Log ids order by milliseconds, then number. */
function cursorOf({ recordId, taken }: LedgerCursor): string {
  if (taken === 0) return recordId;
  const hyphen = recordId.indexOf("-");
  return `${recordId.slice(0, hyphen)}-${Number(recordId.slice(hyphen + 1)) + 1}`;
}
