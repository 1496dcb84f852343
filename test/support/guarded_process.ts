/** A server of a test, with a directory of its own, that cannot outlive the test process. */
import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The shell ends with the server, and its reader outlives a test process that died in any way just long enough to
 * stop the server by the signal $1 and to remove its directory ($0): stdin closes then. A line first means: send this signal and keep
 * the directory.
 */
const guardScript = `exec 3<&0; first=$1; shift
"$@" 3<&- >/dev/null 2>&1 & pid=$!; echo "$pid"
{ read -r last <&3; kill "-\${last:-$first}" "$pid"
  if [ -z "$last" ]; then while kill -0 "$pid"; do sleep 0.1; done; rm -rf "$0"; fi; } >/dev/null 2>&1 &
wait "$pid"`;

const dirs = new Set<string>();
process.once("exit", () => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
});

/** A user other than the one of the test process. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** Makes the directory of a server, which goes away with the test process. */
export function serverDirectory(prefix: string, { uid, gid }: ServerUser = {}): string {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  dirs.add(dir);
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid);
  return dir;
}

interface GuardedOptions extends ServerUser {
  readonly dir: string;
  /** @default that of the test process */
  readonly cwd?: string;
  /** Stops the server when the test process has gone. */
  readonly signal: "KILL" | "QUIT";
}

export class GuardedProcess {
  readonly pid: number;
  readonly #guard: ChildProcess;

  private constructor(guard: ChildProcess, pid: number) {
    this.#guard = guard;
    this.pid = pid;
  }

  static async start(
    command: readonly string[],
    { dir, signal, ...options }: GuardedOptions,
  ): Promise<GuardedProcess> {
    const guard = spawn("sh", ["-c", guardScript, dir, signal, ...command], {
      ...options,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const pid = await new Promise<number>((resolve, reject) => {
      guard.once("error", reject);
      guard.stdout?.once("data", chunk => resolve(Number(`${chunk}`)));
    });
    release(guard);
    return new GuardedProcess(guard, pid);
  }

  get hasEnded(): boolean {
    return this.#guard.exitCode !== null;
  }

  /** Ends the server by a signal, and keeps its directory. */
  async end(signal: "KILL" | "TERM" | "QUIT"): Promise<void> {
    const guard = this.#guard;
    guard.stdin?.end(`${signal}\n`);
    guard.ref();
    if (guard.exitCode === null) await new Promise(resolve => guard.once("exit", resolve));
  }
}

/** Lets the test process end although the server runs; the guard stops the server then. */
function release(guard: ChildProcess): void {
  guard.unref();
  guard.stdout?.destroy();
  const stdin: unknown = guard.stdin;
  if (typeof stdin === "object" && stdin !== null && "unref" in stdin && typeof stdin.unref === "function") {
    stdin.unref();
  }
}
