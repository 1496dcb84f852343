/** Changes of profiles as JSON Merge Patch (RFC 7396). */

import { AppError, type FieldError, jsonPointer } from "../../../base/errors/mod.ts";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import { isPublicName } from "../../users/mod.ts";
import { type CustomFields, customValueError, isBackEndOnly } from "./custom_fields.ts";
import type { ProfileRecord } from "./record.ts";

const displayNameCharactersMax = 100;

type ProfileContent = Pick<ProfileRecord, "displayName" | "preferences" | "customFields">;

/** A merge patch of a profile: null removes, absent members stay. */
export interface ProfilePatch {
  readonly displayName?: string | null;
  readonly preferences?: Members | null;
  readonly customFields?: Members | null;
}

export interface PatchRules {
  readonly fields: CustomFields;
  /** True if a back end sends it, which may also set read-only fields. */
  readonly isBackEnd: boolean;
}

export const patchMembers: readonly (keyof ProfilePatch)[] = ["displayName", "preferences", "customFields"];

/** Returns every error of a patch that shows without the profile; pointers are relative to the patch. */
export function patchErrors(patch: Members, rules: PatchRules): readonly FieldError[] {
  const { displayName, preferences, customFields } = patch;
  const errors: FieldError[] = [];
  if (displayName !== undefined && displayName !== null && !isDisplayName(displayName)) {
    const detail = `Expected 1 to ${displayNameCharactersMax} characters, some of them visible and none a control character, or null`;
    errors.push({ pointer: "/displayName", detail });
  }
  for (const name of ["preferences", "customFields"]) {
    const value = patch[name];
    if (value === undefined || value === null || isMembers(value)) continue;
    errors.push({ pointer: `/${name}`, detail: "Expected an object or null" });
  }
  const error = isMembers(preferences) ? preferencesError(preferences) : null;
  if (error !== null) errors.push(error);
  if (isMembers(customFields)) return [...errors, ...customFieldErrors(customFields, rules)];
  const hasReadOnly = [...rules.fields.values()].some(isBackEndOnly);
  if (customFields === null && hasReadOnly && !rules.isBackEnd) {
    errors.push({ pointer: "/customFields", detail: "Has members that only back ends may set" });
  }
  return errors;
}

function customFieldErrors(customFields: Members, { fields, isBackEnd }: PatchRules): readonly FieldError[] {
  return Object.entries(customFields).flatMap(([name, value]): FieldError[] => {
    const field = fields.get(name);
    const isRefused = !isBackEnd && field !== undefined && isBackEndOnly(field);
    const detail = isRefused ? "Only back ends may set it" : customValueError(fields, name, value);
    return detail === null ? [] : [{ pointer: jsonPointer("customFields", name), detail }];
  });
}

/**
 * Applies a checked patch. Returns null if it changes nothing.
 *
 * @throws {AppError} `validation_failed` if the preferences become too large.
 */
export function applyPatch(
  { displayName, preferences, customFields }: ProfileRecord,
  patch: ProfilePatch,
): ProfileContent | null {
  const before = { displayName, preferences, customFields };
  const merged = mergePatch(before, patch) as Partial<ProfileContent>;
  const after = { displayName: null, preferences: {}, customFields: {}, ...merged };
  if (JSON.stringify(after) === JSON.stringify(before)) return null;
  const error = preferencesError(after.preferences);
  if (error === null) return after;
  const message = "Cannot change the profile as its preferences would be too large";
  throw new AppError("validation_failed", message, { fields: [error] });
}

/** Applies a JSON Merge Patch (RFC 7396). Neither argument changes. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMembers(patch)) return patch;
  const merged = new Map(isMembers(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

function isDisplayName(value: unknown): boolean {
  return typeof value === "string" && value.length <= displayNameCharactersMax && isPublicName(value);
}

/** Largest preferences of a user, in characters of their JSON text. */
const charactersMax = 16_384;
/** Deepest nesting, the outermost object included. */
const depthMax = 8;
/** Most members of all objects and items of all lists together. */
const membersMax = 512;
const nameCharactersMax = 64;

/** Names that later code could mistake for inherited members. */
export const inheritedNames: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Returns the first error of preferences, or null. */
export function preferencesError(preferences: unknown, pointer = "/preferences"): FieldError | null {
  let members = 0;
  function visit(value: unknown, at: string, depth: number): FieldError | null {
    if (typeof value !== "object" || value === null) return null;
    if (depth > depthMax) return { pointer: at, detail: `Expected at most ${depthMax} levels` };
    for (const [name, member] of Object.entries(value)) {
      members += 1;
      if (members > membersMax) return { pointer, detail: `Expected at most ${membersMax} members` };
      if (isMembers(value) && (inheritedNames.has(name) || name.length > nameCharactersMax)) {
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
