/** The terminal of commands. */

import { isatty } from "node:tty";
import type { CliTerminal } from "../../lib/cli/mod.ts";

const widthDefault = 100;
const clearLine = "\r\u001b[K";

let hasStatus = false;

/** The terminal or pipes of this process. */
export const terminal: CliTerminal = {
  // Without the streams of the process, which cost a start some milliseconds.
  isTerminal: { stdin: isatty(0), stdout: isatty(1), stderr: isatty(2) },
  get width() {
    return process.stdout.columns || widthDefault;
  },
  print(text) {
    clearStatus();
    return new Promise(resolve => {
      // A reader that is gone, such as `head`, ends the output and is no failure.
      process.stdout.once("error", () => resolve());
      process.stdout.write(text, () => resolve());
    });
  },
  warn(text) {
    clearStatus();
    process.stderr.write(text);
  },
  status(line) {
    process.stderr.write(clearLine + line.slice(0, (process.stderr.columns || widthDefault) - 1));
    hasStatus = true;
  },
  ask(question, isSecret = false) {
    clearStatus();
    process.stderr.write(question);
    return isSecret ? askSecret() : askLine();
  },
};

function clearStatus(): void {
  if (hasStatus) process.stderr.write(clearLine);
  hasStatus = false;
}

/** Reads a line of stdin; null at its end and after Ctrl-C. */
async function askLine(): Promise<string | null> {
  const { createInterface } = await import("node:readline");
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: process.stdin.isTTY,
  });
  return await answerOf(lines, lines);
}

/** Reads a line that is not shown. */
async function askSecret(): Promise<string | null> {
  const [{ createInterface }, { Writable }] = await Promise.all([
    import("node:readline"),
    import("node:stream"),
  ]);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: process.stdin.isTTY });
  const answer = await answerOf(lines, lines);
  process.stderr.write("\n");
  return answer;
}

async function answerOf(
  lines: AsyncIterable<string>,
  handle: { close(): void; once(event: "SIGINT" | "close", listener: () => void): unknown },
): Promise<string | null> {
  try {
    return await new Promise<string | null>((resolve, reject) => {
      handle.once("close", () => resolve(null));
      handle.once("SIGINT", () => {
        process.kill(process.pid, "SIGINT");
        resolve(null);
      });
      firstOf(lines).then(line => line !== null && resolve(line), reject);
    });
  } finally {
    handle.close();
  }
}

async function firstOf(lines: AsyncIterable<string>): Promise<string | null> {
  for await (const line of lines) return line;
  return null;
}
