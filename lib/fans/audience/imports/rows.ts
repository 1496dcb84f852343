/** The rows of a file with the columns of an export, as updates of profiles. */

import { AppError, type FieldError, jsonPointer } from "../../../base/errors/mod.ts";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import {
  type Cell,
  cellText,
  parseCsvRow,
  RecordSplitter,
  recordCharactersMax,
} from "../../../base/text/mod.ts";
import { parseJson } from "../../../http/requests/body.ts";
import type { Column, FindColumn } from "../search/columns.ts";

/** Formats of a file. JSON is an object on every line, as a list or bare. */
export type ImportFormat = "csv" | "json";

/** A row of a file: its number from 1, and its values by column, or the reason why it cannot be read. */
export type FileRow = { readonly row: number; readonly characters: number } & ReadRow;
type ReadRow =
  | { readonly values: Members; readonly fault: null }
  | { readonly values: null; readonly fault: string };

type HeaderColumn = Pick<Column, "name" | "kind">;

/** Columns that an import writes; all others of an export follow from something else. */
const writtenRoots: ReadonlySet<string> = new Set(["displayName", "preferences", "customFields", "metrics"]);

/**
 * Reads the rows of a file. Reading fails with an `AppError` where it cannot go on.
 *
 * @throws {AppError} `bad_json`: the file is empty or no UTF-8. `validation_failed`: its header is invalid, or a row too long.
 */
export async function* readRows(
  body: ReadableStreamDefaultReader<Uint8Array>,
  { format, find }: { readonly format: ImportFormat; readonly find: FindColumn },
): AsyncGenerator<FileRow, void> {
  let header: readonly HeaderColumn[] | null = null;
  let row = 0;
  for await (const record of recordsOf(body, format)) {
    const characters = record.length;
    if (format === "json") {
      const read = jsonRow(record);
      if (read !== null) yield { row: ++row, characters, ...read };
      continue;
    }
    const cells = parseCsvRow(record);
    if (header === null) {
      if (!isBlank(cells)) header = readHeader(cells, find);
      continue;
    }
    row += 1;
    if (!isBlank(cells)) yield { row, characters, ...csvRow(record, cells, header) };
  }
  if (format === "csv" && header === null) throw unreadable("its header is missing");
}

/** Spreadsheets leave rows of empty cells at the end of a file. */
function isBlank(cells: readonly Cell[] | null): boolean {
  return cells?.every(({ text }) => text.trim() === "") === true;
}

async function* recordsOf(
  body: ReadableStreamDefaultReader<Uint8Array>,
  format: ImportFormat,
): AsyncGenerator<string, void> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  const splitter = new RecordSplitter(format === "csv");
  let isEmpty = true;
  for (;;) {
    const { done, value } = await body.read();
    if (!done) isEmpty = false;
    const text = decoded(utf8, value);
    yield* splitter.push(text);
    if (!done) continue;
    if (isEmpty) throw unreadable("it is empty");
    yield* splitter.end();
    return;
  }
}

function decoded(utf8: TextDecoder, bytes: Uint8Array | undefined): string {
  try {
    return bytes === undefined ? utf8.decode() : utf8.decode(bytes, { stream: true });
  } catch {
    throw unreadable("it is not UTF-8");
  }
}

function unreadable(reason: string): AppError {
  return new AppError("bad_json", `Cannot read the file: ${reason}`);
}

function readHeader(cells: readonly Cell[] | null, find: FindColumn): readonly HeaderColumn[] {
  if (cells === null) throw unreadable("its header is no row of CSV");
  const names = cells.map(({ text }) => text);
  const columns = names.map(name => importColumns.get(name) ?? find(name));
  const fields = names.flatMap((name, index): FieldError[] => {
    const pointer = jsonPointer(name);
    if (columns[index] === null) return [{ pointer, detail: unknownColumn }];
    return names.indexOf(name) < index ? [{ pointer, detail: "Expected each column once" }] : [];
  });
  if (!names.includes("userId") && !names.includes("externalId"))
    fields.push({ pointer: "/userId", detail: "Is required" });
  if (fields.length === 0) return columns.filter(column => column !== null);
  const message =
    "Cannot import the file as its columns are not those of an export: nothing of it was applied";
  throw new AppError("validation_failed", message, { fields });
}

