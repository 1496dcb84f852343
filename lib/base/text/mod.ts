/**
 * Functions on text and numbers: UTF-8 order and length, shards by name, members of JSON objects, rows of CSV, decimal sums, the
 * nearest of several words.
 */

import { AppError } from "../errors/mod.ts";

/** UTF-8 lengths and byte order without encoding anything. */

/** Maximum number of UTF-8 bytes of a UTF-16 unit. Gives a cheap bound on the bytes of a string. */
export const bytesPerUnitMax = 3;

/** Returns text in which nothing is markup, for elements and for attributes in quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}

/** Returns the number of UTF-8 bytes of a string, or undefined if it has a lone surrogate. */
export function utf8Length(text: string): number | undefined {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
    } else if (unit < 0xd800 || unit > 0xdfff) {
      bytes += 2;
    } else {
      const next = text.charCodeAt(index + 1);
      if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return undefined;
      // A pair of two units is four bytes.
      bytes += 2;
      index += 1;
    }
  }
  return bytes;
}

/**
 * Compares two well-formed strings by their UTF-8 bytes, which is the order of their code points.
 *
 * JavaScript compares UTF-16 units, which puts an astral character (a surrogate pair from U+D800) before U+E000 to
 * U+FFFF. The fix-up moves the surrogates above all other units, as in ICU's `u_strCompare`.
 */
export function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    if (left >= 0xd800 && right >= 0xd800) return codePointOrder(left) - codePointOrder(right);
    return left - right;
  }
  return a.length - b.length;
}

function codePointOrder(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

const utf8 = new TextEncoder();
/** As a signed integer: where the hash began as a double, V8 of Node 20 has computed wrong shards in optimised code. */
const fnvOffset = 0x811c9dc5 | 0;
const fnvPrime = 0x01000193;
const firstBeyondAscii = 0x80;

/**
 * Returns the shard of a name. Stable on every runtime and for ever: FNV-1a (Fowler, Noll, Vo; 32 bits) over the UTF-8 bytes
 * of the name, modulo the number of shards.
 */
export function shardOf(name: string, shards: number): number {
  if (shards === 1) return 0;
  let hash = fnvOffset;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    // Most ids are ASCII, whose units are the bytes already.
    if (unit >= firstBeyondAscii) return hashOf(utf8.encode(name)) % shards;
    hash = Math.imul(hash ^ unit, fnvPrime);
  }
  return (hash >>> 0) % shards;
}

function hashOf(bytes: Uint8Array): number {
  let hash = fnvOffset;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, fnvPrime);
  return hash >>> 0;
}

/** Characters that no address has (RFC 5321, section 4.5.3.1). Longer texts are returned unchanged, as their check refuses them. */
const emailCharactersMax = 1_024;
/** Characters whose composed form is another one of ASCII, which mail servers distinguish. */
const lookAlikes = /[^\u212a\u037e\u1fef]+/g;

/**
 * Writes an e-mail address in its one form: the local part composed (NFC, RFC 6532), an internationalised domain in ASCII (UTS 46).
 * The case of letters stays.
 */
export function canonicalEmail(email: string): string {
  if (email.length > emailCharactersMax) return email;
  const at = email.lastIndexOf("@") + 1;
  const domain = email.slice(at);
  const local = email.slice(0, at).replace(lookAlikes, part => part.normalize("NFC"));
  return local + (/[\u0080-\uffff]/.test(domain) ? asciiDomain(domain) : domain);
}

