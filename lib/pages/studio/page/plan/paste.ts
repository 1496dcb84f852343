/** Elements that a producer pastes: a CSV with a header row, or the YAML of `elements apply`. */

import { type Content, contentFaults } from "../../../../authoring/table/content.ts";
import type { ContentType, Property } from "../../../../authoring/table/content_types.ts";
import type { NewElement } from "../../../../authoring/table/element_batches.ts";
import { elementsOfFile, type FileElement } from "../../../../authoring/table/element_file.ts";
import { eventName, mapTexts, replaceTokens, tokenOf } from "../../../../authoring/table/references.ts";
import { cellText, parseCsvRow, RecordSplitter } from "../../../../base/text/mod.ts";
import { suggestion } from "../../../../base/text/suggest.ts";
import { operationsMax } from "./copies.ts";
import { wordsOf } from "./ready.ts";
import { secondsOf } from "./times.ts";

/** Most characters that are read. */
const charactersMax = 1_000_000;

export interface PastedRow {
  /** `Row 2` of a CSV, `Line 4` of a YAML. */
  readonly place: string;
  readonly name: string;
  readonly type: string;
  /** Seconds after the begin; null: by hand. */
  readonly at: number | null;
  readonly inside: string;
  readonly faults: readonly string[];
}

export interface Pasted {
  readonly rows: readonly PastedRow[];
  /** Faults of the whole. */
  readonly faults: readonly string[];
  /** What is to be made; empty where there is any fault. */
  readonly elements: readonly NewElement[];
}

/** The event that the elements are for. */
export interface PasteTarget {
  readonly eventId: string;
  /** Ids of the elements that it has, by their names. */
  readonly known: ReadonlyMap<string, string>;
  /** Types of the project's app; null: it has none. */
  readonly types: readonly ContentType[] | null;
  readonly locales: readonly string[];
}

/** A text as a list of items, each with its place and with what is wrong with it. */
interface Source {
  readonly items: unknown;
  readonly placeOf: (index: number) => string;
  readonly faultsOf: (index: number) => readonly string[];
  readonly faults: readonly string[];
}

const nothing = { rows: [], elements: [] };

