/** Runs one body of tests on several stores: in memory, and on a real Redis and PostgreSQL where they can be started. */

import { randomUUID } from "node:crypto";
import { after, describe } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createPostgresStore } from "../../adapters/postgres/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { Batch, Commit, PartitionLister, Read, Results, Store, Traits } from "../../lib/storage/mod.ts";
import type { PartitionQuery } from "../../lib/storage/ports.ts";
import { isFullRun, isLongRun, isSlowRun, skipUnlessFull } from "./full.ts";
import { freshSchema, postgresAvailable, sharedPostgres } from "./postgres.ts";
import { redisAvailable, sharedCluster, sharedRedis } from "./redis.ts";

/** Opens a fresh, empty store whose clock is the given one. */
export type OpenStore = (clock: () => number) => Promise<Store>;

/** Opens one that lists its partitions as well. */
export type OpenListingStore = (clock: () => number) => Promise<Store & PartitionLister>;

type StoreSuite<On extends string> = (open: OpenListingStore, on: "memory" | On) => void;

/** Declares the suite in memory, in a full run on Redis and PostgreSQL instead, and in a long one on every store. */
export function describeOnStores(title: string, body: StoreSuite<"Redis" | "PostgreSQL">): void {
  if (isLongRun || !isFullRun) declareInMemory(title, body);
  if (!isFullRun) return;
  declareOnRedis(title, body, redisAvailable());
  declareOnPostgres(title, body);
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
    const open: OpenListingStore = async clock => createMemoryStore({ clock });
    body(isSlowRun ? async clock => slowed(await open(clock)) : open, "memory");
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
  const opening = async (): Promise<SharedStore> => {
    const { url } = await server();
    return new SharedStore(clock => createRedisStore({ server: url, prefix: "t:", clock }));
  };
  describe(`${title} (${on})`, { skip }, () => body(openOnProcess(on, opening), "Redis"));
}

function declareOnPostgres(title: string, body: StoreSuite<"PostgreSQL">): void {
  const skip = skipUnlessFull("on PostgreSQL") || postgresAvailable();
  const opening = async (): Promise<SharedStore> => {
    const { url } = await sharedPostgres();
    return new SharedStore(clock => createPostgresStore({ server: url, schema: freshSchema(), clock }));
  };
  describe(`${title} (PostgreSQL)`, { skip }, () => body(openOnProcess("PostgreSQL", opening), "PostgreSQL"));
}

/** Longest time on the way to a slow store, and on the way back, in ms. */
const wayMsMax = 4;

/** Lets each read and commit take some ms: a test that counts on the haste of memory fails. */
function slowed(store: Store & PartitionLister): Store & PartitionLister {
  const travelled = async <T>(call: () => Promise<T>): Promise<T> => {
    await setTimeout(Math.random() * wayMsMax);
    const answer = await call();
    await setTimeout(Math.random() * wayMsMax);
    return answer;
  };
  return {
    traits: store.traits,
    now: store.now,
    read: (partition, queries) => travelled(() => store.read(partition, queries)),
    commit: (partition, batch) => travelled(() => store.commit(partition, batch)),
    partitions: query => store.partitions(query),
    ping: () => store.ping(),
    [Symbol.asyncDispose]: async () => await store[Symbol.asyncDispose](),
  };
}

/** The store of all suites of the process on each database: to make a schema, or to connect, takes longer than most tests do. */
const shared = new Map<string, Promise<SharedStore>>();
// A connection that stays open would keep the process from ending.
after(async () => {
  for (const store of shared.values()) await (await store)[Symbol.asyncDispose]();
});

function openOnProcess(on: string, opening: () => Promise<SharedStore>): OpenListingStore {
  return async clock => {
    const store = shared.get(on) ?? opening();
    shared.set(on, store);
    return new PrefixedStore(await store, clock);
  };
}

/** A store that takes the time from the clock of each caller. */
class SharedStore implements AsyncDisposable {
  readonly store: Store & PartitionLister;
  #clock: (() => number) | null = null;
  /** Reads that are under way, all by the same clock. */
  #reads = 0;
  #readsEnd: Promise<void> = Promise.resolve();
  #endReads: () => void = () => {};

  constructor(open: (clock: () => number) => Store & PartitionLister) {
    // Without a caller, nothing has expired.
    this.store = open(() => this.#clock?.() ?? 0);
  }

  /** Reads by a clock, once the reads by other clocks have ended: a store asks for the time when it has the answer. */
  async read<T>(clock: () => number, read: () => Promise<T>): Promise<T> {
    while (this.#reads > 0 && this.#clock !== clock) await this.#readsEnd;
    if (this.#reads++ === 0) {
      this.#readsEnd = new Promise(resolve => {
        this.#endReads = resolve;
      });
    }
    this.#clock = clock;
    try {
      return await read();
    } finally {
      this.#reads -= 1;
      if (this.#reads === 0) {
        this.#clock = null;
        this.#endReads();
      }
    }
  }

  /** Commits by a clock, for whose time a store asks at once. */
  commit<T>(clock: () => number, commit: () => Promise<T>): Promise<T> {
    const others = this.#clock;
    this.#clock = clock;
    try {
      return commit();
    } finally {
      this.#clock = others;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
  }
}

/** A store that is empty at first, as all of its partitions have a name that begins with a prefix of its own. */
class PrefixedStore implements Store, PartitionLister {
  readonly traits: Traits;
  readonly now: () => number;
  readonly #shared: SharedStore;
  readonly #prefix = `${randomUUID().slice(0, 8)}:`;

  constructor(shared: SharedStore, clock: () => number) {
    this.#shared = shared;
    this.traits = shared.store.traits;
    this.now = clock;
  }

  read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    const { store } = this.#shared;
    return this.#shared.read(this.now, () => store.read(this.#prefix + partition, queries));
  }

  commit(partition: string, batch: Batch): Promise<Commit> {
    const { store } = this.#shared;
    return this.#shared.commit(this.now, () => store.commit(this.#prefix + partition, batch));
  }

  async *partitions({ prefix, record }: PartitionQuery): AsyncGenerator<readonly string[], void> {
    for await (const group of this.#shared.store.partitions({ prefix: this.#prefix + prefix, record })) {
      yield group.map(name => name.slice(this.#prefix.length));
    }
  }

  ping(): Promise<void> {
    return this.#shared.store.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
