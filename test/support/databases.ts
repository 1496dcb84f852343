/** Databases for tests on both of them: several handles on one store, and servers that a test has to itself, so that it can kill them. */

import { randomUUID } from "node:crypto";
import {
  createPostgresLimiter,
  createPostgresQueue,
  createPostgresStore,
} from "../../adapters/postgres/mod.ts";
import { createRedisLimiter, createRedisQueue, createRedisStore } from "../../adapters/redis/mod.ts";
import type { Limiter, PartitionLister, Queue, Store } from "../../lib/storage/mod.ts";
import { skipUnlessFull } from "./full.ts";
import { freshSchema, PostgresProcess, postgresAvailable, sharedPostgres } from "./postgres.ts";
import { redisAvailable, sharedRedis, startRedis } from "./redis.ts";

/** A server, whose state outlasts its process. */
export interface DatabaseServer {
  readonly url: string;
  /** Ends the process without any chance to finish. */
  kill(): Promise<void>;
  /** Starts the process again. */
  launch(): Promise<void>;
}

interface Database {
  readonly name: "Redis" | "PostgreSQL";
  /** The setting that names it, and the flag of commands. */
  readonly setting: "GRANDSTAND_REDIS" | "GRANDSTAND_POSTGRES";
  readonly flag: "--redis" | "--postgres";
  readonly skip: string | false;
  /** Makes an empty one, which is gone with this process at the latest, and returns its URL. */
  empty(): Promise<string>;
  start(): Promise<DatabaseServer>;
  /** Opens handles on one empty store, as several processes have them. */
  handles(count: number, clock?: () => number): Promise<readonly Store[]>;
}

type Clock = { readonly clock?: () => number };
const clockOf = (clock: (() => number) | undefined): Clock => (clock === undefined ? {} : { clock });

export const databases: readonly Database[] = [
  {
    name: "Redis",
    setting: "GRANDSTAND_REDIS",
    flag: "--redis",
    skip: redisAvailable(),
    empty: async () => (await startRedis()).url,
    start: () => startRedis({ durable: true }),
    async handles(count, clock) {
      const { url: server } = await sharedRedis();
      const options = { server, prefix: `t:${randomUUID()}:`, ...clockOf(clock) };
      return Array.from({ length: count }, () => createRedisStore(options));
    },
  },
  {
    name: "PostgreSQL",
    setting: "GRANDSTAND_POSTGRES",
    flag: "--postgres",
    skip: skipUnlessFull("on PostgreSQL") || postgresAvailable(),
    async empty() {
      const server = await sharedPostgres();
      return server.urlOf("postgres", await server.freshDatabase());
    },
    start: () => PostgresProcess.start(["fsync=off"]),
    async handles(count, clock) {
      const { url: server } = await sharedPostgres();
      const options = { server, schema: freshSchema(), ...clockOf(clock) };
      return Array.from({ length: count }, () => createPostgresStore(options));
    },
  },
];

export interface Kept extends AsyncDisposable {
  readonly store: Store & PartitionLister;
  readonly queue: Queue;
  readonly limiter: Limiter;
}

/** Opens store, queue and limiter of a database. They connect with their first call. */
export function openKept(server: string): Kept {
  const at = { server };
  const kept = server.startsWith("postgres:")
    ? {
        store: createPostgresStore(at),
        queue: createPostgresQueue(at),
        limiter: createPostgresLimiter(at),
      }
    : { store: createRedisStore(at), queue: createRedisQueue(at), limiter: createRedisLimiter(at) };
  return {
    ...kept,
    async [Symbol.asyncDispose]() {
      for (const each of [kept.queue, kept.limiter, kept.store]) await each[Symbol.asyncDispose]();
    },
  };
}
