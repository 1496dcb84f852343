/**
 * The form of a command's data. Tables, tab-separated values and the JSON schema come from it, so that they cannot disagree.
 */

import type { ResourceObject } from "./resources.ts";
import { cleanJson, isoTime, relativeTime } from "./text.ts";

/** The type of a field; a `?` behind it allows null. `time` is ISO 8601 in UTC, `json` anything. */
type FieldType = BaseType | `${BaseType}?`;
type BaseType = "text" | "whole" | "number" | "flag" | "time" | "texts" | "json";

/** The type of a field whose heading is its name in capitals, or its own heading and type; a field without a heading is in JSON alone. */
type Field = FieldType | readonly [heading: string | null, type: FieldType];
export type Fields = Readonly<Record<string, Field>>;

export type Output =
  | { readonly kind: "rows" | "record"; readonly fields: Fields }
  | { readonly kind: "text" | "json" };

/** A list of records, printed as a table. */
export const rows = (fields: Fields): Output => ({ kind: "rows", fields });
/** A record, printed as a table of one row. */
export const record = (fields: Fields): Output => ({ kind: "record", fields });
export const text: Output = { kind: "text" };
export const json: Output = { kind: "json" };

export function fieldsOf(fields: Fields, { id, attributes }: ResourceObject): Record<string, unknown> {
  const entries = columnsOf(fields).map(({ name, type }) => {
    const value = name === "id" ? id : (attributes[name] ?? null);
    return [name, typeof value === "number" && type === "time" ? isoTime(value) : value];
  });
  return Object.fromEntries(entries);
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
    columnsOf(output.fields).map(({ name, type, isNullable }) => [
      name,
      isNullable ? { anyOf: [schemas[type], { type: "null" }] } : schemas[type],
    ]),
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
  const shown = columnsOf(output.fields).filter(({ heading }) => heading !== null);
  const records = (output.kind === "rows" ? data : [data]) as readonly Readonly<Record<string, unknown>>[];
  return {
    columns: shown.map(({ heading }) => heading ?? ""),
    rows: records.map(one => shown.map(({ name, type }) => cell(one[name], type, now))),
  };
}

function cell(value: unknown, type: BaseType, now: number | null): string {
  if (value === null || value === undefined) return "";
  if (type === "time" && now !== null) return relativeTime(String(value), now);
  if (type === "texts") return (value as readonly string[]).join(",");
  return type === "json" && typeof value !== "string" ? JSON.stringify(value) : String(value);
}

function columnsOf(fields: Fields) {
  return Object.entries(fields).map(([name, field]) => {
    const [heading, type] = typeof field === "string" ? [name.toUpperCase(), field] : field;
    return { name, heading, type: type.replace("?", "") as BaseType, isNullable: type.endsWith("?") };
  });
}
