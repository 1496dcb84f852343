/** The deployment of the show: Redis with AOF, or PostgreSQL, two servers and a worker, each a process of its own, and what they use. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Demo } from "../../../lib/mod.ts";
import { bundle } from "../../../runtime/build.ts";
import { freePort } from "../../support/free_port.ts";
import { PostgresProcess } from "../../support/postgres.ts";
import { RedisProcess } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

/** Inside node_modules, so that the bundle finds its dependencies. */
const dist = fileURLToPath(
  new URL(`../../../node_modules/.cache/grandstand/live-final-${process.pid}`, import.meta.url),
);
const secret = "Zm9yIGJlbmNobWFya3Mgb25seSwgbm90IGZvciBhbnkgZGVwbG95bWVudA";
/** Of the kernel's counters, in ms. */
const tickMs = 10;
const pageBytes = 4_096;

/** Names of the processes. */
export const roles = ["server A", "server B", "worker", "database", "clients"] as const;
/** A process of the show. */
export type Role = (typeof roles)[number];

/** Variables of the environment. */
type Settings = Readonly<Record<string, string>>;

/** What a process used by then. */
export interface Usage {
  readonly cpuMs: number;
  readonly bytes: number;
}

/** The deployment. */
export class Stage {
  readonly database: RedisProcess | PostgresProcess;
  readonly ports: readonly [number, number];
  /** Logs of the processes; it stays if the show fails. */
  readonly folder = mkdtempSync(join(tmpdir(), "live-final-"));
  readonly #children = new Map<Role, ChildProcess>();
  /** Processor time of processes that have ended, by role. */
  readonly #spent = new Map<Role, number>();
  readonly #settings: Settings;

  private constructor(
    database: RedisProcess | PostgresProcess,
    ports: readonly [number, number],
    settings: Settings,
  ) {
    this.database = database;
    this.ports = ports;
    this.#settings = settings;
  }

  /** Starts everything, and returns it with the credentials of the demo that it is filled with. Servers have the settings, too. */
  static async open(
    settings: Settings = {},
    store: "redis" | "postgres" = "redis",
  ): Promise<{ readonly stage: Stage; readonly demo: Demo }> {
    mkdirSync(dist, { recursive: true });
    await bundle(dist);
    const database =
      store === "redis"
        ? await RedisProcess.start(["--appendonly", "yes", "--appendfsync", "everysec"])
        : await PostgresProcess.start(["shared_buffers=1GB", "max_wal_size=4GB"]);
    const stage = new Stage(database, [await freePort(), await freePort()], settings);
    process.once("exit", () => stage.#killAll());
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
    await stage.startServer("server A");
    await stage.startServer("server B");
    await stage.startWorker();
    const demo = JSON.parse(readFileSync(join(stage.folder, "demo.json"), "utf8")) as Demo;
    return { stage, demo };
  }

  /** Starts a server and resolves when it is ready. */
  async startServer(role: "server A" | "server B"): Promise<void> {
    const port = this.ports[role === "server A" ? 0 : 1];
    const demo = role === "server A" ? ["--demo-file", join(this.folder, "demo.json")] : [];
    const isFirst = role === "server A" && !this.#spent.has(role);
    this.#start(role, ["serve", "--demo", "--port", String(port), ...(isFirst ? demo : [])], {
      GRANDSTAND_DRAIN: "3",
      GRANDSTAND_WORKERS: "off",
      GRANDSTAND_EXPORTS: "off",
      GRANDSTAND_EXPORT_INTERVAL: "0",
      GRANDSTAND_TRUSTED_PROXIES: "127.0.0.0/8",
      GRANDSTAND_PUBLIC_URL: `http://127.0.0.1:${this.ports[0]}`,
      ...this.#settings,
    });
    await until(`${role} is ready`, async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
      await answer?.body?.cancel();
      return answer?.status === 200;
    });
  }

  async startWorker(): Promise<void> {
    this.#start("worker", ["worker"], {
      GRANDSTAND_EXPORT_INTERVAL: "0",
      GRANDSTAND_PUBLIC_URL: `http://127.0.0.1:${this.ports[0]}`,
    });
  }

  /** Sends a signal and resolves with the exit once the process has ended. */
  async end(role: "server A" | "server B" | "worker", signal: NodeJS.Signals): Promise<number | string> {
    const child = this.#children.get(role);
    if (child === undefined) throw new Error(`There is no ${role}`);
    this.#spent.set(role, this.usage(role)?.cpuMs ?? 0);
    const ended = once(child, "exit");
    child.kill(signal);
    const [code, by] = await ended;
    return code ?? by;
  }

  /** Redis; only where the show is on it. */
  get redis(): RedisProcess {
    if (this.database instanceof RedisProcess) return this.database;
    throw new TypeError("Cannot ask Redis: the show is on PostgreSQL");
  }

  /** Stops Redis as its operator does, and starts it from its files; PostgreSQL is ended as a crash does. */
  async restartDatabase(): Promise<void> {
    this.#spent.set("database", this.usage("database")?.cpuMs ?? 0);
    if (this.database instanceof PostgresProcess) {
      await this.database.kill();
      return await this.database.launch();
    }
    await this.redis.stop();
    await this.redis.launch();
    await until("Redis has loaded its files", async () => {
      return `${await this.redis.command("INFO", "persistence")}`.includes("loading:0");
    });
  }

  /** Runs a command of the product and resolves with what it prints. @throws {Error} It fails. */
  async command(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<string> {
    const child = spawn(process.execPath, [`${dist}/runtime/cli.js`, ...args], {
      env: { PATH: process.env.PATH ?? "", GRANDSTAND_SECRET: secret, NO_COLOR: "1", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [out, complaint] = ["", ""];
    child.stdout.on("data", chunk => {
      out += chunk;
    });
    child.stderr.on("data", chunk => {
      complaint += chunk;
    });
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`grandstand ${args.join(" ")} ended with ${code}: ${complaint}`);
    return out;
  }

  /** Returns what a process used since the beginning; null while it does not run. */
  usage(role: Role): Usage | null {
    const pids =
      role === "clients"
        ? [process.pid]
        : role === "database"
          ? this.database.pids
          : [this.#children.get(role)?.pid];
    let [cpuMs, bytes] = [this.#spent.get(role) ?? 0, 0];
    try {
      for (const pid of pids) {
        const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
        cpuMs += (Number(fields[11]) + Number(fields[12])) * tickMs;
        bytes += Number(fields[21]) * pageBytes;
      }
      return pids.length === 0 ? null : { cpuMs, bytes };
    } catch {
      return null;
    }
  }

  async close(): Promise<void> {
    for (const role of ["server A", "server B", "worker"] as const) await this.end(role, "SIGTERM");
    await this.database.kill();
    for (const folder of [dist, this.folder]) rmSync(folder, { recursive: true, force: true });
  }

  #start(role: Role, args: readonly string[], environment: Readonly<Record<string, string>>): void {
    const child = spawn(process.execPath, [`${dist}/runtime/cli.js`, ...args, "--log", "warn"], {
      env: {
        PATH: process.env.PATH ?? "",
        GRANDSTAND_SECRET: secret,
        [this.database instanceof PostgresProcess ? "GRANDSTAND_POSTGRES" : "GRANDSTAND_REDIS"]:
          this.database.url,
        ...environment,
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.pipe(createWriteStream(join(this.folder, `${role.replace(" ", "-")}.log`), { flags: "a" }));
    this.#children.set(role, child);
  }

  #killAll(): void {
    for (const child of this.#children.values()) child.kill("SIGKILL");
    rmSync(dist, { recursive: true, force: true });
  }
}
