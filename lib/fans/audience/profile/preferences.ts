/**
 * Bounds of preferences: objects whose members clients choose.
 *
 * @module
 */

import { type FieldError, jsonPointer } from "../../../base/errors/mod.ts";
import { isJsonObject } from "../batch/items.ts";

/** Largest preferences of a user, in characters of their JSON text. */
const charactersMax = 16_384;
/** Deepest nesting, the outermost object included. */
const depthMax = 8;
/** Most members of all objects and items of all lists together. */
const membersMax = 512;
const nameCharactersMax = 64;

/** Names that later code could mistake for inherited members. */
const refusedNames: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Returns the first error of preferences, or null. */
export function preferencesError(preferences: unknown, pointer = "/preferences"): FieldError | null {
  let members = 0;
  function visit(value: unknown, at: string, depth: number): FieldError | null {
    if (typeof value !== "object" || value === null) return null;
    if (depth > depthMax) return { pointer: at, detail: `Expected at most ${depthMax} levels` };
    for (const [name, member] of Object.entries(value)) {
      members += 1;
      if (members > membersMax) return { pointer, detail: `Expected at most ${membersMax} members` };
      if (isJsonObject(value) && (refusedNames.has(name) || name.length > nameCharactersMax)) {
        const detail = `Expected names of at most ${nameCharactersMax} characters that objects do not inherit`;
        return { pointer: at, detail };
      }
      const error = visit(member, at + jsonPointer(name), depth + 1);
      if (error !== null) return error;
    }
    return null;
  }
  const error = visit(preferences, pointer, 1);
  if (error !== null || JSON.stringify(preferences).length <= charactersMax) return error;
  return { pointer, detail: `Expected at most ${charactersMax} characters as JSON` };
}
