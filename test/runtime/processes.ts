/** Processes of the tests. None outlives the tests of its file, which end where an expectation failed. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { after } from "node:test";

/** Longest wait for a line, in ms: a cold runtime on a busy machine compiles for seconds. */
export const lineMsMax = 60_000;

/** A program under test. */
export interface Program {
  readonly pid: number;
  readonly stdin: Writable;
  /** Everything printed so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the first match in stdout; rejects when the program ends without it. */
  match(pattern: RegExp): Promise<RegExpExecArray>;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code, or the signal that ended the program. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

const running = new Set<ChildProcess>();
function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}
// A child keeps the test process alive; one that is ended from outside runs no hooks.
after(killAll);
process.once("exit", killAll);

/** Where a program starts, and as whom. */
export interface Place {
  readonly cwd?: string | undefined;
  readonly uid?: number;
  readonly gid?: number;
}

/** Starts a program with a clean set of the product's own variables. */
export function start(
  [file, ...args]: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>> = {},
  place: Place = {},
): Program {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("GRANDSTAND_"));
  const child = spawn(file, args, {
    // No client of a test needs time to move to another server.
    env: { ...Object.fromEntries(inherited), NO_COLOR: "1", GRANDSTAND_DRAIN: "0", ...environment },
    stdio: "pipe",
    ...place,
  });
  running.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    child.emit("printed");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  child.stdin.on("error", () => {});
  const ended = once(child, "close").then(([code, signal]: unknown[]) => {
    running.delete(child);
    return (code ?? signal ?? null) as number | NodeJS.Signals | null;
  });
  return {
    pid: child.pid ?? 0,
    stdin: child.stdin,
    stdout: () => stdout,
    stderr: () => stderr,
    match: pattern => matchLine(child, { pattern, printed: () => stdout, complained: () => stderr }),
    signal: name => void child.kill(name),
    ended,
  };
}

interface Output {
  readonly pattern: RegExp;
  readonly printed: () => string;
  readonly complained: () => string;
}

function matchLine(child: ChildProcess, { pattern, printed, complained }: Output): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail("in time"), lineMsMax);
    function look(): void {
      const found = pattern.exec(printed());
      if (found === null) return;
      settle();
      resolve(found);
    }
    function fail(when: string): void {
      settle();
      reject(new Error(`The program did not print ${pattern} ${when}: ${printed()}\n${complained()}`));
    }
    function end(): void {
      fail("before it ended");
    }
    function settle(): void {
      clearTimeout(timer);
      child.off("printed", look);
      child.off("close", end);
    }
    child.on("printed", look);
    child.on("close", end);
    look();
  });
}
