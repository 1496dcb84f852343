/**
 * The studio: the page on which producers run workflows and watch shows.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import { isLoopback } from "../../base/text/mod.ts";
import { type Area, empty, open, route, text } from "../../http/mod.ts";
import { isNotModified } from "../../http/replies/byte_reply.ts";
import { pageFields, pageFileFields } from "../../http/replies/replies.ts";
import { type PageFile, pageFiles } from "./page_files.ts";

export type { PageFile } from "./page_files.ts";

/** Options of {@linkcode createStudio}. */
export interface StudioOptions {
  /** Returns the files of the page, on the first request for one. @default those of the package */
  readonly files?: () => Promise<readonly PageFile[]>;
}

/** Makes the area for a platform, whose address it gets. */
export type CreateStudio = (publicUrl: string) => Area;

/** Workflows and elements show images of the web; on the machine of a developer, those of programs beside the platform too. */
function fieldsOfPage(publicUrl: string): Readonly<Record<string, string>> {
  const isLocal = isLoopback(new URL(publicUrl).hostname);
  const images = `'self' https: data:${isLocal ? " http://127.0.0.1:* http://localhost:*" : ""}`;
  return { ...pageFields(images), "cache-control": "no-cache" };
}

const definition = {
  method: "GET",
  auth: open,
  cache: "public",
  responses: {
    200: { description: "The file" },
    304: { description: "The caller has it, as If-None-Match says" },
  },
  errors: ["not_found"],
} as const;

/** Creates the studio, as the option `studio` of a platform that has the control API. */
export function createStudio({ files = packagedFiles }: StudioOptions = {}): CreateStudio {
  return publicUrl => studioArea(files, fieldsOfPage(publicUrl));
}

function studioArea(
  files: NonNullable<StudioOptions["files"]>,
  fields: Readonly<Record<string, string>>,
): Area {
  let loaded: Promise<readonly PageFile[]> | null = null;
  async function answer(request: Request, wanted: string, own: Readonly<Record<string, string>>) {
    loaded ??= files();
    loaded.catch(() => {
      loaded = null;
    });
    const file = (await loaded).find(({ name }) => name === wanted);
    if (file === undefined)
      throw new AppError("not_found", "Cannot find the file: the page has none of this name");
    const headers = { ...own, etag: `"${file.digest}"` };
    if (isNotModified(request, headers.etag)) return empty(304, headers);
    return text(200, file.text, { ...headers, "content-type": `${file.mediaType}; charset=utf-8` });
  }
  const page = route({
    ...definition,
    isPage: true,
    path: "/studio",
    operation: "getStudio",
    summary: "Open the studio",
    description: "The page on which producers run workflows and watch shows, in HTML.",
    query: v.object({
      project: v.exactOptional(v.pipe(v.string(), v.description("Id of the project to open"))),
      event: v.exactOptional(v.pipe(v.string(), v.description("Id of the event to open"))),
    }),
    handle: ({ request }) => answer(request, "", fields),
  });
  const file = route({
    ...definition,
    path: "/studio/:file",
    operation: "getStudioFile",
    summary: "Get a file of the studio",
    description: "A script or style of the page. Its name has a digest, so that it never changes.",
    params: v.object({ file: v.pipe(v.string(), v.description("Name of the file")) }),
    handle: ({ request, params }) => answer(request, params.file, pageFileFields),
  });
  return { name: "studio", family: "problem", routes: [page, file] };
}

async function packagedFiles(): Promise<readonly PageFile[]> {
  if (pageFiles !== null) return pageFiles;
  throw new AppError("not_found", "Cannot show the studio: its page is not built");
}
