/** The files of commands. */

import { createReadStream, type Stats } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { yamlText } from "../../lib/cli/frame/output.ts";
import { CliError, type CliFiles, exits, invalid, wrongUsage } from "../../lib/cli/mod.ts";

/** Largest document, in bytes. */
const documentBytesMax = 2_097_152;
/** Readable by the owner only. */
const privateMode = 0o600;

let isStdinRead = false;

/** The files of this machine. */
export const files: CliFiles = {
  async read(path) {
    const text = await readText(path, documentBytesMax);
    if (text === null) return null;
    const { parseDocumentText } = await import("../services/document_file.ts");
    try {
      return parseDocumentText(text, path);
    } catch (error) {
      throw invalid(error instanceof Error ? error.message : String(error), { code: "wrong_document" });
    }
  },
  readText,
  async open(path) {
    const { Readable } = await import("node:stream");
    if (path === "-") {
      takeStdin();
      return { bytes: null, stream: () => Readable.toWeb(process.stdin) as ReadableStream<Uint8Array> };
    }
    const found = await readableFile(path);
    return found === null
      ? null
      : {
          // A pipe, as of a process substitution, has no size.
          bytes: found.isFile() ? found.size : null,
          stream: () => Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>,
        };
  },
  async names(folder) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    return entries.filter(entry => !entry.isDirectory()).map(({ name }) => name);
  },
  async write(path, document) {
    await writeText(path, await documentText(path, document));
  },
  writeText,
};

/** @throws {CliError} It was taken before. */
function takeStdin(): void {
  if (isStdinRead) throw wrongUsage("stdin (-) can be read only once");
  isStdinRead = true;
}

async function readText(path: string, bytesMax: number): Promise<string | null> {
  if (path === "-") takeStdin();
  else if ((await readableFile(path)) === null) return null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of path === "-" ? process.stdin : createReadStream(path)) {
    bytes += (chunk as Buffer).length;
    if (bytes > bytesMax) throw invalid(`${path} must not exceed ${bytesMax} bytes`, { code: "too_large" });
    chunks.push(chunk as Buffer);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalid(`${path} must be UTF-8 text`, { code: "wrong_encoding" });
  }
}

/** Reads settings without a byte-order mark and outer white space. @throws {Error} The file cannot be read, or is not UTF-8. */
export async function readTextFile(path: string): Promise<string> {
  return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path)).trim();
}

async function readableFile(path: string): Promise<Stats | null> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    throw error;
  });
  if (found?.isDirectory() === true) throw wrongUsage(`${path} is no file`);
  return found;
}

async function writeText(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(temporary, "wx", privateMode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new CliError(exits.failed, `Cannot write ${path}: ${code}`, { code: "not_written" });
  }
}

async function documentText(path: string, document: unknown): Promise<string> {
  if (!/\.ya?ml$/i.test(path)) return `${JSON.stringify(document, null, 2)}\n`;
  return await yamlText(document);
}
