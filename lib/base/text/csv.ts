/**
 * The text of a file in records: lines of JSON, or rows of CSV (RFC 4180), whose quoted cells may hold line breaks.
 *
 * A quote opens at the beginning of a cell alone; elsewhere it is data. A quoted cell that does not end as it has to breaks the line on
 * which its row begins, and no other.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";

/** Longest record, in characters: more than the largest profile has. */
export const recordCharactersMax = 262_144;

/** Splits text that arrives in pieces into its records, without their line breaks. */
export class RecordSplitter {
  readonly #hasQuotes: boolean;
  #text = "";
  /** Where the record begins, where scanning goes on, and where the next quote is. */
  #from = 0;
  #at = 0;
  #quote = -1;
  /** `broken`: quotes do not count on the line. `skipped`: the line is too long, and its rest is passed over. */
  #state: "bare" | "quoted" | "broken" | "skipped" = "bare";

  /** @param hasQuotes True if line breaks between quotes belong to the record. */
  constructor(hasQuotes: boolean) {
    this.#hasQuotes = hasQuotes;
  }

  /**
   * Returns the records that a piece completes. A row of CSV that is too long is cut behind the longest length.
   *
   * @throws {AppError} `validation_failed`: a line of JSON is too long.
   */
  push(piece: string): readonly string[] {
    this.#text += piece;
    return this.#take(false);
  }

  /** Returns the records that are left, of which the last one need not end in a line break. */
  end(): readonly string[] {
    return this.#take(true);
  }

  #take(isLast: boolean): readonly string[] {
    const records: string[] = [];
    this.#quote = -1;
    for (;;) {
      const end = this.#recordEnd(isLast);
      const stop = end ?? this.#text.length;
      const isTooLong = this.#state !== "skipped" && stop - this.#from > recordCharactersMax;
      if (isTooLong && this.#state === "quoted") {
        this.#breakRow();
        continue;
      }
      if (isTooLong) {
        records.push(this.#cutRecord());
        this.#state = "skipped";
      }
      if (end === null) break;
      const last = this.#text[end - 1] === "\r" ? end - 1 : end;
      if (this.#state !== "skipped") records.push(this.#text.slice(this.#from, last));
      this.#state = "bare";
      this.#from = this.#at = end + 1;
    }
    const from = this.#state === "skipped" ? this.#text.length : this.#from;
    this.#text = this.#text.slice(from);
    this.#at = Math.max(0, this.#at - from);
    this.#from = 0;
    return records;
  }

  /** Returns where the record ends; null: not in this text. */
  #recordEnd(isLast: boolean): number | null {
    for (;;) {
      if (this.#state === "quoted" && !this.#closeCell(isLast)) return null;
      if (this.#state === "quoted") continue;
      const end = this.#text.indexOf("\n", this.#at);
      if (this.#hasQuotes && this.#state === "bare" && this.#openCell(end)) continue;
      if (end !== -1) return end;
      this.#at = this.#text.length;
      return isLast && this.#from < this.#at ? this.#at : null;
    }
  }

  /** Finds the next cell of the line that begins with a quote. */
  #openCell(end: number): boolean {
    for (;;) {
      if (this.#quote < this.#at) {
        const next = this.#text.indexOf('"', this.#at);
        this.#quote = next === -1 ? Number.POSITIVE_INFINITY : next;
      }
      if (this.#quote > (end === -1 ? this.#text.length : end)) return false;
      this.#at = this.#quote + 1;
      const isFirst = this.#quote === this.#from || this.#text[this.#quote - 1] === ",";
      if (isFirst) this.#state = "quoted";
      if (isFirst) return true;
    }
  }

  /** Finds the end of a quoted cell. False: more text is needed. */
  #closeCell(isLast: boolean): boolean {
    const text = this.#text;
    const quote = text.indexOf('"', this.#at);
    const rest = quote === -1 ? "" : text.slice(quote + 1, quote + 3);
    if (!isLast && (rest === "" || rest === "\r")) {
      this.#at = quote === -1 ? text.length : quote;
      return false;
    }
    this.#at = quote + 1;
    if (rest.startsWith('"')) this.#at += 1;
    else if (quote !== -1 && /^($|,|\n|\r\n|\r$)/.test(rest)) this.#state = "bare";
    else this.#breakRow();
    return true;
  }

  #breakRow(): void {
    this.#state = "broken";
    this.#at = this.#from;
  }

  #cutRecord(): string {
    if (this.#hasQuotes) return this.#text.slice(this.#from, this.#from + recordCharactersMax + 1);
    const message = `Cannot read the file: a row is longer than ${recordCharactersMax} characters`;
    throw new AppError("validation_failed", message);
  }
}

/** A cell of a row of CSV. */
export interface Cell {
  readonly text: string;
  /** Tells the empty text from an empty cell, which is null. */
  readonly isQuoted: boolean;
}

const cellShape = /(?:"([^"]*(?:""[^"]*)*)"|((?!")[^,]*))(,|$)/y;

/** Parses a row of CSV; null if it is malformed or too long. */
export function parseCsvRow(record: string): readonly Cell[] | null {
  if (record.length > recordCharactersMax) return null;
  const cells: Cell[] = [];
  for (let at = 0; ; ) {
    cellShape.lastIndex = at;
    const match = cellShape.exec(record);
    if (match === null) return null;
    const [whole, quoted, bare = "", separator] = match;
    cells.push({ text: quoted?.replaceAll('""', '"') ?? bare, isQuoted: quoted !== undefined });
    if (separator === "") return cells;
    at += whole.length;
  }
}

const guarded = /^'+[=+\-@\t\r\n＝＋－＠]/;

/** Returns the text that a cell stands for: exports put an apostrophe before what a spreadsheet would run as a formula. */
export function cellText(text: string): string {
  return guarded.test(text) ? text.slice(1) : text;
}
