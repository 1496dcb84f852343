/** Databases that a test has to itself, so that it can kill them, with what a deployment keeps in them. */

import {
  createPostgresLimiter,
  createPostgresQueue,
  createPostgresStore,
} from "../../adapters/postgres/mod.ts";
import { createRedisLimiter, createRedisQueue, createRedisStore } from "../../adapters/redis/mod.ts";
import type { Limiter, PartitionLister, Queue, Store } from "../../lib/storage/mod.ts";
import { skipUnlessFull } from "./full.ts";
import { PostgresProcess, postgresAvailable } from "./postgres.ts";
import { redisAvailable, startRedis } from "./redis.ts";

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
  readonly skip: string | false;
  start(): Promise<DatabaseServer>;
}

export const databases: readonly Database[] = [
  { name: "Redis", skip: redisAvailable(), start: () => startRedis({ durable: true }) },
  {
    name: "PostgreSQL",
    skip: skipUnlessFull("on PostgreSQL") || postgresAvailable(),
    start: () => PostgresProcess.start(["fsync=off"]),
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
