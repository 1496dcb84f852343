/**
 * Untrusted JSON: `JSON.parse`, then one walk that rejects dangerous values.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";

/** Maximum nesting of arrays and objects in a body. */
export const jsonDepthMax = 64;

/**
 * Parses a JSON text.
 *
 * Also rejected:
 * - nesting beyond {@linkcode jsonDepthMax};
 * - a member `__proto__`, and a `constructor` that holds a `prototype`: merging such an object would change a prototype;
 * - lone surrogates, which cannot be stored as UTF-8;
 * - numbers beyond the range of doubles, which would be stored as null.
 *
 * @throws `bad_json`.
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw badJson("it is not valid JSON");
  }
  // Decoded text is well-formed, so a lone surrogate can only come from an escape.
  if (typeof value === "object" && value !== null) inspect(value, 1, text.includes("\\u"));
  else inspectScalar(value, true);
  return value;
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
