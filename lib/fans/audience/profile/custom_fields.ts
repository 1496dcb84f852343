/**
 * Custom fields of profiles, which the settings of an organisation declare.
 *
 * ```json
 * { "audience": { "customFields": { "shirt": { "type": "string", "enum": ["S", "M", "L"] } } } }
 * ```
 */

import * as v from "valibot";
import type { FieldError } from "../../../base/errors/mod.ts";
import { fieldErrors } from "../../../http/requests/validate.ts";
import { memoize } from "../../../storage/background/mod.ts";
import type { Settings } from "../../directory/mod.ts";
import { MetricIndexesSchema } from "../../users/mod.ts";

const customFieldsMax = 64;
/** Longest value of a custom field, in characters, whatever its definition allows. */
const textCharactersMax = 1_024;
const choicesMax = 100;
/** Most texts of a list, and the longest in characters: loyalty keeps lists that rules read with each action. */
const listItemsMax = 64;
const listTextCharactersMax = 64;

const fieldName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/, "Expected a name of letters, digits, _, . and -"),
  v.notValues(["constructor", "prototype"], "Expected a name that objects do not inherit"),
);
const customField = v.strictObject({
  type: v.picklist(["string", "number", "boolean", "list"]),
  maxLength: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(textCharactersMax))),
  enum: v.exactOptional(
    v.pipe(v.array(v.union([v.string(), v.number()])), v.minLength(1), v.maxLength(choicesMax)),
  ),
  readOnly: v.optional(v.boolean(), false),
});
const FieldsSchema = v.object({
  customFields: v.optional(v.pipe(v.record(fieldName, customField), v.maxEntries(customFieldsMax)), {}),
});
const IndexesSchema = v.object({ indexes: v.optional(MetricIndexesSchema, []) });

type CustomField = v.InferOutput<typeof customField>;

export const CustomValueSchema = v.union([v.string(), v.number(), v.boolean(), v.array(v.string())]);

export type CustomValue = string | number | boolean | readonly string[];

export type CustomFields = ReadonlyMap<string, CustomField>;

const prefix = "customFields.";
const noFields: CustomFields = new Map();

const parseFields = memoize((settings: Settings): CustomFields => {
  const parsed = v.safeParse(FieldsSchema, settings.audience ?? {});
  return parsed.success ? new Map(Object.entries(parsed.output.customFields)) : noFields;
});

/** Returns the custom fields that an organisation declares; none if that section is invalid. */
export function customFieldsOf(settings: Settings | undefined): CustomFields {
  return settings === undefined ? noFields : parseFields(settings);
}

/** Returns the errors of an organisation's `audience` settings; `pointer` locates the settings. */
export function audienceSettingsErrors(settings: Settings, pointer: string): readonly FieldError[] {
  const section = settings.audience ?? {};
  const issues = [FieldsSchema, IndexesSchema].flatMap(schema => v.safeParse(schema, section).issues ?? []);
  if (issues.length === 0) return listIndexErrors(settings, pointer);
  return fieldErrors(issues, `${pointer}/audience`);
}

function listIndexErrors(settings: Settings, pointer: string): readonly FieldError[] {
  const fields = parseFields(settings);
  const { indexes } = v.parse(IndexesSchema, settings.audience ?? {});
  return indexes.flatMap((name, index) => {
    const isList = name.startsWith(prefix) && fields.get(name.slice(prefix.length))?.type === "list";
    const detail = "Expected no index of a list";
    return isList ? [{ pointer: `${pointer}/audience/indexes/${index}`, detail }] : [];
  });
}

/** Tests if only back ends may set a field. Lists are theirs: rules give by them, as segments. */
export function isBackEndOnly({ type, readOnly }: CustomField): boolean {
  return readOnly || type === "list";
}

/** Returns what is wrong with the value of a field, or null. A value of null removes the field. */
export function customValueError(fields: CustomFields, name: string, value: unknown): string | null {
  const field = fields.get(name);
  if (field === undefined) return "Is not a custom field of the organisation";
  if (value === null) return null;
  if (field.type === "list") return listError(field, value);
  if (typeof value !== field.type) return `Expected a ${field.type}`;
  const { maxLength = textCharactersMax } = field;
  if (typeof value === "string" && value.length > maxLength)
    return `Expected at most ${maxLength} characters`;
  return isChoice(field, value) ? null : "Expected one of the values that the field may have";
}

function listError(field: CustomField, value: unknown): string | null {
  const longest = Math.min(field.maxLength ?? listTextCharactersMax, listTextCharactersMax);
  const isList =
    Array.isArray(value) &&
    value.length <= listItemsMax &&
    value.every(item => typeof item === "string" && item.length <= longest) &&
    new Set(value).size === value.length;
  if (!isList)
    return `Expected a list of at most ${listItemsMax} different texts of at most ${longest} characters`;
  return value.every(item => isChoice(field, item)) ? null : "Expected values that the field may have";
}

function isChoice({ enum: choices }: CustomField, value: unknown): boolean {
  return choices?.some(choice => choice === value) ?? true;
}
