/**
 * The documentation: the reference of the API and the guides, served by the platform itself without requests to elsewhere.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import { type Area, open, route, text } from "../../http/mod.ts";
import { ownPageFields, pageFields, pageFileFields, prefersHtml } from "../../http/replies/replies.ts";
import { Html, html } from "../shared/mod.ts";
import { type DocsContent, docsContent } from "./guides.ts";
import type { Json } from "./reference.ts";
import { areaReference, type Operation, operationsOf } from "./reference.ts";

export type { DocsContent, DocsFile, Guide } from "./guides.ts";

/** Options of {@linkcode createDocs}. */
export interface DocsOptions {
  /** Returns the guides and files, on the first request. @default those of the package */
  readonly content?: () => Promise<DocsContent>;
}

/** Makes the area for a platform, whose OpenAPI document it gets. */
export type CreateDocs = (document: () => Promise<Json>) => Area;

const cached = { "cache-control": "public, max-age=300" };
const fieldsOfPage = { ...pageFields("'self' data:"), ...cached };
const fieldsOfIndex = { ...ownPageFields, ...cached, "content-type": "application/json" };
const definition = {
  method: "GET",
  auth: open,
  cache: "public",
  responses: { 200: { description: "The page or file" } },
  errors: ["not_found"],
} as const;

/** Creates the documentation, as the option `docs` of a platform. */
export function createDocs({ content = packagedContent }: DocsOptions = {}): CreateDocs {
  return document => {
    const library = new Library(content, document);
    return { name: "docs", family: "problem", routes: routesOf(library) };
  };
}

function routesOf(library: Library): Area["routes"] {
  const missing = async (depth: number) =>
    text(404, await library.missing("../".repeat(depth)), { ...fieldsOfPage, "cache-control": "no-store" });
  /** Answers people with a page where there is none of a name. */
  async function orMissing<T>(reply: Promise<T>, request: Request): Promise<T> {
    try {
      return await reply;
    } catch (error) {
      if (!(error instanceof AppError && error.code === "not_found" && prefersHtml(request))) throw error;
      return (await missing(1)) as never;
    }
  }
  async function fileReply(name: string) {
    const { mediaType, text: body } = await library.file(name);
    return text(200, body, { ...pageFileFields, "content-type": `${mediaType}; charset=utf-8` });
  }
  const pageReply = async (page: Promise<string>, request: Request) =>
    await orMissing(
      page.then(content => text(200, content, fieldsOfPage)),
      request,
    );
  const named = (what: string) => v.pipe(v.string(), v.description(`Name of the ${what}`));
  return [
    route({
      ...definition,
      isPage: true,
      missing,
      path: "/docs",
      operation: "getDocs",
      summary: "Open the documentation",
      description: "Lists the guides and the areas of the API, in HTML.",
      handle: async () => text(200, await library.index(), fieldsOfPage),
    }),
    route({
      ...definition,
      isPage: true,
      path: "/docs/guides/:guide",
      operation: "getGuide",
      summary: "Read a guide",
      params: v.object({ guide: named("guide") }),
      handle: ({ params, request }) => pageReply(library.guide(params.guide), request),
    }),
    route({
      ...definition,
      isPage: true,
      path: "/docs/api/:area",
      operation: "getApiReference",
      summary: "Read the reference of an area of the API",
      params: v.object({ area: named("area") }),
      handle: ({ params, request }) => pageReply(library.reference(params.area), request),
    }),
    route({
      ...definition,
      path: "/docs/search",
      operation: "getDocsIndex",
      summary: "Get the index of the search",
      description: "Titles, addresses and texts of sections and operations, for the script of the pages.",
      handle: async () => text(200, await library.searchIndex(), fieldsOfIndex),
    }),
    route({
      ...definition,
      path: "/docs/files/:file",
      operation: "getDocsFile",
      summary: "Get a script or style of the documentation",
      description: "Its name has a digest, so that it never changes.",
      params: v.object({ file: named("file") }),
      handle: ({ params, request }) => orMissing(fileReply(params.file), request),
    }),
  ];
}

interface Entry {
  readonly title: string;
  readonly place: string;
  readonly href: string;
  readonly text: string;
}

/** The texts, each made on the first request for it. */
class Library {
  readonly #load: () => Promise<DocsContent>;
  readonly #document: () => Promise<Json>;
  readonly #texts = new Map<string, string>();
  #content: Promise<DocsContent> | null = null;
  #described: Promise<{ readonly document: Json; readonly operations: readonly Operation[] }> | null = null;

  constructor(load: () => Promise<DocsContent>, document: () => Promise<Json>) {
    this.#load = load;
    this.#document = document;
  }

