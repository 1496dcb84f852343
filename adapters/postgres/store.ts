import {
  type Batch,
  type Commit,
  type Partition,
  type Read,
  type Results,
  type Store,
  type StoreWarning,
  storageLimits,
  type Traits,
} from "../../lib/storage/contract.ts";
import type { PartitionLister, PartitionQuery } from "../../lib/storage/ports.ts";
import { ServerClock } from "../../lib/storage/server_clock.ts";
import { validateBatch, validateReads } from "../../lib/storage/validate.ts";
import { VersionSource } from "../../lib/storage/versions.ts";
import type { Rows } from "./arrays.ts";
import {
  commitOutcomes,
  commitParameters,
  commitUnits,
  commitUnitsMax,
  commitValues,
  type PendingCommit,
} from "./commit.ts";
import { Gathering } from "./gathering.ts";
import { laneOf, lockOf } from "./locks.ts";
import type { PostgresAdapterOptions } from "./options.ts";
import {
  type PendingRead,
  readAnswers,
  readParameters,
  readResult,
  readUnits,
  readUnitsMax,
  readValues,
} from "./read.ts";
import { Database, readTime, Session } from "./session.ts";
import { Sweeper } from "./sweeper.ts";

const lanes = 4;
const pageSize = 1_000;

/**
 * Opens a store on PostgreSQL 14 or later. It connects with the first call and reconnects automatically, over at most ten
 * connections, and creates its schema where that is missing and the user may.
 *
 * @throws {TypeError} The URL or the schema cannot be used.
 */
export function createPostgresStore(options: PostgresAdapterOptions): Store & PartitionLister {
  return new PostgresStore(options);
}

type Outcome = Commit | RangeError;

class PostgresStore implements Store, PartitionLister {
  readonly traits: Traits = {
    durable: true,
    maxWrites: storageLimits.writesMax,
    maxValueBytes: storageLimits.valueBytesMax,
  };
  readonly #database: Database;
  readonly #clock: () => number;
  /** Null where a clock is given: it is the time of the store. */
  readonly #serverClock: ServerClock | null;
  readonly #versions = new VersionSource();
  /** For pings and warnings, which wait for nothing else. */
  readonly #pings: Session;
  /** For what takes long: sweeps and lists of partitions. */
  readonly #session: Session;
  readonly #sessions: Session[];
  readonly #commits: readonly Gathering<PendingCommit, Outcome>[];
  readonly #reads: Gathering<PendingRead, readonly Rows[]>;
  readonly #sweeper: Sweeper;

  constructor(options: PostgresAdapterOptions) {
    const database = new Database(options);
    this.#database = database;
    const [read, commit] = [
      database.statement("read_1", readParameters, { isText: true }),
      database.statement("commit_1", commitParameters),
    ];
    const open = (): Session[] => Array.from({ length: lanes }, () => new Session(database));
    const [readers, writers] = [open(), open()];
    [this.#pings, this.#session] = [new Session(database), new Session(database)];
    this.#sessions = [...readers, ...writers, this.#pings, this.#session];
    this.#reads = new Gathering({
      sessions: readers,
      call: async (session, reads, deadline) =>
        readAnswers(reads, await session.call(read, readValues(reads), { isRead: true, deadline })),
      keyOf: ({ partition }) => partition,
      unitsOf: readUnits,
      unitsMax: readUnitsMax,
    });
    this.#commits = writers.map(
      writer =>
        new Gathering({
          sessions: [writer],
          call: async (session, commits, deadline) =>
            commitOutcomes(commits, await session.call(commit, commitValues(commits), { deadline })),
          keyOf: ({ partition }) => partition,
          unitsOf: commitUnits,
          unitsMax: commitUnitsMax,
        }),
    );
    this.#clock = options.clock ?? Date.now;
    const server = { name: "PostgreSQL", time: () => readTime(this.#pings) };
    this.#serverClock = options.clock === undefined ? new ServerClock(server) : null;
    this.#sweeper = new Sweeper(database, this.#session, "records", options.clock);
  }

  async read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    validateReads(partition, queries);
    if (queries.length === 0) return [] as unknown as Results<Q>;
    const answers = await this.#reads.ask({ partition, queries });
    const now = this.#clock();
    return queries.map((query, index) =>
      readResult(query, answers[index] ?? [], now),
    ) as unknown as Results<Q>;
  }

  async commit(partition: string, batch: Batch): Promise<Commit> {
    validateBatch(partition, batch, this.traits);
    const now = this.#clock();
    const admitted = this.#serverClock?.admit(now);
    if (admitted !== undefined) await admitted;
    const lock = lockOf(this.#database.schema, partition);
    const outcome = await laneOf(this.#commits, lock)?.ask({
      partition,
      lock,
      batch,
      now,
      version: this.#versions.next(),
    });
    if (outcome === undefined || outcome instanceof RangeError) throw outcome;
    return outcome;
  }

  async *partitions({ prefix, record }: PartitionQuery): AsyncGenerator<readonly Partition[], void> {
    const statement = {
      name: "partitions",
      // No byte of UTF-8 is 255: everything that begins so comes before.
      text: `select partition from ${this.#database.schema}.records
        where partition > $1 and partition >= $2 and partition < $2 || '\\xff'::bytea and key = $3
        order by partition limit ${pageSize}`,
      isText: true,
    };
    let last = "";
    for (;;) {
      const values = [last, prefix, record].map(text => Buffer.from(text));
      const page = (await this.#session.call(statement, values, { isRead: true })).map(
        ([name]) => name ?? "",
      );
      if (page.length > 0) yield page;
      if (page.length < pageSize) return;
      last = page.at(-1) ?? "";
    }
  }

  async ping(): Promise<void> {
    await (this.#serverClock?.requireReady() ?? readTime(this.#pings));
  }

  readonly now = (): number => this.#serverClock?.now() ?? this.#clock();

  async warnings(): Promise<readonly StoreWarning[]> {
    const statement = {
      name: "warnings",
      text: "select current_setting('fsync'), current_setting('full_page_writes')",
    };
    const [settings = []] = await this.#pings.call(statement, [], { isRead: true });
    return settings.includes("off") ? [notPersistent] : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweeper[Symbol.dispose]();
    await Promise.all(this.#sessions.map(session => session[Symbol.asyncDispose]()));
  }
}

const notPersistent: StoreWarning = {
  code: "not_persistent",
  detail: "PostgreSQL may lose data in a crash: set its fsync and full_page_writes to on",
};
