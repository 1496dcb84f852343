/**
 * Texts that stand for ids which may be unknown yet, in the values of attributes.
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
