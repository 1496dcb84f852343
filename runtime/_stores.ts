import type { Logger } from "../lib/http/mod.ts";
import type { Blobs, Limiter, PartitionLister, Queue, Store } from "../lib/storage/mod.ts";
import { openBlobs } from "./_blobs.ts";
import type { Config } from "./config.ts";

/** What state lives in. */
export interface Storage {
  readonly store: Store & PartitionLister;
  readonly limiter: Limiter;
  /** Counts in this process while `limiter` does not answer; null where that one is in this process as well. */
  readonly localLimiter: Limiter | null;
  /** Where accepted actions wait: what `store` keeps over a restart, it keeps as well. */
  readonly queue: Queue;
  /** Where exported files are. */
  readonly blobs: Blobs;
  /** What is kept where, for people. */
  readonly description: string;
}

/** Opens what the settings name; each adapter is loaded only where it is used. */
export async function openStorage(config: Config, logger: Logger): Promise<Storage> {
  const blobs = await openBlobs(config);
  if (config.redis !== undefined) return { ...(await openRedis(config.redis)), blobs };
  const memory = await import("../adapters/memory/mod.ts");
  const clock = Date.now;
  const limiter = memory.createMemoryLimiter({ clock });
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

/** Lets go of everything, the store last. */
export async function closeStorage({ store, limiter, localLimiter, queue, blobs }: Storage): Promise<void> {
  await blobs[Symbol.asyncDispose]();
  await queue[Symbol.asyncDispose]();
  await limiter[Symbol.asyncDispose]();
  await localLimiter?.[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
}

async function openRedis(server: string): Promise<Omit<Storage, "blobs">> {
  const { createRedisLimiter, createRedisQueue, createRedisStore } = await import("../adapters/redis/mod.ts");
  const { createMemoryLimiter } = await import("../adapters/memory/mod.ts");
  return {
    store: createRedisStore({ server }),
    limiter: createRedisLimiter({ server }),
    localLimiter: createMemoryLimiter({ clock: Date.now }),
    queue: createRedisQueue({ server }),
    description: "state in Redis",
  };
}

async function openFiles(folder: string, { fsync }: Config, logger: Logger): Promise<Storage["store"]> {
  const { openFileStore } = await import("../adapters/file/mod.ts");
  return await openFileStore(folder, {
    ...(fsync === undefined ? {} : { fsync }),
    onRecover: tail => logger.log("warn", "journal_tail_cut", { bytes: tail.bytes }),
    onCompactionFailed: error => logger.log("error", "journal_compaction_failed", { error: String(error) }),
  });
}
