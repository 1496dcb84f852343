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
import { CallGroups, StandingReader } from "./call_groups.ts";
import { commitScript, writeCommitScript } from "./commit_script.ts";
import { createClient, RedisConnection } from "./connection.ts";
import { KeySpace, keyOf, type RedisAdapterOptions } from "./keys.ts";
import {
  type CommitContext,
  CommitPlan,
  commitArguments,
  commitShape,
  decodeCommit,
} from "./prepared_commit.ts";
import {
  bound,
  decodeRead,
  listRange,
  pushRead,
  readArguments,
  readShape,
  writeReadScript,
} from "./read_script.ts";
import { ScriptCache, type ScriptCacheOptions } from "./script_cache.ts";
import { decodeRecord } from "./stored.ts";

/**
 * Opens a store on Redis 6.2 or later, standalone or Cluster. It connects with the first call and reconnects automatically.
 *
 * `durable` is declared because acknowledged commits survive the end of this process; whether they survive the end
 * of the server is a matter of its persistence settings.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisStore(options: RedisAdapterOptions): Store & PartitionLister {
  return openRedisStore(options, {});
}

export function openRedisStore(
  options: RedisAdapterOptions,
  scripts: ScriptCacheOptions,
): Store & PartitionLister {
  return new RedisStore(options, scripts);
}

class RedisStore implements Store, PartitionLister {
  readonly traits: Traits = {
    durable: true,
    maxWrites: storageLimits.writesMax,
    maxValueBytes: storageLimits.valueBytesMax,
  };
  readonly #connection: RedisConnection;
  readonly #keys: KeySpace;
  readonly #clock: () => number;
  /** Null where a clock is given: it is the time of the store. */
  readonly #serverClock: ServerClock | null;
  readonly #versions = new VersionSource();
  readonly #standings: StandingReader;
  readonly #readScripts: ScriptCache;
  readonly #commitScripts: ScriptCache;
  readonly #groups: CallGroups;

  constructor({ server, prefix, clock }: RedisAdapterOptions, scripts: ScriptCacheOptions) {
    this.#readScripts = new ScriptCache(writeReadScript, scripts);
    this.#commitScripts = new ScriptCache(writeCommitScript, scripts);
    this.#keys = new KeySpace(prefix);
    this.#connection = new RedisConnection(createClient(server));
    this.#standings = new StandingReader(this.#connection);
    this.#groups = new CallGroups(this.#connection);
    this.#clock = clock ?? Date.now;
    this.#serverClock = clock === undefined ? new ServerClock(this.#connection) : null;
  }

  async read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    validateReads(partition, queries);
    const root = this.#keys.root(partition);
    const [only] = queries;
    if (only?.type === "standing" && queries.length === 1) {
      const standing = await this.#standings.read(
        {
          zset: keyOf(root, "b", only.key),
          rows: keyOf(root, "m", only.key),
          op: only.position === true ? "S" : "s",
        },
        only.member,
      );
      return [standing] as unknown as Results<Q>;
    }
    if (only?.type === "record" && queries.length === 1) {
      const [reply] = (await this.#groups.strings([keyOf(root, "r", only.key)])) as readonly unknown[];
      return [decodeRecord(reply, this.#clock())] as unknown as Results<Q>;
    }
    const replies = await this.#ask(root, queries);
    const now = this.#clock();
    return queries.map((query, index) => decodeRead(query, replies[index], now)) as unknown as Results<Q>;
  }

  async commit(partition: string, batch: Batch): Promise<Commit> {
    validateBatch(partition, batch, this.traits);
    const now = this.#clock();
    const admitted = this.#serverClock?.admit(now);
    if (admitted !== undefined) await admitted;
    const context = { root: this.#keys.root(partition), now, version: this.#versions.next() };
    return decodeCommit(batch, context.version, await this.#run(batch, context));
  }

  partitions(query: PartitionQuery): AsyncIterable<readonly Partition[]> {
    return scanPartitions(this.#connection, this.#keys, query);
  }

  async ping(): Promise<void> {
    await (this.#serverClock?.requireReady() ?? this.#connection.ask("ping", []));
  }

  readonly now = (): number => this.#serverClock?.now() ?? this.#clock();

  async warnings(): Promise<readonly StoreWarning[]> {
    return await readWarnings(this.#connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }

  #run(batch: Batch, context: CommitContext): Promise<unknown> {
    const shape = commitShape(batch, context.now);
    const script = shape === undefined ? undefined : this.#commitScripts.of(shape);
    if (script !== undefined) return this.#groups.run(script, ...commitArguments(batch, context));
    const plan = new CommitPlan(batch, context);
    return this.#connection.run(commitScript, [plan.keys, plan.args]);
  }

  /** One round trip for all queries: a single command where that is enough, else a script. */
  async #ask(root: string, queries: readonly Read[]): Promise<readonly unknown[]> {
    const [first] = queries;
    if (first === undefined) return [];
    if (queries.every(query => query.type === "record")) {
      const keys = queries.map(({ key }) => keyOf(root, "r", key));
      return (await this.#groups.strings(keys)) as readonly unknown[];
    }
    if (queries.length === 1) {
      const reply = this.#askOne(root, first);
      if (reply !== undefined) return [await reply];
    }
    const shape = readShape(queries);
    const script = shape === undefined ? undefined : this.#readScripts.of(shape);
    if (script !== undefined) {
      return (await this.#groups.ask(script, ...readArguments(root, queries))) as readonly unknown[];
    }
    const keys: string[] = [];
    const args: string[] = [];
    let entries = 0;
    for (const query of queries) {
      pushRead(root, query, keys, args);
      if ("limit" in query) entries += query.limit;
    }
    const size = { replies: queries.length, entries };
    return (await this.#groups.queries(keys, args, size)) as readonly unknown[];
  }

  /** Returns the answer to a query that is one command, or undefined if it is more. */
  #askOne(root: string, query: Read): Promise<unknown> | undefined {
    if (query.type === "log") {
      const range = listRange(query);
      return range && this.#connection.ask("lrange", [keyOf(root, "l", query.key), ...range]);
    }
    if (query.type === "tally" && query.fields?.length !== 0) {
      const key = keyOf(root, "t", query.key);
      // In capitals, because ioredis would turn the reply to `hgetall` into an object.
      if (query.fields === undefined) return this.#connection.ask("HGETALL", [key]);
      return this.#connection.ask("HMGET", [key, ...query.fields]);
    }
    if (query.type === "before" && query.tie === undefined && query.member === undefined) {
      return this.#connection.ask("zcount", [keyOf(root, "b", query.key), "-inf", `(${bound(query.score)}`]);
    }
    return undefined;
  }
}

/** About how many keys the server visits at a time where partitions are listed. */
const scanKeysMax = 1_000;

/** Returns the partitions whose names begin so and that hold a record of a key. */
async function* scanPartitions(
  connection: RedisConnection,
  keys: KeySpace,
  { prefix, record }: PartitionQuery,
): AsyncGenerator<readonly Partition[], void> {
  const pattern = keys.pattern(prefix, "r", record);
  for (const primary of await connection.primaries()) {
    let cursor = "0";
    do {
      const asked = ["MATCH", pattern, "COUNT", String(scanKeysMax)];
      const [next, found] = (await primary.ask("scan", [cursor, ...asked])) as [string, readonly string[]];
      if (found.length > 0) yield found.map(key => keys.partitionOf(key));
      cursor = next;
    } while (cursor !== "0");
  }
}

const evicted: StoreWarning = {
  code: "keys_are_evicted",
  detail: "Redis may remove data where memory is short: set its maxmemory-policy to noeviction",
};
const notPersistent: StoreWarning = {
  code: "not_persistent",
  detail: "Redis forgets everything when it restarts: switch on its append-only file (appendonly yes)",
};

/** Returns what endangers the data of a server or Cluster. What a server does not tell is not warned of. */
async function readWarnings(connection: RedisConnection): Promise<readonly StoreWarning[]> {
  const found = await Promise.all((await connection.primaries()).map(warningsOf));
  return [...new Set(found.flat())];
}

async function warningsOf(server: RedisConnection): Promise<readonly StoreWarning[]> {
  const [memory, persistence, save] = await Promise.all([
    server.ask("info", ["memory"]).catch(() => ""),
    server.ask("info", ["persistence"]).catch(() => ""),
    // Hosted servers often refuse CONFIG.
    server.ask("config", ["get", "save"]).catch(() => []),
  ]);
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(memory))?.[1];
  const hasSnapshots = (save as readonly string[])[1] !== "";
  const warnings: StoreWarning[] = [];
  if (policy !== undefined && policy !== "noeviction") warnings.push(evicted);
  if (/^aof_enabled:0/m.test(String(persistence)) && !hasSnapshots) warnings.push(notPersistent);
  return warnings;
}
