/** Stores, limiters and queues on real servers for the conformance suites, each test under a prefix of its own. */
import type {
  BlobsFixture,
  LimiterFixture,
  QueueFixture,
  StoreFixture,
  TestClock,
} from "../../../adapters/conformance/mod.ts";
import {
  createRedisBlobs,
  createRedisLimiter,
  createRedisQueue,
  type RedisAdapterOptions,
} from "../../../adapters/redis/mod.ts";
import type { ScriptCacheOptions } from "../../../adapters/redis/script_cache.ts";
import { openRedisStore } from "../../../adapters/redis/store.ts";

let prefixes = 0;

/** A prefix that nothing else uses. */
export function freshPrefix(): string {
  prefixes += 1;
  return `t${process.pid}.${prefixes}:`;
}

/** A clock that moves only by `advance`. */
export function testClock(): TestClock {
  let now = 1_700_000_000_000;
  return {
    now: () => now,
    advance: ms => {
      now += ms;
    },
  };
}

/** Options with which the adapters of a suite are opened. */
export interface FactoryOptions {
  readonly clients: 1 | 2;
  /** When a store has scripts made to measure. @default for every shape that comes up */
  readonly scripts?: ScriptCacheOptions;
}

/** The factories of all suites on the server, with one client or with two that see the same data. */
export function factories(
  server: () => Promise<{ readonly url: string }>,
  { clients, scripts = { uses: 1 } }: FactoryOptions,
): {
  readonly store: () => Promise<StoreFixture>;
  readonly limiter: () => Promise<LimiterFixture>;
  readonly queue: () => Promise<QueueFixture>;
  readonly blobs: () => Promise<BlobsFixture>;
} {
  async function open<T extends AsyncDisposable>(
    create: (options: RedisAdapterOptions) => T,
  ): Promise<Opened<T>> {
    const clock = testClock();
    const options = { server: (await server()).url, prefix: freshPrefix(), clock: clock.now };
    const first = create(options);
    const second = clients === 2 ? create(options) : first;
    return { clock, first, second, dispose: () => disposeAll(new Set([first, second])) };
  }
  return {
    async store() {
      const { first, second, ...rest } = await open(each => openRedisStore(each, scripts));
      return { ...rest, store: first, peer: second };
    },
    async limiter() {
      const { first, second, ...rest } = await open(createRedisLimiter);
      return { ...rest, limiter: first, peer: second };
    },
    async queue() {
      const depthMax = 100;
      const { first, second, ...rest } = await open(options => createRedisQueue({ ...options, depthMax }));
      return { ...rest, depthMax, queue: first, peer: second };
    },
    async blobs() {
      const { first, second, dispose } = await open(createRedisBlobs);
      return { blobs: first, peer: second, dispose };
    },
  };
}

interface Opened<T> {
  readonly clock: TestClock;
  readonly first: T;
  readonly second: T;
  dispose(): Promise<void>;
}

async function disposeAll(all: Iterable<AsyncDisposable>): Promise<void> {
  for (const each of all) await each[Symbol.asyncDispose]();
}
