/**
 * Texts that stand for ids which may be unknown yet, in the values of attributes; and `{{name}}` in the texts of files, which has one
 * rule in all of them: a backslash before the braces makes them text, and what is unknown is refused.
 *
 * @module
 */

import { jsonPointer } from "../../errors/mod.ts";

/** A fault of a file. */
export interface Fault {
  /** JSON Pointer into the document. */
  readonly pointer: string;
  readonly detail: string;
}

/** Begins the text that stands for the id of an entity while it may be unknown. */
const tokenStart = "\u0001";

/** Returns the text that stands for the id of the entity with this path. */
export function tokenOf(path: string): string {
  return tokenStart + path;
}

/** Returns the path of the entity whose id a value stands for, or null. */
export function pathOfToken(value: unknown): string | null {
  return typeof value === "string" && value.startsWith(tokenStart) ? value.slice(tokenStart.length) : null;
}

/** Returns the paths of the entities that a value names. */
export function pathsIn(value: unknown): readonly string[] {
  const paths: string[] = [];
  mapTexts(value, text => {
    const path = pathOfToken(text);
    if (path !== null) paths.push(path);
    return text;
  });
  return paths;
}

/** Copies a value, with other texts in it. */
export function mapTexts(
  value: unknown,
  map: (text: string, pointer: string) => unknown,
  pointer = "",
): unknown {
  if (typeof value === "string") return map(value, pointer);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, map, `${pointer}/${index}`));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, mapTexts(member, map, pointer + jsonPointer(name))]),
  );
}

const whole = /^\{\{\s*([^{}]+?)\s*\}\}$/;
const inside = /(\\*)\{\{\s*([^{}]*?)\s*\}\}/g;

/** Returns the name in a text that is a reference and nothing else, or null. */
export function referenceOf(text: string): string | null {
  return whole.exec(text)?.[1] ?? null;
}

/** Replaces the references in a text. An odd backslash before the braces makes them text; two backslashes are one. */
export function replaceReferences(text: string, replace: (name: string) => string): string {
  return text.replace(inside, (match, slashes: string, name: string) => {
    const kept = "\\".repeat(Math.floor(slashes.length / 2));
    return kept + (slashes.length % 2 === 1 ? match.slice(slashes.length) : replace(name));
  });
}

/** Writes a text so that it has no references. */
export function escaped(text: string): string {
  return text.replace(
    /(\\*)(\{\{[^{}]*\}\})/g,
    (_, slashes: string, rest: string) => `${slashes}${slashes}\\${rest}`,
  );
}
