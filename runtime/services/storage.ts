import { randomUUID } from "node:crypto";
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Logger } from "../../lib/http/mod.ts";
import type { Blobs, Limiter, OwnStorage, PartitionLister, Queue, Store } from "../../lib/storage/mod.ts";
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
  /** Runs after everything is closed. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Tells whether the settings name a store that outlasts the process. */
export function hasStore({ redis, postgres, store, data }: Config): boolean {
  return (redis ?? postgres ?? store ?? data) !== undefined;
}

/** Opens the storage that the settings name. Each adapter is loaded only if it is used. */
export async function openStorage(config: Config, logger: Logger): Promise<Storage> {
  const storage = await openState(config, logger);
  if (config.limiter === undefined) return storage;
  // Nothing is connected before the first call.
  await storage.limiter[Symbol.asyncDispose]();
  return { ...storage, ...(await openLimiter(config.limiter)) };
}

async function openLimiter(limiter: string): Promise<Pick<Storage, "limiter" | "localLimiter">> {
  const { createMemoryLimiter } = await import("../../adapters/memory/mod.ts");
  if (limiter === "memory") return { limiter: createMemoryLimiter(), localLimiter: null };
  const { createRedisLimiter } = await loadRedis();
  return { limiter: createRedisLimiter({ server: limiter }), localLimiter: createMemoryLimiter() };
}

async function openState(config: Config, logger: Logger): Promise<Storage> {
  if (config.store !== undefined) return await openOwn(config.store, config);
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
    throw unusable("the folder of GRANDSTAND_BLOBS", cause);
  }
}

function unusable(what: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot use ${what}: ${reason}`, { cause });
}

/** Closes everything, the store last. */
export async function closeStorage(storage: Storage): Promise<void> {
  const { store, limiter, localLimiter, queue, blobs, close } = storage;
  await Promise.all([blobs, queue, limiter, localLimiter].map(part => part?.[Symbol.asyncDispose]()));
  await store[Symbol.asyncDispose]();
  await close?.();
}

const ownMethods = {
  store: ["read", "commit", "ping", "partitions"],
  queue: ["push", "take", "ack", "release", "depth", "oldest"],
  limiter: ["take", "reset"],
  blobs: ["put", "get", "remove"],
} as const;

/** Opens the storage that a module of the deployment makes. @throws {Error} The module cannot be used; the message says why. */
async function openOwn(file: string, config: Config): Promise<Storage> {
  const own = await makeOwn(file);
  const needsQueue = config.workers === "off" || config.exports === "off";
  if (needsQueue && own.queue === undefined) {
    await own.store[Symbol.asyncDispose]();
    await own.close?.();
    throw unusable(ownVariable, "without a queue no worker can share the store: return one beside it");
  }
  const { createMemoryLimiter, createStoreQueue } = await import("../../adapters/memory/mod.ts");
  const { store } = own;
  return {
    store,
    limiter: own.limiter ?? createMemoryLimiter(),
    localLimiter: own.limiter === undefined ? null : createMemoryLimiter(),
    queue: own.queue ?? createStoreQueue({ store, clock: () => store.now?.() ?? Date.now() }),
    blobs: config.blobs === undefined && own.blobs !== undefined ? own.blobs : await openBlobs(config),
    description: `state in the store of ${file}`,
    close: () => own.close?.() ?? Promise.resolve(),
  };
}

const ownVariable = "the module of GRANDSTAND_STORE";

async function makeOwn(file: string): Promise<OwnStorage> {
  const path = resolve(file);
  let made: unknown;
  try {
    await access(path);
    const { default: make }: { readonly default?: unknown } = await import(pathToFileURL(path).href);
    if (typeof make !== "function") throw new TypeError("its default export must be a function");
    made = await make();
  } catch (cause) {
    throw unusable(ownVariable, cause);
  }
  const fault = faultOfOwn(made);
  if (fault !== undefined) throw unusable(ownVariable, `its function must return { store }: ${fault}`);
  return made as OwnStorage;
}

function faultOfOwn(made: unknown): string | undefined {
  if (typeof made !== "object" || made === null) return `it returned ${made === null ? "null" : typeof made}`;
  for (const [part, methods] of Object.entries(ownMethods)) {
    const found: unknown = Reflect.get(made, part);
    if (found === undefined && part !== "store") continue;
    if (typeof found !== "object" || found === null) return `${part} is no object`;
    const missing = [...methods, Symbol.asyncDispose].find(
      method => typeof Reflect.get(found, method) !== "function",
    );
    if (missing !== undefined) return `${part} has no method ${String(missing)}`;
  }
  const { traits } = Reflect.get(made, "store");
  return typeof traits?.maxWrites === "number" ? undefined : "store has no traits";
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
    throw error instanceof Error && "syscall" in error
      ? unusable("the folder of GRANDSTAND_DATA", error)
      : error;
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
