/** The files of pages that run in the browser, and how a platform answers with them. */

import { AppError } from "../../base/errors/mod.ts";
import { empty, stream, text } from "../../http/mod.ts";
import { isNotModified } from "../../http/replies/byte_reply.ts";

export { Html, html } from "./html.ts";

/** A file of a page. */
export interface PageFile {
  /** Name under the path of the page, with a digest of the contents unless it has to stay; a page itself has the name "". */
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
  readonly digest: string;
}

/** Returns the built files of a page. */
export type ReadPageFiles = () => Promise<readonly PageFile[]>;

/** Reads files at the first request, and again after a failure. */
export function readOnce(read: ReadPageFiles): ReadPageFiles {
  let loaded: Promise<readonly PageFile[]> | null = null;
  return () => {
    loaded ??= read();
    loaded.catch(() => {
      loaded = null;
    });
    return loaded;
  };
}

/** Files as browsers get them. */
const compressed = new WeakMap<PageFile, Promise<Blob>>();

/** Answers with a file, compressed where the client takes that. @throws {AppError} `not_found`: there is none of the name. */
export async function fileReply(
  request: Request,
  files: readonly PageFile[],
  { name, headers }: { readonly name: string; readonly headers: Readonly<Record<string, string>> },
) {
  const file = files.find(each => each.name === name);
  if (file === undefined)
    throw new AppError("not_found", "Cannot find the file: the page has none of this name");
  const varied = { ...headers, vary: "accept-encoding" };
  // Bun before 1.3.3 has no such stream.
  if (!acceptsGzip(request) || typeof CompressionStream === "undefined")
    return taggedReply(request, file, varied);
  // Bytes differ, the meaning does not.
  const fields = { ...varied, etag: `W/"${file.digest}"` };
  if (isNotModified(request, `"${file.digest}"`)) return empty(304, fields);
  const bytes = compressed.get(file) ?? gzip(file.text);
  compressed.set(file, bytes);
  const blob = await bytes;
  return stream(200, blob.stream(), {
    ...fields,
    "content-type": `${file.mediaType}; charset=utf-8`,
    "content-encoding": "gzip",
    "content-length": String(blob.size),
  });
}

function acceptsGzip({ headers }: Request): boolean {
  const codings = headers.get("accept-encoding")?.split(",") ?? [];
  return codings.some(coding => /^\s*gzip\s*(;\s*q=(1|0\.\d*[1-9])|$)/i.test(coding));
}

function gzip(contents: string): Promise<Blob> {
  return new Response(new Blob([contents]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

/** Answers with a text, or with 304 where the client has it. */
export function taggedReply(
  request: Request,
  { text: body, mediaType, digest }: Omit<PageFile, "name">,
  headers: Readonly<Record<string, string>>,
) {
  const tagged = { ...headers, etag: `"${digest}"` };
  if (isNotModified(request, tagged.etag)) return empty(304, tagged);
  return text(200, body, { ...tagged, "content-type": `${mediaType}; charset=utf-8` });
}
