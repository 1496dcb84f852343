/** Starts one throw-away redis-server process that cannot outlive the test process. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./free_port.ts";
import { until } from "./until.ts";

const startAttemptsMax = 5;

/**
 * The shell ends with the server, and its reader outlives a test process that died in any way just long enough to
 * kill the server and to remove its directory ($0): stdin closes then. A line first means: send this signal and keep the directory.
 */
const guardScript = `exec 3<&0
redis-server "$@" 3<&- >/dev/null 2>&1 & pid=$!; echo "$pid"
{ read -r last <&3; kill "-\${last:-KILL}" "$pid"; [ -n "$last" ] || rm -rf "$0"; } >/dev/null 2>&1 &
wait "$pid"`;

const dirs = new Set<string>();
process.once("exit", () => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
});

/** The reason to skip tests that need a real Redis, or false where it can be started. */
export function redisAvailable(): string | false {
  if (process.env.GRANDSTAND_REQUIRE_REDIS === "1") return false;
  const found = spawnSync("redis-server", ["--version"], { stdio: "ignore" });
  return found.status === 0 ? false : "redis-server is not installed";
}

/** Address and process of a server. */
export class RedisProcess {
  readonly port: number;
  readonly dir: string;
  readonly #extra: readonly string[];
  #guard: ChildProcess | undefined;
  #pid = 0;

  private constructor(port: number, dir: string, extra: readonly string[]) {
    this.port = port;
    this.dir = dir;
    this.#extra = extra;
  }

  /** Starts a server on a free port with further redis-server arguments, again elsewhere if the port was lost. */
  static async start(extra: readonly string[] = []): Promise<RedisProcess> {
    const dir = mkdtempSync(join(tmpdir(), "gs-redis-"));
    dirs.add(dir);
    for (let attempt = 1; ; attempt++) {
      const server = new RedisProcess(await freePort(), dir, extra);
      try {
        await server.launch();
        return server;
      } catch (error) {
        await server.kill();
        if (attempt === startAttemptsMax) throw error;
      }
    }
  }

  /** The id of the process. */
  get pid(): number {
    return this.#pid;
  }

  /** The URL over TCP. */
  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The path of the unix socket. */
  get socket(): string {
    return join(this.dir, "redis.sock");
  }

  /** Starts the process on its port and directory and resolves when it answers. */
  async launch(): Promise<void> {
    const fixed = ["--port", `${this.port}`, "--bind", "127.0.0.1", "--unixsocket", this.socket];
    const volatile = ["--dir", this.dir, "--save", "", "--appendonly", "no", "--daemonize", "no"];
    const guard = spawn("sh", ["-c", guardScript, this.dir, ...fixed, ...volatile, ...this.#extra], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#guard = guard;
    this.#pid = await new Promise<number>((resolve, reject) => {
      guard.once("error", reject);
      guard.stdout?.once("data", chunk => resolve(Number(`${chunk}`)));
    });
    release(guard);
    await until(`redis-server answers on port ${this.port}`, () => {
      if (guard.exitCode !== null) throw new Error(`Cannot start redis-server on port ${this.port}`);
      return this.command("PING").then(
        answer => answer === "PONG",
        () => false,
      );
    });
  }

  /** Runs one command over a connection of its own. */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    // Without the ready check, so that a server that is busy or still loads its data can be commanded too.
    const options = { lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null };
    const client = new Redis({ path: this.socket, ...options });
    client.on("error", () => {});
    try {
      await client.connect();
      return await client.call(name, ...args.map(String));
    } finally {
      client.disconnect();
    }
  }

  /** Ends the process as a crash does, without any chance to save. */
  async kill(): Promise<void> {
    await this.#end("KILL");
  }

  /** Ends the process as an operator does; an append-only file is complete then. */
  async stop(): Promise<void> {
    await this.#end("TERM");
  }

  async #end(last: "KILL" | "TERM"): Promise<void> {
    const guard = this.#guard;
    if (guard === undefined) return;
    this.#guard = undefined;
    if (last === "KILL") signal(this.#pid, "SIGKILL");
    guard.stdin?.end(`${last}\n`);
    guard.ref();
    if (guard.exitCode === null) await new Promise(resolve => guard.once("exit", resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  /** Kills the process and starts it again on the same port. */
  async restart(): Promise<void> {
    await this.kill();
    await this.launch();
  }

  /** Stops the process from running, connections staying open, until {@linkcode thaw}. */
  freeze(): void {
    signal(this.#pid, "SIGSTOP");
  }

  /** Lets a frozen process run on. */
  thaw(): void {
    signal(this.#pid, "SIGCONT");
  }

  /** Makes the server hold back every command for so many ms. */
  async pause(ms: number): Promise<void> {
    await this.command("CLIENT", "PAUSE", ms, "ALL");
  }

  /** Removes every key. */
  async flush(): Promise<void> {
    await this.command("FLUSHALL");
  }
}

/** Lets the test process end although the server runs; the guard kills the server then. */
function release(guard: ChildProcess): void {
  guard.unref();
  guard.stdout?.destroy();
  const stdin: unknown = guard.stdin;
  if (typeof stdin === "object" && stdin !== null && "unref" in stdin && typeof stdin.unref === "function") {
    stdin.unref();
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone already.
  }
}
