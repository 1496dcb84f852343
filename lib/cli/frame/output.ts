/**
 * The form of a command's data. Tables, tab-separated values and the JSON schema come from it, so that they cannot disagree.
 *
 * @module
 */

import { isoTime, relativeTime } from "./checks.ts";
import { cleanJson } from "./clean.ts";
import type { Listing } from "./control_api.ts";
import type { ResourceObject } from "./resources.ts";

/** The type of a field; a `?` behind it allows null. `time` is ISO 8601 in UTC, `json` anything. */
type FieldType = BaseType | `${BaseType}?`;
type BaseType = "text" | "whole" | "number" | "flag" | "time" | "texts" | "json";

/** Fields by name: the heading of the column, null for JSON alone, and the type. */
export type Fields = Readonly<Record<string, readonly [heading: string | null, type: FieldType]>>;

export type Output =
  | { readonly kind: "rows" | "record"; readonly fields: Fields }
  | { readonly kind: "text" | "json" };

/** A list of records, printed as a table. */
export const rows = (fields: Fields): Output => ({ kind: "rows", fields });
/** A record, printed as a table of one row. */
export const record = (fields: Fields): Output => ({ kind: "record", fields });
/** A text, printed as it is. */
export const text: Output = { kind: "text" };
/** Data that has no fixed form. */
export const json: Output = { kind: "json" };

/** Returns the fields of a resource: its id, and attributes by their names. */
export function fieldsOf(fields: Fields, { id, attributes }: ResourceObject): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, [, type]]) => {
    const value = name === "id" ? id : (attributes[name] ?? null);
    const isUnixTime = typeof value === "number" && splitType(type)[0] === "time";
    return [name, isUnixTime ? isoTime(value) : value];
  });
  return Object.fromEntries(entries);
}

/** Returns the result of a command that lists resources; `more` has the fields that are no attributes. */
export function listed(
  { data, isTruncated }: Listing,
  fields: Fields,
  more: (one: ResourceObject) => Readonly<Record<string, unknown>> = () => ({}),
) {
  const rows = data.map(one => ({ ...fieldsOf(fields, one), ...more(one) }));
  return { data: rows, meta: { truncated: isTruncated } };
}

export interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const schemas: Readonly<Record<BaseType, object>> = {
  text: { type: "string" },
  whole: { type: "integer" },
  number: { type: "number" },
  flag: { type: "boolean" },
  time: { type: "string", format: "date-time" },
  texts: { type: "array", items: { type: "string" } },
  json: {},
};

export function schemaOf(output: Output): object {
  if (!("fields" in output)) return schemas[output.kind];
  const properties = Object.fromEntries(
    Object.entries(output.fields).map(([name, [, type]]) => {
      const [base, isNullable] = splitType(type);
      return [name, isNullable ? { anyOf: [schemas[base], { type: "null" }] } : schemas[base]];
    }),
  );
  const object = {
    type: "object",
    required: Object.keys(properties),
    properties,
    additionalProperties: false,
  };
  return output.kind === "record" ? object : { type: "array", items: object };
}

/** Formats data as a table or text. `now`, in Unix ms, makes times relative; null leaves them as they are. */
export function shownAs(output: Output, data: unknown, now: number | null): Rows | string {
  if (!("fields" in output)) return output.kind === "text" ? `${data}\n` : `${cleanJson(data, 2)}\n`;
  const shown = Object.entries(output.fields).filter(([, [heading]]) => heading !== null);
  const records = (output.kind === "rows" ? data : [data]) as readonly Readonly<Record<string, unknown>>[];
  return {
    columns: shown.map(([, [heading]]) => heading ?? ""),
    rows: records.map(one => shown.map(([name, [, type]]) => cell(one[name], splitType(type)[0], now))),
  };
}

function cell(value: unknown, type: BaseType, now: number | null): string {
  if (value === null || value === undefined) return "";
  if (type === "time" && now !== null) return relativeTime(String(value), now);
  if (type === "texts") return (value as readonly string[]).join(",");
  return type === "json" && typeof value !== "string" ? JSON.stringify(value) : String(value);
}

function splitType(type: FieldType): readonly [BaseType, boolean] {
  return type.endsWith("?") ? [type.slice(0, -1) as BaseType, true] : [type as BaseType, false];
}

/** Writes YAML that tools of version 1.1 read alike: they take `Yes`, `no` and `2024-01-01` without quotes for other values. */
export async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(value, { lineWidth: 0, compat: "yaml-1.1" });
}
