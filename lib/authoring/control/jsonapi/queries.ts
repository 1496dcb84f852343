/**
 * Query parameters of the control API: what is included, shown, filtered, ordered, and the page.
 *
 * @module
 */

import * as v from "valibot";
import { invalidField } from "../../../base/errors/mod.ts";
import { integerParameter } from "../../../http/mod.ts";
import { definitionOf, type Resource } from "../../table/mod.ts";

/** Entries of a page where nothing else is asked for. */
const pageCountDefault = 20;
const pageCountMax = 100;
const textMax = 2_048;

/** A query as sent, each name once. */
export type Query = Readonly<Record<string, unknown>>;

/** What a request wants to see. */
export interface View {
  readonly include: readonly string[];
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
}

/** A part of a list. */
export interface ListView extends View {
  /** Null: the list's own order. */
  readonly sort: { readonly by: string; readonly descending: boolean } | null;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly cursor: string | undefined;
  /** Number of the page from 1, where it is asked for. */
  readonly number?: number;
}

const listed = (description: string) =>
  v.optional(v.pipe(v.string(), v.maxLength(textMax), v.description(description)));

export function readQuery(resource: Resource): v.GenericSchema {
  return v.strictObject(viewEntries(resource));
}

export function listQuery(resource: Resource): v.GenericSchema {
  const { sorts, filters = {} } = resource;
  const entries = viewEntries(resource);
  if (sorts.length > 0)
    entries.sort = listed(`One of ${sorts.join(", ")}; with \`-\` in front the highest first`);
  for (const [name, schema] of Object.entries(filters)) {
    const description = `Only ${resource.type.replaceAll("_", " ")} with this ${name.replaceAll("_", " ")}`;
    entries[`filter[${name}]`] = v.optional(v.pipe(schema, v.description(description)));
  }
  const description = "Entries of the page";
  const count = integerParameter({ description, minimum: 1, maximum: pageCountMax });
  entries["page[count]"] = v.optional(count, String(pageCountDefault));
  entries["page[cursor]"] = listed("The cursor in `links.next` of the page before");
  if (resource.isPagedByNumber === true) {
    const number = { description: "Number of the page, in place of a cursor", minimum: 1, maximum: 10_000 };
    entries["page[number]"] = v.optional(integerParameter(number));
  }
  return v.strictObject(entries);
}

export function writeQuery(resource: Resource): v.GenericSchema {
  return v.strictObject({ ...viewEntries(resource), ...dryRun });
}

/** The parameter that checks a write without making it. */
export const dryRun = {
  dry_run: v.optional(
    v.pipe(
      v.picklist(["true", "false"], "Expected true or false"),
      v.description("`true`: checks everything and writes nothing"),
    ),
  ),
};

function viewEntries({ type, include = [] }: Resource): Record<string, v.ObjectEntries[string]> {
  const entries: Record<string, v.ObjectEntries[string]> = {};
  if (include.length > 0) entries.include = listed(`Related resources: ${include.join(", ")}`);
  for (const name of new Set([type, ...include.flatMap(path => typesOf(type, path))])) {
    entries[`fields[${name}]`] = listed(`Names of the shown attributes and relationships of ${name}`);
  }
  return entries;
}

/** Returns the types along a path of relationships. */
function typesOf(from: Resource["type"], path: string): readonly Resource["type"][] {
  const types: Resource["type"][] = [];
  let type = from;
  for (const name of path.split(".")) {
    const next = definitionOf(type)?.relationships[name];
    if (next === undefined)
      throw new TypeError(`Cannot include ${path} of ${from}: there is no relationship ${name}`);
    type = next.type;
    types.push(type);
  }
  return types;
}

/**
 * Reads the view of a query.
 *
 * @throws {AppError} `validation_failed` with the parameter.
 */
export function viewOf(resource: Resource, query: Query): View {
  const { include: paths = [] } = resource;
  const include = split(query.include);
  const unknown = include.find(
    path => !paths.includes(path) && !paths.some(known => known.startsWith(`${path}.`)),
  );
  if (unknown !== undefined) {
    const expected =
      paths.length === 0 ? "Nothing can be included here" : `Expected paths among ${paths.join(", ")}`;
    throw invalidField("Cannot include what is asked for", "include", expected);
  }
  const fields = new Map<string, ReadonlySet<string>>();
  for (const [name, value] of Object.entries(query)) {
    const type = /^fields\[(\w+)\]$/.exec(name)?.[1] as Resource["type"] | undefined;
    if (type === undefined || value === undefined) continue;
    const names = split(value);
    const { attributes = {}, relationships = {} } = definitionOf(type) ?? {};
    const stray = names.find(each => !Object.hasOwn(attributes, each) && !Object.hasOwn(relationships, each));
    if (stray !== undefined)
      throw invalidField(
        "Cannot show what is asked for",
        name,
        `Expected attributes and relationships of ${type}`,
      );
    fields.set(type, new Set(names));
  }
  return { include, fields };
}

/** Reads the list view of a query. */
export function listViewOf(resource: Resource, query: Query): ListView {
  const { sorts, filters = {} } = resource;
  const sort = String(query.sort ?? "");
  const by = sort.replace(/^-/, "");
  if (query.sort !== undefined && !sorts.includes(by)) {
    throw invalidField("Cannot order the list as asked for", "sort", `Expected one of ${sorts.join(", ")}`);
  }
  const number = query["page[number]"] as number | undefined;
  if (number !== undefined && query["page[cursor]"] !== undefined)
    throw invalidField("Cannot find the page", "page[number]", "Expected a number or a cursor, not both");
  const given = Object.keys(filters).filter(name => query[`filter[${name}]`] !== undefined);
  return {
    ...viewOf(resource, query),
    sort: query.sort === undefined ? null : { by, descending: sort.startsWith("-") },
    filters: Object.fromEntries(given.map(name => [name, query[`filter[${name}]`]])),
    count: query["page[count]"] as number,
    cursor: query["page[cursor]"] as string | undefined,
    ...(number === undefined ? {} : { number }),
  };
}

function split(value: unknown): readonly string[] {
  return value === undefined || value === "" ? [] : String(value).split(",");
}
