/**
 * The text of a file in records: lines of JSON, or rows of CSV (RFC 4180), whose quoted cells may hold line breaks.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";

/** Longest record, in characters: more than the largest profile has. */
const recordCharactersMax = 262_144;

/** Splits text that arrives in pieces into its records, without their line breaks. */
export class RecordSplitter {
  readonly #hasQuotes: boolean;
  #rest = "";
  #isQuoted = false;

  /** @param hasQuotes True if line breaks between quotes belong to the record. */
  constructor(hasQuotes: boolean) {
    this.#hasQuotes = hasQuotes;
  }

  /** Returns the records that a piece completes. @throws {AppError} `validation_failed`: one is too long. */
  push(piece: string): readonly string[] {
    const scanned = this.#rest.length;
    const text = this.#rest + piece;
    const records: string[] = [];
    let [from, at] = [0, scanned];
    for (;;) {
      const end = text.indexOf("\n", at);
      if (this.#hasQuotes) this.#countQuotes(text, at, end === -1 ? text.length : end);
      if (end === -1) break;
      at = end + 1;
      if (this.#isQuoted) continue;
      records.push(text.slice(from, text[end - 1] === "\r" ? end - 1 : end));
      from = at;
    }
    this.#rest = text.slice(from);
    if ([...records, this.#rest].some(({ length }) => length > recordCharactersMax)) {
      const message = `Cannot read the file: a row is longer than ${recordCharactersMax} characters`;
      throw new AppError("validation_failed", message);
    }
    return records;
  }

  /** Returns the last record, which need not end in a line break; empty if there is none. */
  end(): string {
    return this.#rest;
  }

  #countQuotes(text: string, from: number, to: number): void {
    for (let at = text.indexOf('"', from); at !== -1 && at < to; at = text.indexOf('"', at + 1)) {
      this.#isQuoted = !this.#isQuoted;
    }
  }
}

/** A cell of a row of CSV. */
export interface Cell {
  readonly text: string;
  /** Tells the empty text from an empty cell, which is null. */
  readonly isQuoted: boolean;
}

const cellShape = /(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|$)/y;

/** Parses a row of CSV; null if it is malformed. */
export function parseCsvRow(record: string): readonly Cell[] | null {
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
