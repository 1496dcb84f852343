/** Stores on real servers for the conformance suite, each test under a prefix of its own. */
import type { StoreFixture, TestClock } from "../../../adapters/conformance/mod.ts";
import { createRedisStore } from "../../../adapters/redis/mod.ts";

let fixtures = 0;

/** A prefix that nothing else uses. */
export function freshPrefix(): string {
  fixtures += 1;
  return `t${process.pid}.${fixtures}:`;
}

/** A clock that moves only when told to. */
export function testClock(): TestClock {
  let now = 1_700_000_000_000;
  return {
    now: () => now,
    advance: ms => {
      now += ms;
    },
  };
}

/** Makes fixtures on the server, with one client or with two that see the same data. */
export function storeFactory(
  server: () => Promise<{ readonly url: string }>,
  { clients }: { readonly clients: 1 | 2 },
): () => Promise<StoreFixture> {
  return async () => {
    const clock = testClock();
    const options = { server: (await server()).url, prefix: freshPrefix(), clock: clock.now };
    const store = createRedisStore(options);
    const peer = clients === 2 ? createRedisStore(options) : store;
    return {
      clock,
      store,
      peer,
      dispose: async () => {
        await store[Symbol.asyncDispose]();
        if (peer !== store) await peer[Symbol.asyncDispose]();
      },
    };
  };
}