/** The columns of accounts, which exports do not have. */
const importColumns: ReadonlyMap<string, HeaderColumn> = new Map(
  (["externalId", "email", "emailVerified", "passwordHash"] as const).map(name => [
    name,
    { name, kind: name === "emailVerified" ? "boolean" : "string" },
  ]),
);
const unknownColumn = "Is not a column of exports";

function jsonRow(record: string): ReadRow | null {
  const text = record.trim().replace(/,$/, "");
  if (text === "" || text === "[" || text === "]") return null;
  const values = jsonOrUndefined(text);
  if (isMembers(values)) return { values, fault: null };
  return { values: null, fault: "Expected a JSON object on a line of its own" };
}

const malformed =
  "Expected CSV: a cell that begins with a quote ends with one, and quotes between them are doubled";

function csvRow(record: string, cells: readonly Cell[] | null, header: readonly HeaderColumn[]): ReadRow {
  if (record.length > recordCharactersMax)
    return { values: null, fault: `Expected at most ${recordCharactersMax} characters` };
  if (cells === null) return { values: null, fault: malformed };
  if (cells.length !== header.length)
    return { values: null, fault: `Expected ${header.length} cells, as the header has` };
  const values = cells.map((cell, index) => {
    const column = header[index];
    return [column?.name ?? "", column === undefined ? null : cellValue(cell, column)] as const;
  });
  return { values: Object.fromEntries(values), fault: null };
}

/** Returns the value of a cell. Text that is none of the column's type stays text, which the check of the row refuses. */
function cellValue({ text, isQuoted }: Cell, { kind }: HeaderColumn): unknown {
  if (text === "" && !isQuoted) return null;
  switch (kind) {
    case "number":
      return /^-?\d/.test(text) ? (jsonOrUndefined(text) ?? text) : text;
    case "boolean":
      return /^(true|false)$/i.test(text) ? text.toLowerCase() === "true" : text;
    case "json":
      return jsonOrUndefined(text) ?? text;
    default:
      return cellText(text);
  }
}

function jsonOrUndefined(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

interface RowUpdate {
  /** As an item of a bulk update has it. */
  readonly content: Members;
  readonly errors: readonly FieldError[];
}

/** Returns the update that sets what a row names. Null removes a value, but for metrics, which it leaves as they are. */
export function updateOf(values: Members, find: FindColumn): RowUpdate {
  const errors: FieldError[] = [];
  const content: Record<string, unknown> = {};
  const nested: Record<"customFields" | "metrics", Map<string, unknown>> = {
    customFields: new Map(),
    metrics: new Map(),
  };
  for (const [name, value] of Object.entries(values)) {
    const [root = "", ...rest] = name.split(".");
    const id = rest.join(".");
    if (find(name) === null) errors.push({ pointer: jsonPointer(name), detail: unknownColumn });
    else if (!writtenRoots.has(root)) continue;
    else if (root !== "customFields" && root !== "metrics") content[name] = value;
    else if (id !== "") nested[root].set(id, value);
    else if (isMembers(value)) for (const entry of Object.entries(value)) nested[root].set(...entry);
    else if (value !== null || root === "customFields") content[name] = value;
  }
  const { customFields, metrics } = nested;
  if (customFields.size > 0) content.customFields = Object.fromEntries(customFields);
  const changes = [...metrics].filter(([, value]) => value !== null);
  if (changes.length > 0) {
    content.metrics = Object.fromEntries(changes.map(([id, value]) => [id, { op: "set", value }]));
  }
  return { content, errors };
}
