import process from "node:process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

/** The first line of a stream, without its end; empty where there is none. */
export async function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input });
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
  }
}

/** Asks on the terminal for a text that is not shown as it is typed; empty where the question is left with Ctrl-C. */
export async function askSecret(question: string): Promise<string> {
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
