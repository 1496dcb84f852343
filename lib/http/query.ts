/**
 * Query strings and path parameters, decoded strictly: what cannot be decoded, or is said twice, is refused.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";

/** Most `name=value` pairs in one query. */
export const queryPairsMax = 64;

/** Longest query as sent, in UTF-16 units. */
export const queryCharsMax = 8_192;
/** Longest path parameter as sent, in UTF-16 units. */
export const pathParameterCharsMax = 2_048;

/** Decoded names and values; it has no prototype, so that a name such as `constructor` is only a name. */
export type Parameters = Readonly<Record<string, string>>;

/** What a route without parameters is given. */
export const noParameters: Parameters = Object.freeze(Object.create(null));

/**
 * Parses a query in the form encoding of the WHATWG URL standard: `+` is a space, `a` alone is `a=`.
 *
 * @throws `validation_failed` for malformed percent-encoding, a repeated name, more than {@linkcode queryPairsMax} pairs or
 * {@linkcode queryCharsMax} characters.
 */
export function parseQuery(query: string): Parameters {
  if (query === "") return noParameters;
  if (query.length > queryCharsMax) throw refuse("", `The query is longer than ${queryCharsMax} characters`);
  const parsed: Record<string, string> = Object.create(null);
  let pairs = 0;
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    pairs++;
    if (pairs > queryPairsMax) throw refuse("", `The query has more than ${queryPairsMax} parameters`);
    const equals = pair.indexOf("=");
    const name = decodeForm(equals === -1 ? pair : pair.slice(0, equals), "");
    if (name in parsed) throw refuse(name, "Is given more than once");
    parsed[name] = equals === -1 ? "" : decodeForm(pair.slice(equals + 1), name);
  }
  return parsed;
}

/**
 * Decodes captured path segments once: `%2F` becomes a slash inside the value.
 *
 * @throws `validation_failed` for malformed percent-encoding or a value beyond {@linkcode pathParameterCharsMax}.
 */
export function decodeParameters(captured: Record<string, string>): Parameters {
  for (const name in captured) {
    const value = captured[name] ?? "";
    if (value.length > pathParameterCharsMax) throw refuse(name, "Is too long");
    if (value.includes("%")) captured[name] = decode(value, name);
  }
  return captured;
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
