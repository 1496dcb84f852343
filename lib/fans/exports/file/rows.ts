/**
 * Rows as CSV or JSON.
 *
 * CSV follows RFC 4180: commas, CRLF after every row, quotes doubled inside quotes.
 *
 * - Null is an empty cell; the empty text is `""`.
 * - Numbers and booleans are bare; objects and arrays are their JSON, quoted.
 * - Text that spreadsheets would run as a formula gets a leading apostrophe, which they hide: text that begins with `=`, `+`,
 *   `-`, `@`, a full-width form of these, a tab, CR or LF, with or without apostrophes before it. To undo it, remove one
 *   apostrophe from text that begins with apostrophes followed by one of these.
 */

export const exportFormats = ["csv", "json"] as const;

export type ExportFormat = (typeof exportFormats)[number];

/** Turns rows into the text of a file: `head`, every row in turn, `tail`. */
export interface RowEncoder {
  head(): string;
  /** Encodes a row from the JSON of its values in the order of the fields; a missing value is `null`. */
  row(values: readonly string[], isFirst: boolean): string;
  tail(): string;
}

/** Creates the encoder of a format for rows of these fields, whose names are unique. */
export function rowEncoder(format: ExportFormat, fields: readonly { readonly name: string }[]): RowEncoder {
  const names = fields.map(({ name }) => name);
  return format === "csv" ? csvEncoder(names) : jsonEncoder(names);
}

/** Matches most text: known to be bare without the other two tests. */
const isBare = /^[A-Za-z0-9](?:[^",\r\n]*[^",\r\n\s])?$/;
const needsQuotes = /[",\r\n]|^[\s\ufeff']|\s$|^$/;
const isFormula = /^'*[=+\-@\t\r\n＝＋－＠]/;

function csvEncoder(names: readonly string[]): RowEncoder {
  return { head: () => csvRow(names.map(name => JSON.stringify(name))), row: csvRow, tail: () => "" };
}

function csvRow(values: readonly string[]): string {
  let row = "";
  for (let index = 0; index < values.length; index++) {
    const cell = csvCell(values[index] ?? "null");
    row += index === 0 ? cell : `,${cell}`;
  }
  return `${row}\r\n`;
}

function csvCell(json: string): string {
  if (json === "null") return "";
  const first = json[0];
  if (first === '"') return textCell(json.includes("\\") ? JSON.parse(json) : json.slice(1, -1));
  return first === "{" || first === "[" ? quoted(json) : json;
}

function textCell(text: string): string {
  if (isBare.test(text)) return text;
  if (isFormula.test(text)) return quoted(`'${text}`);
  return needsQuotes.test(text) ? quoted(text) : text;
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** Encodes one array with an object on every line. */
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
