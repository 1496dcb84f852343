/**
 * Custom fields of profiles: which there are is said by the settings of the organisation.
 *
 * ```json
 * { "audience": { "customFields": { "shirt": { "type": "string", "enum": ["S", "M", "L"] } } } }
 * ```
 *
 * @module
 */

import * as v from "valibot";
import type { Settings } from "../../directory/mod.ts";
import type { FieldError } from "../../errors/mod.ts";
import { issueDetail } from "../../http/mod.ts";
import { MetricIndexesSchema } from "../../users/mod.ts";

/** Most custom fields of an organisation. */
export const customFieldsMax = 64;
/** Longest value of a custom field, in characters, whatever its definition says. */
export const customTextCharactersMax = 1_024;
/** Most values that an `enum` lists. */
export const customChoicesMax = 100;

/** A custom field. */
export interface CustomField {
  readonly type: "string" | "number" | "boolean";
  /** Of a string, in characters. @default {@linkcode customTextCharactersMax} */
  readonly maxLength?: number;
  /** The values that it may have. */
  readonly enum?: readonly (string | number)[];
  /** Whether back ends alone set it. */
  readonly readOnly: boolean;
}

/** The value of a custom field. */
export type CustomValue = string | number | boolean;

/** The custom fields of an organisation by their names. */
export type CustomFields = ReadonlyMap<string, CustomField>;

const name = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/, "Expected a name of letters, digits, _, . and -"),
  v.notValues(["constructor", "prototype"], "Expected a name that objects do not inherit"),
);
const field = v.strictObject({
  type: v.picklist(["string", "number", "boolean"]),
  maxLength: v.exactOptional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(customTextCharactersMax)),
  ),
  enum: v.exactOptional(
    v.pipe(v.array(v.union([v.string(), v.number()])), v.minLength(1), v.maxLength(customChoicesMax)),
  ),
  readOnly: v.optional(v.boolean(), false),
});

const SettingsSchema = v.object({
  customFields: v.optional(v.pipe(v.record(name, field), v.maxEntries(customFieldsMax)), {}),
});

const IndexesSchema = v.object({ indexes: v.optional(MetricIndexesSchema, []) });

const none: CustomFields = new Map();
const known = new WeakMap<Settings, CustomFields>();

/** The custom fields that an organisation's settings declare; none where that section is not valid. */
export function customFieldsOf(settings: Settings | undefined): CustomFields {
  if (settings === undefined) return none;
  const found = known.get(settings);
  if (found !== undefined) return found;
  const parsed = v.safeParse(SettingsSchema, settings.audience ?? {});
  const fields: CustomFields = parsed.success ? new Map(Object.entries(parsed.output.customFields)) : none;
  known.set(settings, fields);
  return fields;
}

/** What is wrong with the section of an organisation's settings that declares custom fields and indexes. */
export function audienceFaults(settings: Settings, pointer: string): readonly FieldError[] {
  const parsed = v.safeParse(SettingsSchema, settings.audience ?? {});
  const section = v.safeParse(IndexesSchema, settings.audience ?? {});
  return [...(parsed.issues ?? []), ...(section.issues ?? [])].map(issue => ({
    pointer: [`${pointer}/audience`, ...(issue.path ?? []).map(({ key }) => String(key))].join("/"),
    detail: issueDetail(issue),
  }));
}

/** What is wrong with a value for a field; null: nothing. Removing a value, which is null, is always right. */
export function customValueFault(fields: CustomFields, name: string, value: unknown): string | null {
  const field = fields.get(name);
  if (field === undefined) return "Is not a custom field of the organisation";
  if (value === null) return null;
  if (typeof value !== field.type) return `Expected a ${field.type}`;
  if (typeof value === "string") {
    const { maxLength = customTextCharactersMax } = field;
    if (value.length > maxLength) return `Expected at most ${maxLength} characters`;
  }
  const isListed = field.enum?.some(choice => choice === value) ?? true;
  return isListed ? null : "Expected one of the values that the field may have";
}
