/**
 * Adapters on a real server for the conformance suites. The tests of a file share two clients, as each new connection would compile
 * all functions anew, and a schema that is empty before each test.
 */
import { after } from "node:test";
import { Client } from "pg";
import type {
  BlobsFixture,
  LimiterFixture,
  QueueFixture,
  StoreFixture,
  TestClock,
} from "../../../adapters/conformance/mod.ts";
import {
  createPostgresBlobs,
  createPostgresLimiter,
  createPostgresQueue,
  createPostgresStore,
  type PostgresAdapterOptions,
} from "../../../adapters/postgres/mod.ts";
import { freshSchema, sharedPostgres } from "../../support/postgres.ts";

const start = 1_700_000_000_000;

interface Opened<T> {
  readonly clock: TestClock;
  readonly first: T;
  readonly second: T;
  dispose(): void;
}

/** Returns a function that empties the schema and returns the two clients of it, which it opens the first time. */
function opener<T extends AsyncDisposable>(
  create: (options: PostgresAdapterOptions) => T,
): () => Promise<Opened<T>> {
  const schema = freshSchema();
  let now = start;
  let clients: readonly [T, T] | undefined;
  let admin: Client | undefined;
  after(async () => {
    for (const client of clients ?? []) await client[Symbol.asyncDispose]();
    await admin?.end();
  });
  return async () => {
    const server = await sharedPostgres();
    if (clients === undefined) {
      const options = { server: server.url, schema, clock: () => now };
      clients = [create(options), create(options)];
      admin = new Client(server.url);
      await admin.connect();
    } else {
      const tables = await admin?.query("select tablename from pg_tables where schemaname = $1", [schema]);
      const names = tables?.rows.map(({ tablename }) => `${schema}.${tablename}`) ?? [];
      await admin?.query(names.map(name => `delete from ${name}`).join("; "));
    }
    now = start;
    const advance = (ms: number): void => {
      now += ms;
    };
    const [first, second] = clients;
    return { clock: { now: () => now, advance }, first, second, dispose: () => {} };
  };
}

/** The factories of all suites, with two clients that see the same data. */
export function factories(): {
  readonly store: () => Promise<StoreFixture>;
  readonly limiter: () => Promise<LimiterFixture>;
  readonly queue: () => Promise<QueueFixture>;
  readonly blobs: () => Promise<BlobsFixture>;
} {
  const openStore = opener(createPostgresStore);
  const openLimiter = opener(createPostgresLimiter);
  const depthMax = 100;
  const openQueue = opener(options => createPostgresQueue({ ...options, depthMax }));
  const openBlobs = opener(createPostgresBlobs);
  return {
    async store() {
      const { first, second, ...rest } = await openStore();
      return { ...rest, store: first, peer: second };
    },
    async limiter() {
      const { first, second, ...rest } = await openLimiter();
      return { ...rest, limiter: first, peer: second };
    },
    async queue() {
      const { first, second, ...rest } = await openQueue();
      return { ...rest, depthMax, queue: first, peer: second };
    },
    async blobs() {
      const { first, second, dispose } = await openBlobs();
      return { blobs: first, peer: second, dispose };
    },
  };
}
