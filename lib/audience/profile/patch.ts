/**
 * Changes of profiles: which members may be changed, and what they may become.
 *
 * @module
 */

import { AppError, type FieldError } from "../../errors/mod.ts";
import { isPublicName } from "../../users/mod.ts";
import { type CustomFields, customValueFault } from "./custom_fields.ts";
import { isObject, type JsonObject, mergePatch } from "./merge_patch.ts";
import { preferencesFault } from "./preferences.ts";
import type { ProfileRecord } from "./record.ts";

/** Longest display name, in characters. */
export const displayNameCharactersMax = 100;

/** Longest name of a member in a pointer, in characters; a longer one is cut. */
export const pointerCharsMax = 128;

/** A change of a profile as a merge patch: null removes, and what is left out stays. */
export interface ProfilePatch {
  readonly displayName?: string | null;
  readonly preferences?: JsonObject | null;
  readonly customFields?: JsonObject | null;
}

/** What decides whether a change is right. */
export interface PatchRules {
  readonly fields: CustomFields;
  /** Whether it is a back end's, which may also set fields that users may not. */
  readonly isBackEnd: boolean;
}

/** The members of a profile that may be changed. */
export const patchMembers: readonly (keyof ProfilePatch)[] = ["displayName", "preferences", "customFields"];

/** Every fault of a change, as far as it shows without the profile. `base` is the pointer of the change. */
export function patchFaults(patch: JsonObject, rules: PatchRules, base = ""): readonly FieldError[] {
  const { displayName, preferences, customFields } = patch;
  const faults: FieldError[] = [];
  if (displayName !== undefined && displayName !== null && !isDisplayName(displayName)) {
    const detail = `Expected 1 to ${displayNameCharactersMax} characters, some of them visible and none a control character, or null`;
    faults.push({ pointer: `${base}/displayName`, detail });
  }
  for (const [name, value] of [
    ["preferences", preferences] as const,
    ["customFields", customFields] as const,
  ]) {
    if (value === undefined || value === null || isObject(value)) continue;
    faults.push({ pointer: `${base}/${name}`, detail: "Expected an object or null" });
  }
  const fault = isObject(preferences) ? preferencesFault(preferences, `${base}/preferences`) : null;
  if (fault !== null) faults.push(fault);
  const isWiped = customFields === null && !rules.isBackEnd;
  if (isWiped && [...rules.fields.values()].some(({ readOnly }) => readOnly)) {
    faults.push({ pointer: `${base}/customFields`, detail: "Has members that back ends alone set" });
  }
  if (isObject(customFields)) faults.push(...customFaults(customFields, rules, `${base}/customFields`));
  return faults;
}

/**
 * The content of a profile after a change whose faults were looked for; null where it stays as it is.
 *
 * @throws {AppError} `validation_failed` where the preferences become too large.
 */
export function patched(
  { displayName, preferences, customFields }: ProfileRecord,
  patch: ProfilePatch,
): Pick<ProfileRecord, "displayName" | "preferences" | "customFields"> | null {
  const before = { displayName, preferences, customFields };
  const merged = mergePatch(before, patch) as Partial<ProfileRecord>;
  const after = { displayName: null, preferences: {}, customFields: {}, ...merged };
  if (JSON.stringify(after) === JSON.stringify(before)) return null;
  const fault = preferencesFault(after.preferences);
  if (fault === null) return after;
  throw new AppError("validation_failed", "Cannot change the profile as its preferences would be too large", {
    fields: [fault],
  });
}

function customFaults(
  customFields: JsonObject,
  { fields, isBackEnd }: PatchRules,
  base: string,
): readonly FieldError[] {
  return Object.entries(customFields).flatMap(([name, value]): FieldError[] => {
    const pointer = `${base}${pointerOf(name)}`;
    const isReadOnly = !isBackEnd && (fields.get(name)?.readOnly ?? false);
    const detail = isReadOnly ? "Is set by back ends alone" : customValueFault(fields, name, value);
    return detail === null ? [] : [{ pointer, detail }];
  });
}

/** The JSON Pointer of a member, cut where its name is long. */
export function pointerOf(name: string): string {
  const token = name.slice(0, pointerCharsMax).toWellFormed();
  return `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function isDisplayName(value: unknown): boolean {
  return typeof value === "string" && value.length <= displayNameCharactersMax && isPublicName(value);
}
