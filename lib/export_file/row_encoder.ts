/** Rows as text. */

import { csvRow } from "./csv.ts";

/** Formats of an export. */
export const exportFormats = ["csv", "json"] as const;

/** A format of an export. */
export type ExportFormat = (typeof exportFormats)[number];

/** A value of a row: what JSON can hold. `undefined` counts as null. */
export type ExportValue = unknown;

/** Turns rows into the text of a file: `head`, every row in turn, `tail`. */
export interface RowEncoder {
  head(): string;
  /** The text of a row, whose values are in the order of the fields. */
  row(values: readonly ExportValue[], isFirst: boolean): string;
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

/** One array with an object per line. */
function jsonEncoder(names: readonly string[]): RowEncoder {
  const keys = names.map((name, index) => `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`);
  return {
    head: () => "[\n",
    row(values, isFirst) {
      let text = isFirst ? "" : ",\n";
      for (let index = 0; index < keys.length; index++) {
        text += keys[index] + (JSON.stringify(values[index]) ?? "null");
      }
      return `${text}}`;
    },
    tail: () => "\n]\n",
  };
}
