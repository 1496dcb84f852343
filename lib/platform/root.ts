/**
 * The root of a platform: links for people in HTML, and for programs in JSON.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { object, record, string } from "valibot";
import { type Area, json, named, open, prefersHtml, route, text } from "../http/mod.ts";

/** Facts of the root. */
export interface RootOptions {
  readonly title: string;
  readonly version: string;
  /** The areas beside which the root is served. */
  readonly areas: readonly Area[];
  /** Address of the platform, whose path links begin with: a framework in front may take it off requests. */
  readonly publicUrl: string;
}

const RootSchema = named(
  "Root",
  object({
    name: string(),
    version: string(),
    links: record(string(), string()),
  }),
);

/** Places that the root links to where they are served, with their labels. */
const places = {
  documentation: ["/docs", "Documentation"],
  studio: ["/studio", "Studio"],
  openapi: ["/openapi.json", "OpenAPI document"],
  health: ["/healthz", "Health"],
  readiness: ["/readyz", "Readiness"],
} as const;

const style =
  ":root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}body{max-width:34rem;margin:12vh auto;padding:0 1.25rem}" +
  "ul{padding:0;list-style:none}a{display:block;margin:.5rem 0;padding:.875rem 1.125rem;border:1px solid #8886;border-radius:12px;" +
  "color:inherit;text-decoration:none}a:hover{border-color:#66f}";

/** Paths that every handler serves. */
const systemPaths: readonly string[] = ["/openapi.json", "/healthz", "/readyz"];

/** Creates the area of the root; it has no route where another area has one of this path. */
export function rootArea({ title, version, areas, publicUrl }: RootOptions): Area {
  const paths = [...areas.flatMap(area => area.routes.map(({ path }) => path)), ...systemPaths];
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, "");
  const shown = Object.entries(places).filter(([, [path]]) => paths.includes(path));
  const links = Object.fromEntries(shown.map(([name, [path]]) => [name, prefix + path]));
  const digest = btoa(String.fromCharCode(...sha256(utf8ToBytes(style))));
  const fields = { "cache-control": "public, max-age=300", vary: "Accept" };
  const pageFields = {
    ...fields,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; img-src data:; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><link rel="icon" href="data:,"><style>${style}</style><h1>${escaped(title)}</h1><p>Version ${escaped(version)}</p>
<ul>${shown.map(([, [path, label]]) => `<li><a href="${escaped(prefix + path)}">${label}</a>`).join("")}</ul></html>\n`;
  const root = route({
    method: "GET",
    path: "/",
    operation: "getRoot",
    summary: "See what is here",
    description: "Links to what is served, in HTML for browsers and else in JSON.",
    auth: open,
    isFallback: true,
    isPage: true,
    cache: "public",
    responses: { 200: { description: "The links", schema: RootSchema } },
    handle: ({ request }) =>
      prefersHtml(request)
        ? (text(200, page, pageFields) as never)
        : { ...json(200, { name: title, version, links }), headers: fields },
  });
  return { name: "root", family: "problem", routes: paths.includes("/") ? [] : [root] };
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`);
}
