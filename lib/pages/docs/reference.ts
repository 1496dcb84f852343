/** The reference of the API, from an OpenAPI document. */

import { type Html, html } from "../shared/mod.ts";

export interface Operation {
  readonly id: string;
  readonly area: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly definition: Json;
}

/** Returns the operations of a document in its order. */
export function operationsOf(document: Json): readonly Operation[] {
  return Object.entries((document.paths ?? {}) as Readonly<Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods as Readonly<Record<string, Json>>).map(([method, definition]) => ({
      id: String(definition.operationId),
      area: String((definition.tags as readonly string[])[0]),
      method: method.toUpperCase(),
      path,
      summary: String(definition.summary),
      definition,
    })),
  );
}

export function areaReference(area: string, operations: readonly Operation[], document: Json): Html {
  const own = operations.filter(operation => operation.area === area);
  const components = (document.components ?? {}) as Readonly<Record<string, Json>>;
  const book = (components.schemas ?? {}) as SchemaBook;
  const [server] = (document.servers ?? []) as readonly { readonly url: string }[];
  return html`<h1>API: ${area}</h1>
<ul class="operations">${own.map(({ id, method, path, summary }) => html`<li><a href="#${id}"><code>${method}</code> ${summary}</a> <code class="path">${path}</code></li>`)}</ul>
${own.map(operation => operationSection(operation, book, server?.url ?? ""))}`;
}

function operationSection(operation: Operation, book: SchemaBook, server: string): Html {
  const { id, method, path, summary, definition } = operation;
  const parameters = (definition.parameters ?? []) as readonly Json[];
  const responses = Object.entries((definition.responses ?? {}) as Readonly<Record<string, Json>>);
  const description = definition.description === undefined ? null : String(definition.description);
  return html`<section id="${id}" tabindex="-1">
<h2><a href="#${id}">${summary}</a></h2>
<p class="address"><code class="method" data-method="${method}">${method}</code> <code>${path}</code></p>
${description === null ? null : html`<p>${inlineCode(description)}</p>`}
${securityText(definition)}
${parameters.length === 0 ? null : parameterTable(parameters, book)}
${bodySection(definition, book)}
<h3>Answers</h3>
<dl class="answers">${responses.map(([status, response]) => answerItem(status, response, book))}</dl>
<h3>Example</h3>
<pre tabindex="0"><code>${curlOf(operation, server)}</code></pre>
</section>`;
}

function securityText(definition: Json): Html {
  const options = (definition.security ?? []) as readonly Readonly<Record<string, readonly string[]>>[];
  const shown = options.map(option => {
    const names = Object.keys(option);
    const scopes = Object.values(option).flat();
    if (names.length === 0) return "no credentials";
    return names.join(" and ") + (scopes.length === 0 ? "" : ` with ${scopes.join(", ")}`);
  });
  return html`<p class="security">Credentials: ${shown.length === 0 ? "none" : shown.join("; or ")}.</p>`;
}

function parameterTable(parameters: readonly Json[], book: SchemaBook): Html {
  return html`<h3>Parameters</h3>
<div class="wide" tabindex="0" role="region" aria-label="Parameters"><table><thead><tr><th>Name</th><th>In</th><th>Type</th><th>Description</th></tr></thead><tbody>${parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<tr><td><code>${String(name)}</code>${required === true ? html` <span class="required">required</span>` : null}</td><td>${String(place)}</td><td>${typeOf((schema ?? {}) as Json, book)}</td><td>${inlineCode(String(description ?? ""))}</td></tr>`,
  )}</tbody></table></div>`;
}

function bodySection(definition: Json, book: SchemaBook): Html | null {
  const body = definition.requestBody as Json | undefined;
  if (body === undefined) return null;
  const [[type, media] = ["", {}]] = Object.entries(body.content as Readonly<Record<string, Json>>);
  return html`<h3>Body</h3><p><code>${type}</code>${body.required === true ? null : ", optional"}. ${String(body.description)}.</p>${schemaTable((media.schema ?? {}) as Json, book)}`;
}

function answerItem(status: string, response: Json, book: SchemaBook): Html {
  const content = Object.entries((response.content ?? {}) as Readonly<Record<string, Json>>);
  const [[, media] = ["", {}]] = content;
  const table =
    Number(status) < 300 && media.schema !== undefined
      ? html`<details><summary>Fields</summary>${schemaTable(media.schema as Json, book)}</details>`
      : null;
  return html`<dt><code>${status}</code></dt><dd>${inlineCode(String(response.description))}${table}</dd>`;
}

/** Shows what is between backticks as code. */
function inlineCode(text: string): readonly Html[] {
  return text.split("`").map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}

function curlOf({ method, path, definition }: Operation, server: string): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}"${server}${path}"`];
  const [option = {}] = (definition.security ?? []) as readonly Readonly<Record<string, unknown>>[];
  if (Object.keys(option).some(name => /key/i.test(name))) {
    lines.push(`-H "x-api-key: $KEY" -H "x-api-secret: $SECRET" -H "x-platform-org-id: $ORG"`);
  } else if (Object.keys(option).length > 0) lines.push(`-H "authorization: Bearer $TOKEN"`);
  const body = definition.requestBody as Json | undefined;
  const [[type, media] = ["", {}]] = Object.entries((body?.content ?? {}) as Readonly<Record<string, Json>>);
  if (body !== undefined) lines.push(`-H "content-type: ${type}"`);
  if (media.example !== undefined)
    lines.push(`-d '${JSON.stringify(media.example).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n  ");
}

export type Json = Readonly<Record<string, unknown>>;
type SchemaBook = Readonly<Record<string, Json>>;

const depthMax = 3;
const rowsMax = 120;

interface Row {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Json;
}

function schemaTable(schema: Json, book: SchemaBook): Html {
  const rows: Row[] = [];
  collect(schema, book, { prefix: "", depth: 0, rows });
  if (rows.length === 0) return html`<p>${typeOf(schema, book)}</p>`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="Fields"><table><thead><tr><th>Field</th><th>Type</th><th>Description</th></tr></thead><tbody>${rows.map(
    row =>
      html`<tr><td><code>${row.name}</code>${row.isRequired ? html` <span class="required">required</span>` : null}</td><td>${typeOf(row.schema, book)}</td><td>${String(resolve(row.schema, book).description ?? "")}</td></tr>`,
  )}</tbody></table></div>`;
}

function typeOf(schema: Json, book: SchemaBook): string {
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
