/**
 * The studio: the page on which producers run workflows and watch shows.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../errors/mod.ts";
import { type AnyRoute, type Area, empty, isNotModified, open, route, text } from "../http/mod.ts";
import { type PageFile, pageFiles } from "./page_files.ts";

export type { PageFile } from "./page_files.ts";

/** Options of {@linkcode createStudio}. */
export interface StudioOptions {
  /** Returns the files of the page, on the first request for one. @default those of the package */
  readonly files?: () => Promise<readonly PageFile[]>;
}

/** The page runs its own script and style, talks to its own platform, and is shown in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' https: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const pageFields = {
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

const fileFields = {
  "cache-control": "public, max-age=31536000, immutable",
  "cross-origin-resource-policy": "same-origin",
};

/**
 * Creates the studio, as the option `studio` of a platform that has the control API.
 *
 * @example
 * ```ts
 * import { createPlatform, MasterSecret } from "grandstand";
 * import { createControl } from "grandstand/control";
 * import { createMemoryStore } from "grandstand/memory";
 * import { createStudio } from "grandstand/studio";
 *
 * const platform = await createPlatform({
 *   store: createMemoryStore(),
 *   secret: new MasterSecret("a long text that only this deployment knows"),
 *   control: createControl,
 *   studio: createStudio(),
 * });
 * const page = await platform.fetch(new Request("http://localhost/studio"));
 * console.log(page.headers.get("content-type")); // text/html; charset=utf-8
 * ```
 */
export function createStudio({ files = packagedFiles }: StudioOptions = {}): Area {
  let loaded: Promise<ReadonlyMap<string, PageFile>> | null = null;
  async function fileOf(name: string): Promise<PageFile> {
    loaded ??= files().then(list => new Map(list.map(file => [file.name, file])));
    const loading = loaded;
    const found = await loading.catch(error => {
      loaded = null;
      throw error;
    });
    const file = found.get(name);
    if (file === undefined)
      throw new AppError("not_found", "Cannot find the file: the page has none of this name");
    return file;
  }
  return { name: "studio", family: "problem", routes: [pageRoute(fileOf), fileRoute(fileOf)] };
}

async function packagedFiles(): Promise<readonly PageFile[]> {
  if (pageFiles !== null) return pageFiles;
  throw new AppError("not_found", "Cannot show the studio: its page is not built");
}

type FileOf = (name: string) => Promise<PageFile>;

const unchanged = { description: "The caller has it already, as If-None-Match says" };

function pageRoute(fileOf: FileOf): AnyRoute {
  return route({
    method: "GET",
    path: "/studio",
    operation: "getStudio",
    summary: "Open the studio",
    description: "The page on which producers run workflows and watch shows. Parameters name what it opens.",
    auth: open,
    cache: "public",
    query: v.object({
      project: v.exactOptional(v.pipe(v.string(), v.description("Id of the project to open"))),
      event: v.exactOptional(v.pipe(v.string(), v.description("Id of the event to open"))),
    }),
    responses: { 200: { description: "The page, in HTML" }, 304: unchanged },
    errors: ["not_found"],
    handle: async ({ request }) => reply(request, await fileOf(""), pageFields),
  });
}

function fileRoute(fileOf: FileOf): AnyRoute {
  return route({
    method: "GET",
    path: "/studio/:file",
    operation: "getStudioFile",
    summary: "Get a file of the studio",
    description: "A script or style of the page. Its name has a digest, so that it never changes.",
    auth: open,
    cache: "public",
    params: v.object({ file: v.pipe(v.string(), v.description("Name of the file")) }),
    responses: { 200: { description: "The file" }, 304: unchanged },
    errors: ["not_found"],
    handle: async ({ request, params }) => reply(request, await fileOf(params.file), fileFields),
  });
}

function reply(request: Request, file: PageFile, fields: Readonly<Record<string, string>>) {
  const headers = { ...fields, etag: `"${file.digest}"` };
  if (isNotModified(request, headers.etag)) return empty(304, headers);
  return text(200, file.text, { ...headers, "content-type": `${file.mediaType}; charset=utf-8` });
}
