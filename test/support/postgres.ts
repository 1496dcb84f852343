/**
 * Real PostgreSQL servers for tests, on loopback, gone with the test process. A shared one syncs nothing to the disk, so that
 * tests are quick; one of a test's own is as safe as in production where it is asked to be.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { Client } from "pg";
import { freePort } from "./free_port.ts";
import { GuardedProcess, type ServerUser, serverDirectory } from "./guarded_process.ts";
import { until } from "./until.ts";

const startAttemptsMax = 5;

/** PostgreSQL refuses to run as root: this user of every system has no rights. */
const nobody = 65_534;
export const asUser: ServerUser = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

/** The reason to skip tests that need a real PostgreSQL, or false where it can be started. */
export function postgresAvailable(): string | false {
  if (process.env.GRANDSTAND_REQUIRE_POSTGRES === "1") return false;
  return programs() === undefined ? "PostgreSQL is not installed" : false;
}

/** Returns the folder of the programs of the newest version that Debian's packages, or the path, have. */
function programs(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const debian = versions
    .map(version => `${root}/${version}/bin`)
    .find(folder => existsSync(`${folder}/initdb`));
  const found = spawnSync("sh", ["-c", 'dirname "$(command -v initdb)"'], { encoding: "utf8" });
  return debian ?? (found.stdout.trim() === "." || found.status !== 0 ? undefined : found.stdout.trim());
}

/** Makes the directory of a server, and in it one of data, which a program fills. */
function makeData(program: string, options: readonly string[]): string {
  const dir = serverDirectory("gs-postgres-", asUser);
  const made = spawnSync(`${programs()}/${program}`, ["-D", `${dir}/data`, "--no-sync", ...options], {
    ...asUser,
    cwd: dir,
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(`Cannot run ${program}: ${made.stderr || made.error}`);
  return dir;
}

/** Address and process of a server. */
export class PostgresProcess implements AsyncDisposable {
  readonly port: number;
  readonly dir: string;
  readonly #settings: readonly string[];
  #process: GuardedProcess | undefined;

  private constructor(port: number, dir: string, settings: readonly string[]) {
    this.port = port;
    this.dir = dir;
    this.#settings = settings;
  }

  /** Starts a server on a free port, again elsewhere if the port was lost. */
  static async start(settings: readonly string[] = []): Promise<PostgresProcess> {
    const cluster = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions"];
    return await PostgresProcess.#begin(makeData("initdb", cluster), settings);
  }

  /** Starts a replica that follows this server. */
  async replica(): Promise<PostgresProcess> {
    const from = ["-h", "127.0.0.1", "-p", `${this.port}`, "-U", "postgres"];
    const dir = makeData("pg_basebackup", [...from, "--write-recovery-conf", "--checkpoint=fast"]);
    return await PostgresProcess.#begin(dir, this.#settings);
  }

  static async #begin(dir: string, settings: readonly string[]): Promise<PostgresProcess> {
    for (let attempt = 1; ; attempt++) {
      const server = new PostgresProcess(await freePort(), dir, settings);
      try {
        await server.launch();
        return server;
      } catch (error) {
        await server.kill();
        if (attempt === startAttemptsMax) throw error;
      }
    }
  }

  /** Returns the server of another process, to work on. */
  static async at(port: number): Promise<PostgresProcess> {
    return new PostgresProcess(port, "", []);
  }

  /** The URL over TCP. */
  get url(): string {
    return this.urlOf("postgres");
  }

  /** The URL of a user of a database. */
  urlOf(user: string, database = "postgres"): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`;
  }

  /** Makes an empty database and returns its name. */
  async freshDatabase(): Promise<string> {
    const name = freshSchema();
    await this.query(`create database ${name}`);
    return name;
  }

  /** Starts the process on its port and directory and resolves when it answers. */
  async launch(): Promise<void> {
    const fixed = ["-D", `${this.dir}/data`, "-p", `${this.port}`, "-k", this.dir, "-h", "127.0.0.1"];
    const settings = this.#settings.flatMap(setting => ["-c", setting]);
    const command = [`${programs()}/postgres`, ...fixed, ...settings];
    const server = await GuardedProcess.start(command, {
      ...asUser,
      dir: this.dir,
      cwd: this.dir,
      signal: "QUIT",
    });
    this.#process = server;
    await until(`PostgreSQL answers on port ${this.port}`, () => {
      if (server.hasEnded) throw new Error(`Cannot start PostgreSQL on port ${this.port}`);
      return this.query("select 1").then(
        () => true,
        () => false,
      );
    });
  }

  /** Runs statements over a connection of its own, and returns the rows of the last one. */
  async query(text: string, url = this.url): Promise<readonly Record<string, unknown>[]> {
    const client = new Client(url);
    client.on("error", () => {});
    try {
      await client.connect();
      const found = await client.query(text);
      return (Array.isArray(found) ? found.at(-1) : found).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Cuts every connection but the one that does so. */
  async cut(): Promise<void> {
    await this.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename is not null",
    );
  }

  /** Ends the server at once, without any chance to finish: what is committed is in its log alone. */
  async kill(): Promise<void> {
    const server = this.#process;
    this.#process = undefined;
    await server?.end("QUIT");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  /** Stops every process of the server from running, connections staying open, until {@linkcode thaw}. */
  async freeze(): Promise<void> {
    await this.#signal("SIGSTOP");
  }

  /** Lets a frozen server run on. */
  async thaw(): Promise<void> {
    await this.#signal("SIGCONT");
  }

  async #signal(name: NodeJS.Signals): Promise<void> {
    if (this.pids.length === 0) throw new Error("PostgreSQL does not run");
    for (const pid of this.pids) process.kill(pid, name);
  }

  /** The processes of the server, of which each connection has one. */
  get pids(): readonly number[] {
    const pid = this.#process?.pid;
    if (pid === undefined) return [];
    const children = spawnSync("ps", ["-o", "pid=", "--ppid", `${pid}`], { encoding: "utf8" }).stdout;
    return [pid, ...children.trim().split(/\s+/).map(Number)];
  }
}

/** Names the port of the server of the whole run, which a full run starts. */
const portVariable = "GRANDSTAND_TEST_POSTGRES_PORT";
let shared: Promise<PostgresProcess> | undefined;

/** The server that all tests of the run share, or those of one process where a run has none; isolate by schema. */
export function sharedPostgres(): Promise<PostgresProcess> {
  const port = process.env[portVariable];
  shared ??= port === undefined ? PostgresProcess.start(sharedSettings) : PostgresProcess.at(Number(port));
  return shared;
}

/** Nothing is synced, cleaned or analysed: tests are short, and plans depend on no statistics. */
const sharedSettings = ["fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off"];

/** Starts the server of the whole run, whose test processes find it in their environment. */
export async function startForRun(): Promise<PostgresProcess> {
  const server = await PostgresProcess.start(sharedSettings);
  process.env[portVariable] = `${server.port}`;
  return server;
}

/** Opens a connection of a test's own. */
export async function connect(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client(url);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

let schemas = 0;

/** Returns a name that no other test gives a schema. */
export function freshSchema(): string {
  schemas += 1;
  return `t${process.pid}_${schemas}`;
}
