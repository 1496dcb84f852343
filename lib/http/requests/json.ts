/**
 * Parses JSON that strangers wrote. A parser makes objects faster than it can be stopped, so a long text is counted before it is
 * parsed; one walk then rejects dangerous values.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";

/** Maximum nesting of arrays and objects in a body. */
export const jsonDepthMax = 64;
/** Bytes up to which the values of a text are not counted, as they are few enough. */
export const uncountedBytesMax = 65_536;
/** Maximum number of values in a longer text. Arrays and objects, which cost most memory, count twice. */
export const jsonValuesMax = 32_768;
/** Maximum number of escapes in the strings of a JSON text. */
const jsonEscapesMax = 1_048_576;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const openBrace = 0x7b;

/** Counts the values of a JSON text in UTF-8 while it arrives. */
export class JsonCounter {
  #bytes = 0;
  #values = 0;
  #escapes = 0;
  #isInText = false;
  #isEscaped = false;

  /** @throws `payload_too_large` */
  add(bytes: Uint8Array): void {
    let values = this.#values;
    let escapes = this.#escapes;
    let isInText = this.#isInText;
    let at = this.#isEscaped ? 1 : 0;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === quote) isInText = !isInText;
      else if (isInText) {
        if (byte !== backslash) continue;
        escapes++;
        at++;
      } else if (byte === comma || byte === openBrace || byte === openBracket) values++;
    }
    this.#isEscaped = at > bytes.length;
    this.#values = values;
    this.#escapes = escapes;
    this.#isInText = isInText;
    this.#bytes += bytes.length;
    if (this.#bytes <= uncountedBytesMax) return;
    if (values > jsonValuesMax) throw tooMany(`${jsonValuesMax} values`);
    if (escapes > jsonEscapesMax) throw tooMany(`${jsonEscapesMax} escapes`);
  }
}

function tooMany(what: string): AppError {
  return new AppError("payload_too_large", `Cannot read the body: it must not have more than ${what}`);
}

/**
 * Parses a JSON text.
 *
 * Also rejected:
 * - more than {@linkcode jsonValuesMax} values;
 * - nesting beyond {@linkcode jsonDepthMax};
 * - a member `__proto__`, and a `constructor` that holds a `prototype`: merging such an object would change a prototype;
 * - lone surrogates, which cannot be stored as UTF-8;
 * - numbers beyond the range of doubles, which would be stored as null.
 *
 * @throws `bad_json` or `payload_too_large`.
 */
export function parseJson(text: string): unknown {
  if (text.length > uncountedBytesMax) new JsonCounter().add(new TextEncoder().encode(text));
  const value = parseCounted(text);
  inspectJson(value, text);
  return value;
}

/** Parses a text whose values are counted. The value is to be inspected before it is used. */
export function parseCounted(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw badJson("it is not valid JSON");
  }
}

/** @throws `bad_json`: the value is one that {@linkcode parseJson} rejects. */
export function inspectJson(value: unknown, text: string): void {
  // Decoded text is well-formed, so a lone surrogate can only come from an escape.
  if (typeof value === "object" && value !== null) inspect(value, 1, text.includes("\\u"));
  else inspectScalar(value, true);
}

/** Creates the error for an unreadable body. */
export function badJson(reason: string): AppError {
  return new AppError("bad_json", `Cannot read the body: ${reason}`);
}

function inspect(value: object, depth: number, escaped: boolean): void {
  if (depth > jsonDepthMax) throw badJson(`it is nested deeper than ${jsonDepthMax} levels`);
  if (Array.isArray(value)) {
    for (const item of value) inspectValue(item, depth, escaped);
    return;
  }
  // Every object here was made by JSON.parse, so for-in walks own members only.
  for (const name in value) {
    if (escaped) inspectText(name);
    const member = (value as Record<string, unknown>)[name];
    if (name === "__proto__" || (name === "constructor" && holdsPrototype(member))) {
      throw badJson(`a member "${name}" is not accepted`);
    }
    inspectValue(member, depth, escaped);
  }
}

function inspectValue(value: unknown, depth: number, escaped: boolean): void {
  if (typeof value === "object") {
    if (value !== null) inspect(value, depth + 1, escaped);
  } else inspectScalar(value, escaped);
}

function inspectScalar(value: unknown, escaped: boolean): void {
  if (typeof value === "string") {
    if (escaped) inspectText(value);
  } else if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
    throw badJson("it holds a number beyond the range of doubles");
  }
}

function inspectText(text: string): void {
  if (!text.isWellFormed()) throw badJson("it holds a lone surrogate");
}

function holdsPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}

/**
 * Returns the canonical form of a JSON value (RFC 8785): members ordered by their UTF-16 units, no white space between
 * tokens, numbers and strings as ECMAScript prints them.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join()}}`;
}
