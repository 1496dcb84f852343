/** Runs one body of tests on several stores: in memory always, and on a real Redis and PostgreSQL where they can be started. */

import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { after, describe } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createPostgresStore } from "../../adapters/postgres/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { Batch, Commit, PartitionLister, Read, Results, Store, Traits } from "../../lib/storage/mod.ts";
import type { PartitionQuery } from "../../lib/storage/ports.ts";
import { isFullRun, isLongRun, skipUnlessFull } from "./full.ts";
import { freshSchema, postgresAvailable, sharedPostgres } from "./postgres.ts";
import { redisAvailable, sharedCluster, sharedRedis } from "./redis.ts";

/** Opens a fresh, empty store whose clock is the given one. */
export type OpenStore = (clock: () => number) => Promise<Store>;

/** Opens one that lists its partitions as well. */
export type OpenListingStore = (clock: () => number) => Promise<Store & PartitionLister>;

type StoreSuite<On extends string> = (open: OpenListingStore, on: "memory" | On) => void;

/**
 * Declares the suite in memory, in a full run on a database instead, and in a long one on every store. The title decides which
 * database it is: half of the suites run on each.
 */
export function describeOnStores(title: string, body: StoreSuite<"Redis" | "PostgreSQL">): void {
  const isOnRedis = [...title].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 2 === 0;
  if (isLongRun || !isFullRun) declareInMemory(title, body);
  if (isLongRun || (isFullRun && isOnRedis)) declareOnRedis(title, body, redisAvailable());
  if (isLongRun || (isFullRun && !isOnRedis)) declareOnPostgres(title, body);
}

/** Declares the suite in memory, and in a full run on every store: for what leans on boards, tallies, logs, expiry or races. */
export function describeOnDatabases(title: string, body: StoreSuite<"Redis" | "PostgreSQL">): void {
  declareInMemory(title, body);
  declareOnRedis(title, body, skipUnlessFull("on Redis") || redisAvailable());
  declareOnPostgres(title, body);
}

/** Declares the suite in memory and on Redis in every run, and in a full one on PostgreSQL: for races, and for one suite of each area. */
export function describeOnEveryStore(title: string, body: StoreSuite<"Redis" | "PostgreSQL">): void {
  declareInMemory(title, body);
  declareOnRedis(title, body, redisAvailable());
  declareOnPostgres(title, body);
}

/** Declares the suite on Redis Cluster in a full run: for what several partitions have a part in. */
export function describeOnCluster(title: string, body: (open: OpenListingStore) => void): void {
  const servers = { on: "Redis Cluster", server: sharedCluster };
  declareOnRedis(title, open => body(open), skipUnlessFull("on Redis Cluster") || redisAvailable(), servers);
}

function declareInMemory(title: string, body: StoreSuite<never>): void {
  describe(`${title} (memory)`, () => {
    body(async clock => createMemoryStore({ clock }), "memory");
  });
}

interface Servers {
  readonly on: string;
  readonly server: () => Promise<{ readonly url: string }>;
}

function declareOnRedis(
  title: string,
  body: StoreSuite<"Redis">,
  skip: string | false,
  { on, server }: Servers = { on: "Redis", server: sharedRedis },
): void {
  describe(`${title} (${on})`, { skip }, () => {
    const opened: AsyncDisposable[] = [];
    // A connection that stays open would keep the process from ending.
    after(async () => void (await Promise.all(opened.map(store => store[Symbol.asyncDispose]()))));
    body(async clock => {
      const { url } = await server();
      const store = createRedisStore({ server: url, prefix: `t:${randomUUID()}:`, clock });
      opened.push(store);
      return store;
    }, "Redis");
  });
}

function declareOnPostgres(title: string, body: StoreSuite<"PostgreSQL">): void {
  const skip = skipUnlessFull("on PostgreSQL") || postgresAvailable();
  describe(`${title} (PostgreSQL)`, { skip }, () =>
    body(async clock => new PrefixedStore(await processStore(), clock), "PostgreSQL"),
  );
}

let opened: Promise<Store & PartitionLister> | undefined;
/** The clock of the caller. */
const clocks = new AsyncLocalStorage<() => number>();

/** Opens the store of all suites of the process: to make a schema, or to connect, takes longer than most tests do. */
function processStore(): Promise<Store & PartitionLister> {
  // Without a caller, nothing has expired.
  const clock = (): number => clocks.getStore()?.() ?? 0;
  opened ??= sharedPostgres().then(({ url }) =>
    createPostgresStore({ server: url, schema: freshSchema(), clock }),
  );
  return opened;
}
after(async () => void (await (await opened)?.[Symbol.asyncDispose]()));

/** A store that is empty at first, as all of its partitions have a name that begins with a prefix of its own. */
class PrefixedStore implements Store, PartitionLister {
  readonly traits: Traits;
  readonly now: () => number;
  readonly #store: Store & PartitionLister;
  readonly #prefix = `${randomUUID().slice(0, 8)}:`;

  constructor(store: Store & PartitionLister, clock: () => number) {
    this.#store = store;
    this.traits = store.traits;
    this.now = clock;
  }

  read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    return clocks.run(this.now, () => this.#store.read(this.#prefix + partition, queries));
  }

  commit(partition: string, batch: Batch): Promise<Commit> {
    return clocks.run(this.now, () => this.#store.commit(this.#prefix + partition, batch));
  }

  async *partitions({ prefix, record }: PartitionQuery): AsyncGenerator<readonly string[], void> {
    for await (const group of this.#store.partitions({ prefix: this.#prefix + prefix, record })) {
      yield group.map(name => name.slice(this.#prefix.length));
    }
  }

  ping(): Promise<void> {
    return this.#store.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
