/**
 * The studio: the page on which producers run workflows and watch shows.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import { isLoopback } from "../../base/text/mod.ts";
import { type Area, open, route } from "../../http/mod.ts";
import { pageFields, pageFileFields } from "../../http/replies/replies.ts";
import { fileReply, type PageFile, readOnce } from "../shared/mod.ts";
import { pageFiles } from "./page_files.ts";

export type { PageFile } from "../shared/mod.ts";

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
  return { ...pageFields(images, { isFraming: true }), "cache-control": "no-cache" };
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
  const read = readOnce(files);
  const answer = async (request: Request, name: string, headers: Readonly<Record<string, string>>) =>
    fileReply(request, await read(), { name, headers });
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
