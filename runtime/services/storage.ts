import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Logger } from "../../lib/http/mod.ts";
import type { Blobs, Limiter, PartitionLister, Queue, Store } from "../../lib/storage/mod.ts";
import type { Config } from "../config.ts";

export interface Storage {
  readonly store: Store & PartitionLister;
  readonly limiter: Limiter;
  /** Counts in this process while `limiter` fails; null if `limiter` is in this process too. */
  readonly localLimiter: Limiter | null;
  /** Holds accepted actions, as durably as `store`. */
  readonly queue: Queue;
  readonly blobs: Blobs;
  /** Describes for people where state is kept. */
  readonly description: string;
}

/** Opens the storage that the settings name. Each adapter is loaded only if it is used. */
export async function openStorage(config: Config, logger: Logger): Promise<Storage> {
  const blobs = await openBlobs(config);
  if (config.redis !== undefined) return { ...(await openRedis(config.redis)), blobs };
  if (config.postgres !== undefined) return { ...(await openPostgres(config.postgres)), blobs };
  const memory = await import("../../adapters/memory/mod.ts");
  const clock = Date.now;
  const limiter = memory.createMemoryLimiter();
  if (config.data === undefined) {
    const description = "state in memory only: a restart forgets it";
    const queue = memory.createMemoryQueue({ clock });
    return { store: memory.createMemoryStore(), limiter, localLimiter: null, queue, blobs, description };
  }
  const store = await openFiles(config.data, config, logger);
  return {
    store,
    limiter,
    localLimiter: null,
    queue: memory.createStoreQueue({ store, clock }),
    blobs,
    description: `state in memory and in files of ${config.data}`,
  };
}

/** Tries a folder of files, whose fault would otherwise show when the first export is built. @throws {Error} It takes none. */
export async function tryFolderOfFiles({ blobs: folder }: Config, { blobs }: Storage): Promise<void> {
  if (folder === undefined || folder.includes("://")) return;
  const name = `start-${randomUUID()}`;
  try {
    await blobs.put(name, new Blob(["."]).stream());
    await blobs.remove(name);
  } catch (cause) {
    throw unusable("GRANDSTAND_BLOBS", cause);
  }
}

function unusable(variable: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot use the folder of ${variable}: ${reason}`, { cause });
}

/** Closes everything, the store last. */
export async function closeStorage({ store, limiter, localLimiter, queue, blobs }: Storage): Promise<void> {
  await blobs[Symbol.asyncDispose]();
  await queue[Symbol.asyncDispose]();
  await limiter[Symbol.asyncDispose]();
  await localLimiter?.[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
}

async function openRedis(server: string): Promise<Omit<Storage, "blobs">> {
  const { createRedisLimiter, createRedisQueue, createRedisStore } = await loadRedis();
  const { createMemoryLimiter } = await import("../../adapters/memory/mod.ts");
  return {
    store: createRedisStore({ server }),
    limiter: createRedisLimiter({ server }),
    localLimiter: createMemoryLimiter(),
    queue: createRedisQueue({ server }),
    description: "state in Redis",
  };
}

/** Loads the Redis adapter. @throws {Error} Its optional peer dependency is not installed; the message names it. */
async function loadRedis(): Promise<typeof import("../../adapters/redis/mod.ts")> {
  try {
    return await import("../../adapters/redis/mod.ts");
  } catch (cause) {
    if (!String(cause).includes("ioredis")) throw cause;
    throw new Error("Cannot use Redis without the package ioredis: run npm i ioredis", { cause });
  }
}

async function openPostgres(server: string): Promise<Omit<Storage, "blobs">> {
  const { createPostgresLimiter, createPostgresQueue, createPostgresStore } = await loadPostgres();
  const { createMemoryLimiter } = await import("../../adapters/memory/mod.ts");
  return {
    store: createPostgresStore({ server }),
    limiter: createPostgresLimiter({ server }),
    localLimiter: createMemoryLimiter(),
    queue: createPostgresQueue({ server }),
    description: "state in PostgreSQL",
  };
}

/** Loads the PostgreSQL adapter. @throws {Error} Its optional peer dependency is not installed; the message names it. */
export async function loadPostgres(): Promise<typeof import("../../adapters/postgres/mod.ts")> {
  try {
    return await import("../../adapters/postgres/mod.ts");
  } catch (cause) {
    if (!/package 'pg'|module 'pg'|"pg"/.test(String(cause))) throw cause;
    throw new Error("Cannot use PostgreSQL without the package pg: run npm i pg", { cause });
  }
}

async function openFiles(folder: string, { fsync }: Config, logger: Logger): Promise<Storage["store"]> {
  const { openFileStore } = await import("../../adapters/file/mod.ts");
  try {
    return await openFileStore(folder, {
      fsync,
      onRecover: tail => logger.log("warn", "journal_tail_cut", { bytes: tail.bytes }),
      onCompactionFailed: error => logger.log("error", "journal_compaction_failed", { error: String(error) }),
    });
  } catch (error) {
    // Errors of the system name the path alone.
    throw error instanceof Error && "syscall" in error ? unusable("GRANDSTAND_DATA", error) : error;
  }
}

/** Opens the storage of exported files: the one that the settings name, otherwise beside the state. */
export async function openBlobs({ blobs, redis, postgres, data }: Config): Promise<Blobs> {
  if (blobs?.includes("://")) {
    const { createS3Blobs, parseS3Url } = await import("../../adapters/s3/mod.ts");
    return createS3Blobs(parseS3Url(blobs));
  }
  const folder = blobs ?? (data === undefined ? undefined : join(data, "blobs"));
  if (folder !== undefined) {
    const { createFileBlobs } = await import("../../adapters/file/mod.ts");
    return createFileBlobs(folder);
  }
  if (redis !== undefined) {
    const { createRedisBlobs } = await loadRedis();
    return createRedisBlobs({ server: redis });
  }
  if (postgres !== undefined) {
    const { createPostgresBlobs } = await loadPostgres();
    return createPostgresBlobs({ server: postgres });
  }
  const { createMemoryBlobs } = await import("../../adapters/memory/mod.ts");
  return createMemoryBlobs();
}