  index(): Promise<string> {
    return this.#once("docs", async () => {
      const { guides } = await this.#contents();
      const { operations } = await this.#api();
      const content = html`<h1>Documentation</h1>
<h2>Guides</h2><ul>${guides.map(({ name, title }) => html`<li><a href="docs/guides/${name}">${title}</a></li>`)}</ul>
<h2>API</h2><ul>${areasOf(operations).map(area => html`<li><a href="docs/api/${area}">${area}</a></li>`)}</ul>
<p>Programs read <a href="openapi.json">openapi.json</a>.</p>`;
      return await this.#page("Documentation", "docs/", content);
    });
  }

  guide(name: string): Promise<string> {
    return this.#once(`guides/${name}`, async () => {
      const { guides } = await this.#contents();
      const guide = guides.find(each => each.name === name);
      if (guide === undefined)
        throw new AppError("not_found", "Cannot find the guide: there is none of this name");
      return await this.#page(guide.title, "../", new Html(guide.content));
    });
  }

  reference(area: string): Promise<string> {
    return this.#once(`api/${area}`, async () => {
      const { document, operations } = await this.#api();
      if (!areasOf(operations).includes(area)) {
        throw new AppError("not_found", "Cannot find the reference: the API has no area of this name");
      }
      return await this.#page(`API: ${area}`, "../", areaReference(area, operations, document));
    });
  }

  /** The page in the place of one that is not there. */
  async missing(up: string): Promise<string> {
    const content = html`<h1>Not found</h1>
<p>There is no page at this address. Search for it, or see <a href="${up}../docs">all guides and the API</a>.</p>`;
    return await this.#page("Not found", up, content);
  }

  searchIndex(): Promise<string> {
    return this.#once("search", async () => JSON.stringify(await this.#entries()));
  }

  async file(name: string): Promise<DocsContent["script"]> {
    const { script, style } = await this.#contents();
    const found = [script, style].find(file => file.name === name);
    if (found === undefined)
      throw new AppError("not_found", "Cannot find the file: there is none of this name");
    return found;
  }

  async #entries(): Promise<readonly Entry[]> {
    const { guides } = await this.#contents();
    const { operations } = await this.#api();
    return [
      ...operations.map(({ id, area, method, path, summary }) => {
        return {
          title: summary,
          place: `API: ${area}`,
          href: `api/${area}#${id}`,
          text: `${method} ${path} ${id}`,
        };
      }),
      ...guides.flatMap(({ name, title: place, sections }) =>
        sections.map(({ id, title, text: words }) => ({
          title,
          place,
          href: `guides/${name}#${id}`,
          text: words,
        })),
      ),
    ];
  }

  async #page(title: string, up: string, content: Html): Promise<string> {
    const { script, style } = await this.#contents();
    const page = { title, up, content, navigation: await this.#navigation(up) };
    return pageText({ ...page, script: script.name, style: style.name });
  }

  async #once(path: string, make: () => Promise<string>): Promise<string> {
    const known = this.#texts.get(path) ?? (await make());
    this.#texts.set(path, known);
    return known;
  }

  async #navigation(up: string): Promise<Html> {
    const { guides } = await this.#contents();
    const { operations } = await this.#api();
    return html`<h2>Guides</h2><ul>${guides.map(({ name, title }) => html`<li><a href="${up}guides/${name}">${title}</a></li>`)}</ul>
<h2>API</h2><ul>${areasOf(operations).map(area => html`<li><a href="${up}api/${area}">${area}</a></li>`)}</ul>`;
  }

  async #contents(): Promise<DocsContent> {
    this.#content ??= this.#load();
    this.#content.catch(() => {
      this.#content = null;
    });
    return await this.#content;
  }

  async #api(): Promise<{ readonly document: Json; readonly operations: readonly Operation[] }> {
    this.#described ??= this.#document().then(document => ({ document, operations: operationsOf(document) }));
    this.#described.catch(() => {
      this.#described = null;
    });
    return await this.#described;
  }
}

function areasOf(operations: readonly Operation[]): readonly string[] {
  return [...new Set(operations.map(({ area }) => area))];
}

async function packagedContent(): Promise<DocsContent> {
  if (docsContent !== null) return docsContent;
  throw new AppError("not_found", "Cannot show the documentation: its guides are not built");
}

interface Page {
  readonly title: string;
  /** Path from the page to the folder of the documentation: "docs/" or "../../". */
  readonly up: string;
  readonly navigation: Html;
  readonly content: Html;
  readonly script: string;
  readonly style: string;
}

/** Returns the text of a page. Addresses are relative, so that it works under any prefix of the platform. */
function pageText({ title, up, navigation, content, script, style }: Page): string {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Grandstand</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}files/${style}">
<script type="module" src="${up}files/${script}"></script>
<header>
<a class="skip" href="#content">Skip to the content</a>
<a class="home" href="${up}../docs">Grandstand</a>
<form role="search" hidden><input type="search" aria-label="Search" placeholder="Search ( / )" autocomplete="off" data-index="${up}search" data-up="${up}" aria-controls="found"></form>
<ol id="found" hidden></ol>
</header>
<div class="sides">
<nav aria-label="Contents"><details><summary>Contents</summary>${navigation}</details></nav>
<main id="content">${content}</main>
</div>
</html>
`.text;
}