/** Returns the ASCII form of a domain; the text as it is if it is none. */
function asciiDomain(domain: string): string {
  const url = `http://${domain}`;
  if (/[\s/\\?#:%[\]]/.test(domain) || !URL.canParse(url)) return domain;
  const { hostname } = new URL(url);
  return /^[a-z0-9.-]+$/.test(hostname) && !/\d$/.test(hostname) ? hostname : domain;
}

/**
 * Returns the same text as a flat string. V8 keeps concatenated strings as a tree until a character is read, which takes half
 * as much memory again and slows garbage collection.
 */
export function flattenString(text: string): string {
  // Reading a character flattens the string. The result depends on the read so that the compiler keeps it.
  return Number.isNaN(text.charCodeAt(0)) ? "" : text;
}

/** Returns true for a host, as `URL` writes it, that is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

const scaleMax = 1e9;
/** Numbers from here on keep 15 significant digits, which is what a double carries, and so fewer decimal ones. */
const fullScaleBelow = 1e6;

/** Adds two amounts as decimal numbers: rounded to 9 decimal digits, so that 0.1 and 0.2 are 0.3. */
export function addDecimals(a: number, b: number): number {
  const sum = a + b;
  if (Number.isInteger(sum)) return sum;
  // What a cancellation leaves is no more exact than the larger operand.
  return rounded(sum, Math.max(Math.abs(a), Math.abs(b)));
}

/** Adds amounts that are kept: a sum stays within the integers that doubles and JSON carry exactly. */
export function addBounded(a: number, b: number): number {
  const sum = addDecimals(a, b);
  return Math.min(Math.max(sum, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** Rounds a product or quotient to 9 decimal digits; halves away from zero. */
export function roundDecimal(value: number): number {
  return Number.isInteger(value) ? value : rounded(value, Math.abs(value));
}

function rounded(value: number, magnitude: number): number {
  if (!Number.isFinite(value)) return value;
  let scale = scaleMax;
  for (let bound = fullScaleBelow; magnitude >= bound && scale > 1; bound *= 10) scale /= 10;
  const whole = Math.floor(Math.abs(value) * scale + 0.5) / scale;
  return value < 0 && whole > 0 ? -whole : whole;
}

/** Digests of texts. */

/** Returns `sha256:` and the digest of a text in hexadecimal digits. */
export async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `sha256:${Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("")}`;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * The members of a JSON object. Each search starts where the last one ended, so reading members in stored order takes one
 * pass.
 */
export class JsonMembers {
  readonly #text: string;
  #next = 1;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Returns the text of a member's value; undefined if the object lacks the member. Text with white space, unlike that of
   * `JSON.stringify`, is parsed.
   *
   * @throws {SyntaxError} The text is cut off.
   */
  text(name: string): string | undefined {
    const text = this.#text;
    const first = this.#next;
    for (let at = first; text.charCodeAt(at) === quote; ) {
      const begin = endOfString(text, at) + 1;
      const end = text.charCodeAt(begin - 1) === colon ? endOfValue(text, begin) : -1;
      const behind = text.charCodeAt(end);
      if (end === -1 || (behind !== comma && behind !== closeBrace)) break;
      const next = behind === comma ? end + 1 : 1;
      if (begin - at === name.length + 3 && text.startsWith(name, at + 1)) {
        this.#next = next;
        return text.slice(begin, end);
      }
      if (next === first) return undefined;
      at = next;
    }
    return parsedMember(text, name);
  }

  /** Returns the value of a member; undefined if the object lacks the member. Found as by {@linkcode JsonMembers.text}. */
  value(name: string): unknown {
    const value = this.text(name);
    return value === undefined ? undefined : JSON.parse(value);
  }
}

function parsedMember(text: string, name: string): string | undefined {
  const parsed: Readonly<Record<string, unknown>> = JSON.parse(text);
  return Object.hasOwn(parsed, name) ? JSON.stringify(parsed[name]) : undefined;
}

/** Returns the index after a string that begins at a quote; 0 if it does not end. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (text.charCodeAt(end - 1) === backslash && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, index: number): boolean {
  let from = index;
  while (text.charCodeAt(from - 1) === backslash) from -= 1;
  return (index - from) % 2 === 1;
}

/** Returns the index after a value; -1 if none begins there, or it does not end. */
function endOfValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from) || -1;
  if (first === openBrace || first === openBracket) return endOfNested(text, from);
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === comma || code === closeBrace) return at;
    if (code <= 0x20) return -1;
  }
  return -1;
}

function endOfNested(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at) - 1;
      if (at === -1) return -1;
    } else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

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
