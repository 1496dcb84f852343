/**
 * Bounds of objects whose members clients choose.
 *
 * @module
 */

import type { FieldError } from "../../errors/mod.ts";
import { isObject } from "./merge_patch.ts";

/** Largest preferences of a user, in characters of their JSON text. */
export const preferencesCharactersMax = 16_384;
/** Deepest nesting of preferences, the outermost object included. */
export const preferencesDepthMax = 8;
/** Most members of all objects, and items of all lists, in preferences. */
export const preferencesPartsMax = 512;
/** Longest name of a member, in characters. */
export const memberNameCharactersMax = 64;

/** Names that later code could take for what objects inherit. */
const refusedNames: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** What is wrong with preferences; null: nothing. */
export function preferencesFault(preferences: unknown, pointer = "/preferences"): FieldError | null {
  const walk = new Walk();
  const fault = walk.visit(preferences, pointer, 1);
  if (fault !== null) return fault;
  return JSON.stringify(preferences).length <= preferencesCharactersMax
    ? null
    : { pointer, detail: `Expected at most ${preferencesCharactersMax} characters as JSON` };
}

class Walk {
  #parts = 0;

  visit(value: unknown, pointer: string, depth: number): FieldError | null {
    if (typeof value !== "object" || value === null) return null;
    if (depth > preferencesDepthMax)
      return { pointer, detail: `Expected at most ${preferencesDepthMax} levels` };
    for (const [name, part] of Object.entries(value)) {
      this.#parts += 1;
      if (this.#parts > preferencesPartsMax)
        return { pointer: "/preferences", detail: `Expected at most ${preferencesPartsMax} members` };
      if (isObject(value) && (refusedNames.has(name) || name.length > memberNameCharactersMax)) {
        return {
          pointer,
          detail: `Expected names of at most ${memberNameCharactersMax} characters that objects do not inherit`,
        };
      }
      const fault = this.visit(part, `${pointer}/${escapeToken(name)}`, depth + 1);
      if (fault !== null) return fault;
    }
    return null;
  }
}

function escapeToken(token: string): string {
  return token.replaceAll("~", "~0").replaceAll("/", "~1");
}
