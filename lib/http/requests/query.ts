/**
 * Decodes query strings and path parameters strictly: malformed and repeated ones are rejected.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";

/** Maximum number of `name=value` pairs in a query. */
export const queryPairsMax = 64;

/** Maximum length of a query as sent, in UTF-16 units. */
export const queryCharsMax = 8_192;
/** Maximum length of a path parameter as sent, in UTF-16 units. */
export const pathParameterCharsMax = 2_048;

/** Decoded names and values. The object inherits no members, so `constructor` is an ordinary name. */
export type Parameters = Readonly<Record<string, string>>;

/** An object without a prototype. Unlike `Object.create(null)` it keeps the engine's fast property layout. */
class Bag {
  [name: string]: string;
}
Object.setPrototypeOf(Bag.prototype, null);
Reflect.deleteProperty(Bag.prototype, "constructor");

/** Creates an empty set of parameters to fill. */
export function emptyParameters(): Record<string, string> {
  return new Bag();
}

/** The parameters of a route without parameters. */
export const noParameters: Parameters = Object.freeze(emptyParameters());

/**
 * Parses a query in the form encoding of the WHATWG URL standard: `+` is a space, `a` alone is `a=`.
 *
 * @throws `validation_failed` for malformed percent-encoding, a repeated name, more than {@linkcode queryPairsMax} pairs or
 * {@linkcode queryCharsMax} characters.
 */
export function parseQuery(query: string): Parameters {
  if (query === "") return noParameters;
  if (query.length > queryCharsMax) throw refuse("", `The query is longer than ${queryCharsMax} characters`);
  const parsed = emptyParameters();
  let pairs = 0;
  for (let start = 0; start < query.length; ) {
    const mark = query.indexOf("&", start);
    const end = mark === -1 ? query.length : mark;
    if (end > start) {
      pairs++;
      if (pairs > queryPairsMax) throw refuse("", `The query has more than ${queryPairsMax} parameters`);
      addPair(parsed, query, start, end);
    }
    start = end + 1;
  }
  return parsed;
}

/**
 * Decodes one path segment once: `%2F` becomes a slash inside the value.
 *
 * @throws `validation_failed` for malformed percent-encoding or a value beyond {@linkcode pathParameterCharsMax}.
 */
export function decodeSegment(segment: string, name: string): string {
  if (segment.length > pathParameterCharsMax) throw refuse(name, "Is too long");
  return segment.includes("%") ? decode(segment, name) : segment;
}

function addPair(parsed: Record<string, string>, query: string, start: number, end: number): void {
  const equals = query.indexOf("=", start);
  const nameEnd = equals === -1 || equals > end ? end : equals;
  const name = decodeForm(query.slice(start, nameEnd), "");
  if (name in parsed) throw refuse(name, "Is given more than once");
  parsed[name] = nameEnd === end ? "" : decodeForm(query.slice(nameEnd + 1, end), name);
}

function decodeForm(text: string, pointer: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  return spaced.includes("%") ? decode(spaced, pointer) : spaced;
}

function decode(text: string, pointer: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse(pointer, "Is not percent-encoded UTF-8");
  }
}

function refuse(pointer: string, detail: string): AppError {
  const bounded = pointer.slice(0, 64).toWellFormed();
  return new AppError("validation_failed", "Cannot read the URL: its parameters must be well-formed", {
    fields: [{ pointer: bounded, detail }],
  });
}

/**
 * Creates the schema of an integer in a query or a path: text that becomes a number, from 0 unless `minimum` says otherwise. The
 * OpenAPI document has it as an integer. Make it optional with `v.optional(integerParameter({…}), "20")`.
 */
export function integerParameter({
  description,
  minimum = 0,
  maximum,
}: {
  readonly description: string;
  readonly minimum?: number;
  readonly maximum: number;
}): v.GenericSchema<string, number> {
  const expected = `Expected an integer from ${minimum} to ${maximum}`;
  return v.pipe(
    v.string(),
    v.metadata({ type: "integer", minimum, maximum, description }),
    v.check(text => /^\d{1,15}$/.test(text), expected),
    v.transform(Number),
    v.minValue(minimum, expected),
    v.maxValue(maximum, expected),
  );
}
