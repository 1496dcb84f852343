import { describe, it } from "node:test";
import { blobsConformance, limiterConformance, queueConformance } from "../../../adapters/conformance/mod.ts";
import { createMemoryBlobs } from "../../../adapters/memory/blobs.ts";
import { createMemoryLimiter } from "../../../adapters/memory/limiter.ts";
import { createMemoryQueue } from "../../../adapters/memory/queue.ts";
import { createMemoryStore } from "../../../adapters/memory/store.ts";
import { createStoreQueue } from "../../../adapters/memory/store_queue.ts";
import { createTestClock } from "../../support/clock.ts";

describe("in memory", () => {
  limiterConformance({
    describe,
    it,
    factory() {
      const clock = createTestClock();
      return { limiter: createMemoryLimiter({ clock: clock.now }), clock, dispose() {} };
    },
  });

  queueConformance({
    describe,
    it,
    factory() {
      const clock = createTestClock();
      return {
        queue: createMemoryQueue({ clock: clock.now, depthMax: 100 }),
        clock,
        depthMax: 100,
        dispose() {},
      };
    },
  });

  blobsConformance({ describe, it, factory: () => ({ blobs: createMemoryBlobs(), dispose() {} }) });
});

describe("over a store", () => {
  queueConformance({
    describe,
    it,
    factory() {
      const clock = createTestClock();
      const store = createMemoryStore({ clock: clock.now });
      const queue = createStoreQueue({ store, clock: clock.now, depthMax: 100 });
      return { queue, clock, depthMax: 100, dispose: async () => await store[Symbol.asyncDispose]() };
    },
  });
});
