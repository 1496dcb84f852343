/** Rows as text. */

import { csvRow } from "./csv.ts";

/** Formats of an export. */
export const exportFormats = ["csv", "json"] as const;

/** A format of an export. */
export type ExportFormat = (typeof exportFormats)[number];

/** Turns rows into the text of a file: `head`, every row in turn, `tail`. */
export interface RowEncoder {
  head(): string;
  /** The text of a row, from the JSON of its values in the order of the fields. What has none is `null`. */
  row(values: readonly string[], isFirst: boolean): string;
  tail(): string;
}

/** The encoder of a format for rows of these fields, whose names are unique. */
export function rowEncoder(format: ExportFormat, fields: readonly { readonly name: string }[]): RowEncoder {
  const names = fields.map(({ name }) => name);
  return format === "csv" ? csvEncoder(names) : jsonEncoder(names);
}

function csvEncoder(names: readonly string[]): RowEncoder {
  return { head: () => csvRow(names.map(name => JSON.stringify(name))), row: csvRow, tail: () => "" };
}

/** One array, with an object on every line. */
function jsonEncoder(names: readonly string[]): RowEncoder {
  const keys = names.map((name, index) => `${index === 0 ? "" : ","}${JSON.stringify(name)}:`);
  return {
    head: () => "[",
    row(values, isFirst) {
      let text = isFirst ? "\n{" : ",\n{";
      for (let index = 0; index < keys.length; index++)
        text += (keys[index] ?? "") + (values[index] ?? "null");
      return `${text}}`;
    },
    tail: () => "\n]\n",
  };
}
