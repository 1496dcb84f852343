import { rmSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import process from "node:process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { nativeExportKernels } from "../../adapters/native/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { trimmedVariables } from "../../lib/cli/frame/flags.ts";
import { CliError, exits } from "../../lib/cli/mod.ts";
import { decryptExport } from "../../lib/fans/exports/file/mod.ts";
import { onEndingSignal } from "./terminal.ts";

const chunkBytes = 1_048_576;

/**
 * Decrypts an export into a file and returns the number of its bytes. The file appears when it is complete; a failure or a
 * signal leaves no plaintext.
 *
 * @throws {CliError} The file cannot be read or opened, or `out` exists.
 */
export async function decryptFile(file: string, out: string, isForced: boolean): Promise<number> {
  if (!isForced && (await exists(out))) {
    throw new CliError(exits.conflict, `Cannot write ${out}: it exists`, {
      code: "conflict",
      hint: "Name another one with --out, or replace it with --force",
    });
  }
  const source = await opened(file);
  try {
    const options = { password: await passwordOf(file), kernels: nativeExportKernels() };
    return await write(out, await decryptExport(() => streamOf(source), options));
  } catch (error) {
    throw error instanceof AppError ? refusal(file, error) : error;
  } finally {
    await source.close();
  }
}

/** Opens one file for both readings, so that they read the same file. */
async function opened(file: string): Promise<FileHandle> {
  try {
    return await open(file, "r");
  } catch (error) {
    throw new CliError(exits.notFound, `Cannot read ${file}: ${String(error)}`, { code: "not_found" });
  }
}

async function write(out: string, plaintext: ReadableStream<Uint8Array>): Promise<number> {
  const temporary = `${out}.${process.pid}.part`;
  const removeListeners = onEndingSignal(() => rmSync(temporary, { force: true }));
  try {
    const bytes = await writeTo(await open(temporary, "wx", 0o600), plaintext);
    await rename(temporary, out);
    return bytes;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    removeListeners();
  }
}

async function writeTo(target: FileHandle, plaintext: ReadableStream<Uint8Array>): Promise<number> {
  let bytes = 0;
  try {
    for await (const chunk of plaintext) {
      await target.writeFile(chunk);
      bytes += chunk.length;
    }
    await target.sync();
  } finally {
    await target.close();
  }
  return bytes;
}

function streamOf(source: FileHandle): ReadableStream<Uint8Array> {
  let position = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const buffer = new Uint8Array(chunkBytes);
        const { bytesRead } = await source.read(buffer, 0, chunkBytes, position);
        position += bytesRead;
        if (bytesRead === 0) controller.close();
        else controller.enqueue(buffer.subarray(0, bytesRead));
      },
    },
    { highWaterMark: 0 },
  );
}

/** Reads the password from the environment, stdin or the terminal; never from arguments, which are visible to others. */
async function passwordOf(file: string): Promise<string> {
  const { GRANDSTAND_EXPORT_PASSWORD: given } = trimmedVariables(process.env);
  if (given !== undefined && given !== "") return given;
  const password = process.stdin.isTTY
    ? await askSecret(`Password of ${file}: `)
    : await firstLine(process.stdin);
  if (password !== "") return password;
  throw new CliError(exits.usage, "export decrypt needs a password", {
    code: "wrong_usage",
    hint: "Set GRANDSTAND_EXPORT_PASSWORD, or pass it as the first line of stdin",
  });
}

function refusal(file: string, error: AppError): CliError {
  const exit = error.code === "internal_error" ? exits.failed : exits.invalid;
  return new CliError(exit, `${file}: ${error.message}`, { code: error.code });
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** Reads the first line of a stream without its end; empty if there is none. */
async function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input });
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
  }
}

/** Asks on the terminal for a text that is not shown; empty after Ctrl-C. */
async function askSecret(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question);
  try {
    return await new Promise<string>(resolve => {
      terminal.once("close", () => resolve(""));
      terminal.question("", resolve);
    });
  } finally {
    terminal.close();
    process.stderr.write("\n");
  }
}
