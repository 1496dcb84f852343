import type { LogEntry, ReadLog } from "../../lib/storage/contract.ts";

/** The order of log entries: milliseconds, then the sequence within them. */
export interface LogPosition {
  readonly ms: number;
  readonly seq: number;
}

/** A stored entry. */
export interface LogItem extends LogPosition {
  readonly value: string;
}

/** Dropped entries are kept in the array until they are this many and half of it. */
const slackMax = 32;

/** An append-only list of entries in order of their positions, trimmed at its old end. */
export class Log {
  #items: LogItem[] = [];
  /** Items before this index are dropped. */
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** The newest entry. */
  get last(): LogItem | undefined {
    return this.#items.at(-1);
  }

  /** The oldest entry. */
  get first(): LogItem | undefined {
    return this.#items[this.#head];
  }

  /** Returns the position of an entry appended at `at`: time never runs backwards along a log. */
  next(at: number): LogPosition {
    const last = this.last;
    return last === undefined || at > last.ms ? { ms: at, seq: 1 } : { ms: last.ms, seq: last.seq + 1 };
  }

  /** Appends an entry, whose position must be beyond the last one. */
  push(item: LogItem): void {
    this.#items.push(item);
  }

  /** Removes the newest entry again. */
  pop(): void {
    this.#items.pop();
  }

  /** Drops the `count` oldest entries and returns them. */
  drop(count: number): LogItem[] {
    const dropped = this.#items.slice(this.#head, this.#head + count);
    this.#head += count;
    if (this.#head > slackMax && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return dropped;
  }

  /** Puts dropped entries back before the oldest one. */
  restore(dropped: readonly LogItem[]): void {
    this.#items = [...dropped, ...this.#items.slice(this.#head)];
    this.#head = 0;
  }

  /** Returns the number of entries before a position, or with `inclusive` at it or before. */
  before(place: LogPosition, inclusive: boolean): number {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = this.#items[middle] as LogItem;
      const order = item.ms - place.ms || item.seq - place.seq;
      if (order < 0 || (inclusive && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low - this.#head;
  }

  /** Up to `count` entries from a position on, oldest first. */
  slice(start: number, count: number): LogItem[] {
    return this.#items.slice(this.#head + start, this.#head + start + count);
  }

  /** Answers a range query. */
  range(query: ReadLog): LogEntry[] {
    const { from, to, cursor, limit, reverse = false } = query;
    let start = from === undefined ? 0 : this.before({ ms: from, seq: 0 }, false);
    let end = to === undefined ? this.size : this.before({ ms: to, seq: Number.POSITIVE_INFINITY }, true);
    if (cursor !== undefined) {
      const place = parsePlace(cursor);
      if (reverse) end = Math.min(end, this.before(place, false));
      else start = Math.max(start, this.before(place, true));
    }
    const count = Math.max(0, Math.min(limit, end - start));
    const items = reverse ? this.slice(end - count, count).reverse() : this.slice(start, count);
    return items.map(({ ms, seq, value }) => ({ id: `${ms}-${seq}`, at: ms, value }));
  }
}

function parsePlace(id: string): LogPosition {
  const hyphen = id.indexOf("-");
  return { ms: Number(id.slice(0, hyphen)), seq: Number(id.slice(hyphen + 1)) };
}
