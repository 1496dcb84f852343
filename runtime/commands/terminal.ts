/** The terminal of commands. */

import process from "node:process";
import type { Interface } from "node:readline";
import { isatty } from "node:tty";
import { CliError, type CliTerminal, exits } from "../../lib/cli/mod.ts";

const widthDefault = 100;
const clearLine = "\r\u001b[K";

let hasStatus = false;
/** The question that is open: what stands before the answer, and what was typed so far. */
let open: { readonly prompt: string; readonly lines: Interface } | null = null;

export const terminal: CliTerminal = {
  // Without the streams of the process, which cost a start some milliseconds.
  isTerminal: { stdin: isatty(0), stdout: isatty(1), stderr: isatty(2) },
  get width() {
    return process.stdout.columns || widthDefault;
  },
  print(text) {
    clearStatus();
    return new Promise((resolve, reject) => {
      const settle = (error?: NodeJS.ErrnoException | null): void => {
        // A reader that is gone, such as `head`, ends the output and is no failure.
        if (error === undefined || error === null || error.code === "EPIPE") resolve();
        else
          reject(
            new CliError(exits.failed, `Cannot write the output: ${error.code}`, { code: "not_printed" }),
          );
      };
      process.stdout.once("error", settle);
      process.stdout.write(text, settle);
    });
  },
  warn(text) {
    clearStatus();
    toStderr(text);
  },
  status(line) {
    const width = (process.stderr.columns || widthDefault) - 1;
    if (open === null) {
      toStderr(clearLine + line.slice(0, width));
      hasStatus = true;
      return;
    }
    const { prompt, lines } = open;
    lines.setPrompt(`${line.slice(0, Math.max(0, width - prompt.length - 3))} ${prompt}`);
    // What was typed so far stays.
    lines.prompt(true);
  },
  async ask(question, { isSecret = false, signal } = {}) {
    clearStatus();
    const [{ createInterface }, { Writable }] = await Promise.all([
      import("node:readline"),
      import("node:stream"),
    ]);
    if (signal?.aborted === true) return null;
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({
      input: process.stdin,
      output: isSecret ? nowhere : process.stderr,
      terminal: process.stdin.isTTY,
    });
    // After the terminal is set up, so that every key of the answer is seen, and a secret is not.
    toStderr(question);
    const prompt = question.slice(question.lastIndexOf("\n") + 1);
    lines.setPrompt(prompt);
    open = { prompt, lines };
    const takeBack = (): void => {
      toStderr(clearLine);
      lines.close();
    };
    signal?.addEventListener("abort", takeBack);
    try {
      const answer = await answerOf(lines, lines);
      if (isSecret) toStderr("\n");
      return answer;
    } finally {
      signal?.removeEventListener("abort", takeBack);
      open = null;
    }
  },
};

function clearStatus(): void {
  if (hasStatus) toStderr(clearLine);
  hasStatus = false;
}

/** Writes to stderr. A reader that is gone does not end a command half-way. */
function toStderr(text: string): void {
  if (process.stderr.listenerCount("error") === 0) process.stderr.on("error", () => {});
  process.stderr.write(text);
}

/** Reads a line; null at the end of the input. @throws {CliError} Ctrl-C. */
async function answerOf(
  lines: AsyncIterable<string>,
  handle: { close(): void; once(event: "SIGINT" | "close", listener: () => void): unknown },
): Promise<string | null> {
  let interrupt = (): void => {};
  try {
    return await new Promise<string | null>((resolve, reject) => {
      interrupt = () => reject(new CliError(exits.interrupted, "Interrupted", { code: "interrupted" }));
      handle.once("SIGINT", interrupt);
      process.once("SIGINT", interrupt);
      handle.once("close", () => resolve(null));
      firstOf(lines).then(line => line !== null && resolve(line), reject);
    });
  } finally {
    process.off("SIGINT", interrupt);
    handle.close();
  }
}

async function firstOf(lines: AsyncIterable<string>): Promise<string | null> {
  for await (const line of lines) return line;
  return null;
}

/** Added by shells to the number of a signal. */
const signalled = 128;
const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

type EndingSignal = keyof typeof numbers;

export function signalExit(signal: EndingSignal): number {
  return signalled + numbers[signal];
}

/** Runs a function when a signal ends the program. Returns the function that removes it. */
export function onEndingSignal(cleanUp: () => void): () => void {
  const listeners = (Object.keys(numbers) as EndingSignal[]).map(signal => {
    const listener = (): void => {
      cleanUp();
      process.exit(signalExit(signal));
    };
    process.once(signal, listener);
    return { signal, listener };
  });
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener);
  };
}