export async function readPasted(text: string, target: PasteTarget): Promise<Pasted> {
  if (text.length > charactersMax)
    return { ...nothing, faults: [`Paste at most ${charactersMax.toLocaleString("en")} characters.`] };
  const isYaml = /^\s*(-|\[|#|\{)/.test(text);
  const source = isYaml ? await yamlSource(text) : csvSource(text, target.types);
  const { items } = source;
  if (source.faults.length > 0) return { ...nothing, faults: source.faults };
  if (Array.isArray(items) && items.length > operationsMax) {
    const found = items.length.toLocaleString("en");
    return { ...nothing, faults: [`Paste at most ${operationsMax} elements at once: these are ${found}.`] };
  }
  if (Array.isArray(items) && items.length === 0)
    return { ...nothing, faults: ["There are no elements below the header."] };
  return checked(source, target);
}

function checked({ items, placeOf, faultsOf }: Source, target: PasteTarget): Pasted {
  const { eventId, known, types, locales } = target;
  const { elements, faults } = elementsOfFile(items, new Set(known.keys()), locales);
  const rows = elements.map((element, index): PastedRow => {
    const { attributes, name, parent } = element;
    const own = faults.filter(({ pointer }) => `${pointer}/`.startsWith(`/${index}/`));
    const described = own.map(({ pointer, detail }) => {
      const place = pointer.split("/").slice(2).join(" ");
      return place === "" ? detail : `${place}: ${detail}`;
    });
    return {
      place: placeOf(index),
      name: name === "undefined" ? "" : name,
      type: String(attributes.content_type ?? ""),
      at: attributes.start_mode === "timecode" ? Number(attributes.start_offset ?? 0) : null,
      inside: parent ?? "",
      faults: [
        ...faultsOf(index),
        // A row without its cells lacks everything.
        ...(faultsOf(index).length > 0 && Object.keys(attributes).length === 2 ? [] : described),
        ...(known.has(name) ? [`The event has an element of the name ${name} already`] : []),
        ...(own.length === 0 ? typeFaults(element, types) : []),
      ],
    };
  });
  const ofAll = faults.filter(({ pointer }) => pointer === "").map(({ detail }) => detail);
  const isFaulty = ofAll.length > 0 || rows.some(row => row.faults.length > 0);
  const names = new Set(elements.map(({ name }) => name));
  const idOf = (name: string): string =>
    known.get(name) ?? (name === eventName && !names.has(name) ? eventId : tokenOf(name));
  return { rows, faults: ofAll, elements: isFaulty ? [] : elements.map(each => newElement(each, idOf)) };
}

function newElement({ name, attributes, parent }: FileElement, idOf: (name: string) => string): NewElement {
  return {
    id: tokenOf(name),
    attributes: mapTexts(attributes, text => replaceTokens(text, idOf)) as FileElement["attributes"],
    parent: parent === undefined ? null : idOf(parent),
    isPublished: false,
  };
}

/** Returns what the type of an element refuses; more of one that the clock publishes. */
function typeFaults({ attributes }: FileElement, types: readonly ContentType[] | null): readonly string[] {
  if (types === null) return [];
  const type = types.find(each => each.content_type === attributes.content_type);
  const names = types.map(each => each.content_type);
  const given = String(attributes.content_type);
  if (type === undefined)
    return [`The project has no content type ${given.slice(0, 100)}.${suggestion(given, names)}`];
  const isPublished = attributes.start_mode === "timecode";
  return contentFaults(type, attributes as Content, { isPublished }).map(each => wordsOf(each, attributes));
}

async function yamlSource(text: string): Promise<Source> {
  const { parseDocumentText } = await import("../../../../base/text/document.ts");
  const faultsOf = (): readonly string[] => [];
  try {
    const { document, locate } = parseDocumentText(text, "Line");
    const placeOf = (index: number): string => locate(`/${index}`).replace(/:(\d+):\d+$/, " $1");
    return { items: document, placeOf, faultsOf, faults: [] };
  } catch (error) {
    const lines = (error as Error).message.split("\n").slice(0, 10);
    return { items: [], placeOf: String, faultsOf, faults: lines };
  }
}

const plainColumns = ["type", "name", "question", "correct", "at", "open for", "inside", "notes"];
const columnHint = `${plainColumns.join(", ")}, option 1, option 2 and so on, and fields.<key>`;
/** A column of texts, and the language that it is in. */
const textColumn = /^(question|option ([1-9]\d?)|fields\.(.{1,100}?))(?: \(([A-Za-z-]{2,20})\))?$/;
/** A cell that a spreadsheet would run. */
const formula = /^(=|[+@-]\s*[A-Za-z.]+\s*[(|])/;

function csvSource(text: string, types: readonly ContentType[] | null): Source {
  const splitter = new RecordSplitter(true);
  const records = [...splitter.push(text.replace(/^\uFEFF/, "")), ...splitter.end()];
  const [first = "", ...others] = records;
  const separator = [",", "\t", ";"].find(each => first.includes(each)) ?? ",";
  const header = cellsOf(first, separator).map(name =>
    name
      .trim()
      .toLowerCase()
      .replace(/^fields\..*/, () => name.trim()),
  );
  const unknown = header.filter(name => !plainColumns.includes(name) && !textColumn.test(name));
  const missing = ["type"].filter(name => !header.includes(name));
  const twice = header.filter((name, index) => header.indexOf(name) !== index);
  const faults = [
    ...missing.map(name => `The header has no column ${name}.`),
    ...unknown
      .slice(0, 5)
      .map(name => `There is no column “${name.slice(0, 60)}”. Columns are ${columnHint}.`),
    ...twice.slice(0, 5).map(name => `The column ${name.slice(0, 60)} is there twice.`),
  ];
  const filled = others.flatMap((record, index) =>
    /^[\s,;]*$/.test(record) ? [] : [{ record, row: index + 2 }],
  );
  if (faults.length > 0 || filled.length > operationsMax)
    return { items: filled, placeOf: String, faultsOf: () => [], faults };
  const read = filled.map(({ record, row }) => ({
    row,
    ...readRow(header, cellsOf(record, separator), types),
  }));
  return {
    items: read.map(({ item }) => item),
    placeOf: index => `Row ${read[index]?.row}`,
    faultsOf: index => read[index]?.faults ?? [],
    faults,
  };
}

/** Spreadsheets copy rows with tabs, and save them with semicolons where a comma is in numbers. */
function cellsOf(record: string, separator: string): readonly string[] {
  const stand = "\u0000";
  const swapped = separator === "," ? record : record.replaceAll(",", stand).replaceAll(separator, ",");
  return (parseCsvRow(swapped) ?? []).map(({ text }) => text.replaceAll(stand, ",").trim());
}

interface ReadRow {
  readonly item: Readonly<Record<string, unknown>>;
  readonly faults: readonly string[];
}

function readRow(
  header: readonly string[],
  cells: readonly string[],
  types: readonly ContentType[] | null,
): ReadRow {
  if (cells.length !== header.length)
    return { item: {}, faults: [`Expected ${header.length} cells, as the header has, not ${cells.length}`] };
  const faults = cells.flatMap((cell, column) =>
    formula.test(cell) ? [`${header[column]}: Expected a text, not a formula. Paste its value`] : [],
  );
  const row = new Map(header.map((name, column) => [name, cellText(cells[column] ?? "")]));
  const cell = (name: string): string | undefined => row.get(name) || undefined;
  const type = types?.find(each => each.content_type === cell("type"));
  const length = (name: string): number | undefined => {
    const given = cell(name);
    const seconds = given === undefined ? undefined : secondsOf(given);
    if (seconds === null || Number(seconds) < 0)
      faults.push(`${name}: Expected seconds or m:ss, such as 1:30`);
    return seconds ?? undefined;
  };
  const [at, duration] = [length("at"), length("open for")];
  const correct = cell("correct");
  if (correct !== undefined && !/^\d{1,3}$/.test(correct))
    faults.push("correct: Expected the number of the right option");
  const { question, options, fields } = textsOf(row, type);
  const item = {
    type: cell("type"),
    name: cell("name") ?? Object.values(question)[0],
    question: Object.keys(question).length > 0 ? { question } : undefined,
    options: options.length > 0 ? options.map(text => ({ text })) : undefined,
    fields: Object.keys(fields).length > 0 ? fields : undefined,
    correct_option: correct === undefined ? undefined : Number(correct),
    start_mode: at === undefined ? undefined : "timecode",
    start_offset: at,
    duration,
    parent: cell("inside"),
    annotations: cell("notes") === undefined ? undefined : { notes: cell("notes") },
  };
  return {
    item: Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)),
    faults,
  };
}

type ByLanguage = Record<string, unknown>;

function textsOf(row: ReadonlyMap<string, string>, type: ContentType | undefined) {
  const question: ByLanguage = {};
  const options: ByLanguage[] = [];
  const fields: Record<string, ByLanguage> = {};
  const properties = type?.custom_fields?.flatMap(group => group.properties ?? []) ?? [];
  for (const [name, cell] of row) {
    const [, , option, key, locale = "all"] = textColumn.exec(name) ?? [];
    if (cell === "" || !textColumn.test(name)) continue;
    if (key !== undefined) {
      const property = properties.find(each => each.key === key || each.aliases?.includes(key));
      fields[key] = { ...fields[key], [locale]: cellValue(cell, property) };
    } else if (option === undefined) question[locale] = cell;
    else options[Number(option) - 1] = { ...options[Number(option) - 1], [locale]: cell };
  }
  // An option between two others may be empty.
  return { question, options: Array.from(options, each => each ?? {}), fields };
}

/** Returns a cell as its field has it. */
function cellValue(cell: string, property: Property | undefined): unknown {
  const type = property?.type ?? property?.field ?? "";
  if (["integer", "number"].includes(type) && /^-?\d{1,15}(\.\d{1,10})?$/.test(cell)) return Number(cell);
  return type === "boolean" && /^(true|false)$/i.test(cell) ? cell.toLowerCase() === "true" : cell;
}
