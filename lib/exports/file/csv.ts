/**
 * CSV as RFC 4180 has it: commas, CRLF behind every row, quotes doubled within quotes.
 *
 * - Null is an empty cell; the empty text is `""`.
 * - Numbers and booleans are bare; objects and arrays are their JSON, quoted.
 * - Text that spreadsheets would take for a formula gets an apostrophe before it, which they do not show: text that begins
 *   with `=`, `+`, `-`, `@`, one of their full-width forms, a tab, CR or LF, with or without apostrophes before that. So whoever
 *   reads the file takes one apostrophe off text that begins with apostrophes and one of these, and has what was there.
 *
 * @module
 */

/** Most text there is: known to be bare by one look. */
const isBare = /^[A-Za-z0-9](?:[^",\r\n]*[^",\r\n\s])?$/;
const needsQuotes = /[",\r\n]|^[\s\ufeff']|\s$|^$/;
const isFormula = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** A row with its end, from the JSON of its values. */
export function csvRow(values: readonly string[]): string {
  let row = "";
  for (let index = 0; index < values.length; index++) {
    const cell = csvCell(values[index] ?? "null");
    row += index === 0 ? cell : `,${cell}`;
  }
  return `${row}\r\n`;
}

/** A cell as it stands in a row, from the JSON of its value. */
function csvCell(json: string): string {
  if (json === "null") return "";
  const first = json[0];
  if (first === '"') return textCell(json.includes("\\") ? JSON.parse(json) : json.slice(1, -1));
  // What is neither text nor nested is written as in JSON.
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
