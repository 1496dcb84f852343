/** The files of commands. */

import { createReadStream, type Stats } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { parseEnv } from "node:util";
import { trimmedVariables } from "../../lib/cli/frame/flags.ts";
import { yamlText } from "../../lib/cli/frame/text.ts";
import {
  CliError,
  type CliFiles,
  type ConfigFile,
  exits,
  invalid,
  type TokenSource,
  wrongUsage,
} from "../../lib/cli/mod.ts";

const documentBytesMax = 2_097_152;
/** Readable by the owner only. */
const privateMode = 0o600;

let isStdinRead = false;

export const files: CliFiles = {
  async read(path) {
    const text = await readText(path, documentBytesMax);
    if (text === null) return null;
    const { parseDocumentText } = await import("../../lib/base/text/document.ts");
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
async function readTextFile(path: string): Promise<string> {
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

const sharedBits = 0o077;
const commandMsMax = 30_000;

const path = configPath();

/** The file of this machine: GRANDSTAND_CONFIG, else in the folder of XDG_CONFIG_HOME or `~/.config`. */
export const config: ConfigFile = {
  path,
  async read() {
    try {
      const [text, { mode }] = await Promise.all([readTextFile(path), stat(path)]);
      return { text, isShared: process.platform !== "win32" && (mode & sharedBits) !== 0 };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return { text: null, isShared: false };
      throw new CliError(exits.failed, `Cannot read ${path}: ${String(error)}`, {
        code: "wrong_configuration",
      });
    }
  },
  write: text => files.writeText(path, text),
  async token(source) {
    try {
      return await tokenFrom(source);
    } catch (error) {
      // The output of a command could hold the token.
      const reason = "command" in source ? "the command failed" : String(error);
      throw new CliError(exits.unauthenticated, `Cannot read the token of the profile: ${reason}`, {
        code: "not_logged_in",
        next: "grandstand login",
      });
    }
  },
  async writeToken(file, token) {
    if (token === null) await rm(beside(file), { force: true });
    else await files.writeText(beside(file), `${token}\n`);
  },
};

async function tokenFrom(source: TokenSource): Promise<string> {
  if ("file" in source) return await readTextFile(beside(source.file));
  if ("env" in source) return process.env[source.env] ?? "";
  const [program = "", ...args] = source.command;
  const [{ execFile }, { promisify }] = await Promise.all([
    import("node:child_process"),
    import("node:util"),
  ]);
  const { stdout } = await promisify(execFile)(program, args, { timeout: commandMsMax });
  return stdout;
}

function beside(file: string): string {
  return isAbsolute(file) ? file : join(dirname(path), file);
}

function configPath(): string {
  const { GRANDSTAND_CONFIG, XDG_CONFIG_HOME } = process.env;
  if (GRANDSTAND_CONFIG !== undefined && GRANDSTAND_CONFIG !== "") return GRANDSTAND_CONFIG;
  const home =
    XDG_CONFIG_HOME === undefined || XDG_CONFIG_HOME === "" ? join(homedir(), ".config") : XDG_CONFIG_HOME;
  return join(home, "grandstand", "config.json");
}

export async function environmentWith(
  path: string | undefined,
): Promise<Readonly<Record<string, string | undefined>>> {
  if (path === undefined) return trimmedVariables(process.env);
  try {
    return trimmedVariables({ ...parseEnv(await readTextFile(path)), ...process.env });
  } catch {
    throw wrongUsage(`Cannot read the file ${path} that --env-file names`);
  }
}
