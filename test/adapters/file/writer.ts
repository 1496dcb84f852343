import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { bundledProgram } from "../../support/program.ts";

/** A process that writes to a journal. */
export interface Writer {
  readonly pid: number | undefined;
  /** Resolves once so many commits were acknowledged. */
  acknowledged(count: number): Promise<void>;
  /** Number of commits that were acknowledged so far. */
  count(): number;
  /** The last acknowledged number of each partition. */
  last(): Map<string, number>;
  /** Ends it with SIGKILL; answers the last acknowledged number of each partition. */
  kill(): Promise<Map<string, number>>;
}

/** Starts `writer_process.ts` on a directory; it is killed at the latest with the test. */
export function startWriter(context: Pick<TestContext, "after">, directory: string): Writer {
  const script = bundledProgram(new URL("./writer_process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  context.after(() => child.kill("SIGKILL"));
  let output = "";
  let lines = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    lines += text.split("\n").length - 1;
  });
  function last(): Map<string, number> {
    const found = new Map<string, number>();
    for (const line of output.slice(0, output.lastIndexOf("\n")).split("\n")) {
      const [partition = "", n] = line.split(" ");
      found.set(partition, Number(n));
    }
    return found;
  }
  return {
    pid: child.pid,
    count: () => lines,
    last,
    async acknowledged(count) {
      while (lines < count) {
        const [event] = await Promise.race([once(child.stdout, "data"), exit]);
        assert.equal(typeof event, "string", `the writer ended early: ${event}`);
      }
    },
    async kill() {
      const closed = once(child, "close");
      child.kill("SIGKILL");
      await closed;
      return last();
    },
  };
}
