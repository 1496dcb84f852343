/**
 * Texts that stand for ids which may be unknown yet, in the values of attributes; and `{{name}}` in the texts of files, which has one
 * rule in all of them: a backslash before the braces makes them text, and what is unknown is refused.
 */

import { jsonPointer } from "../../base/errors/mod.ts";
import { replaceIds } from "./copies.ts";

export interface Fault {
  /** JSON Pointer into the document. */
  readonly pointer: string;
  readonly detail: string;
}

/** The name that stands for the event of a file itself, unless an element has it. */
export const eventName = "event";

/** Begin and end what stands for the id of an entity while it may be unknown, as a text or in one. */
const [tokenStart, tokenEnd] = ["\u0001", "\u0002"];
const tokens = new RegExp(`${tokenStart}([^${tokenEnd}]*)${tokenEnd}`, "g");
const marks = new RegExp(`(\\\\*)${tokens.source}`, "g");

export function tokenOf(path: string): string {
  return tokenStart + path + tokenEnd;
}

export function pathOfToken(value: unknown): string | null {
  const path = typeof value === "string" ? value.slice(1, -1) : "";
  return value === tokenOf(path) && !path.includes(tokenEnd) ? path : null;
}

export function replaceTokens(text: string, idOf: (path: string) => string): string {
  return text.replace(tokens, (_, path: string) => idOf(path));
}

export function pathsIn(value: unknown): readonly string[] {
  const paths: string[] = [];
  const note = (path: string): string => {
    paths.push(path);
    return "";
  };
  mapTexts(value, text => replaceTokens(text, note));
  return paths;
}

/** Copies a value, with other texts in it. Names of members stay texts. */
export function mapTexts(
  value: unknown,
  map: (text: string, pointer: string, isName: boolean) => unknown,
  pointer = "",
): unknown {
  if (typeof value === "string") return map(value, pointer, false);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, map, `${pointer}/${index}`));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const at = pointer + jsonPointer(name);
      return [String(map(name, at, true)), mapTexts(member, map, at)];
    }),
  );
}

const whole = /^\{\{\s*([^{}]+?)\s*\}\}$/;

/** Matches references in texts; `names` are those that may have braces of their own. */
function insideOf(names: Iterable<string>): RegExp {
  const braced = [...names].filter(name => /[{}]/.test(name)).sort((a, b) => b.length - a.length);
  const known = braced.map(name => name.replace(/[^\w\s]/g, "\\$&"));
  return new RegExp(`(\\\\*)\\{\\{\\s*(${[...known, "[^{}]*?"].join("|")})\\s*\\}\\}`, "g");
}

/** Returns the name in a text that is a reference and nothing else, or null. */
export function referenceOf(text: string): string | null {
  return whole.exec(text)?.[1] ?? null;
}

/** Replaces the references in a text. An odd backslash before the braces makes them text; two backslashes are one. */
export function replaceReferences(
  text: string,
  replace: (name: string) => string,
  names: Iterable<string> = [],
): string {
  return text.replace(insideOf(names), (match, slashes: string, name: string) => {
    const kept = "\\".repeat(Math.floor(slashes.length / 2));
    return kept + (slashes.length % 2 === 1 ? match.slice(slashes.length) : replace(name));
  });
}

/** Writes a text as files have it: with names for the ids that have one, and with braces that are no reference. */
export function written(text: string, names: ReadonlyMap<string, string> = new Map()): string {
  const marked = replaceIds(text, id => (names.has(id) ? tokenOf(id) : undefined));
  const plain = marked.replace(insideOf(names.values()), (match, slashes: string) =>
    // References between braces keep those from being one.
    match.includes(tokenStart) ? match : `${slashes}${slashes}\\${match.slice(slashes.length)}`,
  );
  return plain.replace(marks, (_, slashes: string, id: string) => `${slashes}${slashes}{{${names.get(id)}}}`);
}
