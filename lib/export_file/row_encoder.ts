/** Rows as text. */

import { csvRow } from "./csv.ts";

/** Text that JSON writes as it is; the rest costs more. */
const isPlain = /^[ !#-[\]-~]*$/;

/** Formats of an export. */
export const exportFormats = ["csv", "json"] as const;

/** A format of an export. */
export type ExportFormat = (typeof exportFormats)[number];

/** Turns rows into the text of a file: `head`, every row in turn, `tail`. */
export interface RowEncoder {
  head(): string;
  /** The text of a row, whose values are in the order of the fields. */
  row(values: readonly unknown[], isFirst: boolean): string;
  tail(): string;
}

/** The encoder of a format for rows of these fields, whose names are unique. */
export function rowEncoder(format: ExportFormat, fields: readonly { readonly name: string }[]): RowEncoder {
  const names = fields.map(({ name }) => name);
  return format === "csv" ? csvEncoder(names) : jsonEncoder(names);
}

function csvEncoder(names: readonly string[]): RowEncoder {
  return { head: () => csvRow(names), row: values => csvRow(values), tail: () => "" };
}

/** One array, with an object on every line. A lone surrogate is escaped, so that readers have what was there. */
function jsonEncoder(names: readonly string[]): RowEncoder {
  const keys = names.map((name, index) => `${index === 0 ? "" : ","}${JSON.stringify(name)}:`);
  return {
    head: () => "[",
    row(values, isFirst) {
      let text = isFirst ? "\n{" : ",\n{";
      for (let index = 0; index < keys.length; index++) text += keys[index] + jsonValue(values[index]);
      return `${text}}`;
    },
    tail: () => "\n]\n",
  };
}

function jsonValue(value: unknown): string {
  if (typeof value === "string") return isPlain.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return JSON.stringify(value) ?? "null";
}
