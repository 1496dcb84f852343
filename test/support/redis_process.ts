/** Starts one throw-away redis-server process that cannot outlive the test process. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./free_port.ts";
import { GuardedProcess, serverDirectory } from "./guarded_process.ts";
import { until } from "./until.ts";

const startAttemptsMax = 5;

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
  #process: GuardedProcess | undefined;
  #pid = 0;

  private constructor(port: number, dir: string, extra: readonly string[]) {
    this.port = port;
    this.dir = dir;
    this.#extra = extra;
  }

  /** Starts a server on a free port with further redis-server arguments, again elsewhere if the port was lost. */
  static async start(extra: readonly string[] = []): Promise<RedisProcess> {
    const dir = serverDirectory("gs-redis-");
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

  get pids(): readonly number[] {
    return this.#process === undefined ? [] : [this.#pid];
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
    const command = ["redis-server", ...fixed, ...volatile, ...this.#extra];
    const server = await GuardedProcess.start(command, { dir: this.dir, signal: "KILL" });
    this.#process = server;
    this.#pid = server.pid;
    await until(`redis-server answers on port ${this.port}`, () => {
      if (server.hasEnded) throw new Error(`Cannot start redis-server on port ${this.port}`);
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
    const server = this.#process;
    if (server === undefined) return;
    this.#process = undefined;
    if (last === "KILL") signal(server.pid, "SIGKILL");
    await server.end(last);
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

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone already.
  }
}
