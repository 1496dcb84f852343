/**
 * Schemas of an OpenAPI document as tables for people.
 *
 * @module
 */

import { type Html, html } from "./html.ts";

/** An object of the document. */
export type Json = Readonly<Record<string, unknown>>;
/** Schemas by name. */
export type SchemaBook = Readonly<Record<string, Json>>;

/** Levels of members that a table shows. */
const depthMax = 3;
/** Rows of a table. */
const rowsMax = 120;

interface Row {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Json;
}

/** Returns a table of the members of a schema, nested ones with dots. */
export function schemaTable(schema: Json, book: SchemaBook): Html {
  const rows: Row[] = [];
  collect(schema, book, { prefix: "", depth: 0, rows });
  if (rows.length === 0) return html`<p>${typeOf(schema, book)}</p>`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="Fields"><table><thead><tr><th>Field</th><th>Type</th><th>Description</th></tr></thead><tbody>${rows.map(
    row =>
      html`<tr><td><code>${row.name}</code>${row.isRequired ? html` <span class="required">required</span>` : null}</td><td>${typeOf(row.schema, book)}</td><td>${String(resolve(row.schema, book).description ?? "")}</td></tr>`,
  )}</tbody></table></div>`;
}

/** Describes the type of a schema in few words. */
export function typeOf(schema: Json, book: SchemaBook): string {
  const found = resolve(schema, book);
  const options = (found.anyOf ?? found.oneOf) as readonly Json[] | undefined;
  if (options !== undefined) return [...new Set(options.map(option => typeOf(option, book)))].join(" or ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  if (Array.isArray(found.enum)) return found.enum.map(value => JSON.stringify(value)).join(", ");
  if (found.type === "array") return `list of ${typeOf((found.items ?? {}) as Json, book)}`;
  const bounds = [
    ["from", found.minimum],
    ["to", found.maximum],
    ["at least", found.minLength],
    ["at most", found.maxLength],
  ].flatMap(([word, bound]) => (bound === undefined ? [] : [`${word} ${bound}`]));
  const format = found.format === undefined ? "" : ` (${String(found.format)})`;
  const rest = found.default === undefined ? [] : [`default ${JSON.stringify(found.default)}`];
  const facts = [...bounds, ...rest];
  return `${String(found.type ?? "any value")}${format}${facts.length === 0 ? "" : `, ${facts.join(", ")}`}`;
}

function collect(
  schema: Json,
  book: SchemaBook,
  place: { readonly prefix: string; readonly depth: number; readonly rows: Row[] },
): void {
  const found = resolve(schema, book);
  const { prefix, depth, rows } = place;
  if (found.type === "array") {
    collect((found.items ?? {}) as Json, book, { ...place, prefix: `${prefix}[]` });
    return;
  }
  for (const part of (found.allOf ?? found.anyOf ?? found.oneOf ?? []) as readonly Json[])
    collect(part, book, place);
  const required = new Set((found.required ?? []) as readonly string[]);
  for (const [name, member] of Object.entries((found.properties ?? {}) as Readonly<Record<string, Json>>)) {
    if (rows.length >= rowsMax) return;
    const path = prefix === "" ? name : `${prefix}.${name}`;
    if (rows.some(row => row.name === path)) continue;
    rows.push({ name: path, isRequired: required.has(name), schema: member });
    if (depth + 1 < depthMax) collect(member, book, { prefix: path, depth: depth + 1, rows });
  }
}

function resolve(schema: Json, book: SchemaBook): Json {
  const name = typeof schema.$ref === "string" ? (schema.$ref.split("/").at(-1) ?? "") : null;
  return name === null
    ? schema
    : { ...book[name], ...(schema.description === undefined ? {} : { description: schema.description }) };
}
