/**
 * Redemptions a second and round trips of each, in memory and on Redis, of a product with and without a limited stock.
 *
 * Run: npx tsx test/bench/redeem.ts
 */

import { randomUUID } from "node:crypto";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { buyer, fund, shopDocument } from "../lib/fans/loyalty/products/_shop.ts";
import { createTestClock } from "../support/clock.ts";
import { ids, seed, testSecret } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";

const buyers = 5_000;
const lanes = 64;
const prices = [{ currency: "points", amount: 1 }];
const fulfilment = { type: "manual" };
const products = [
  { id: "unlimited", title: "Unlimited", prices, fulfilment },
  { id: "limited", title: "Limited", prices, fulfilment, stock: { type: "limited", quantity: 1_000_000 } },
];

function counting(store: Store, count: { reads: number; commits: number }): Store {
  return {
    traits: store.traits,
    read: (partition, queries) => {
      count.reads += 1;
      return store.read(partition, queries);
    },
    commit: (partition, batch) => {
      count.commits += 1;
      return store.commit(partition, batch);
    },
    ping: () => store.ping(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function measure(name: string, bare: Store): Promise<void> {
  const clock = createTestClock();
  const count = { reads: 0, commits: 0 };
  const store = counting(bare, count);
  const document = { ...shopDocument(products), rules: [], webhooks: [] };
  await seedDirectory(store, { ...seed, loyalty: { [ids.space]: document } }, { clock: clock.now });
  const platform = await createPlatform({
    store,
    secret: testSecret,
    clock: clock.now,
    defaultSpaceId: ids.space,
  });
  for (let n = 0; n < buyers; n++) await fund(platform, buyer(n), { points: 10 });
  for (const { id: productId } of products) {
    const buy = (n: number): Promise<unknown> =>
      platform.loyalty.products.redeem(buyer(n), { key: randomUUID(), productId, quantity: 1 });
    Object.assign(count, { reads: 0, commits: 0 });
    await buy(0);
    const alone = { ...count };
    const before = performance.now();
    let next = 0;
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (let n = next++; n < buyers; n = next++) await buy(n);
      }),
    );
    const perSecond = Math.round(buyers / ((performance.now() - before) / 1_000));
    figure(
      `purchases of "${productId}", ${name}`,
      `${perSecond}/s; one alone: ${alone.reads} reads, ${alone.commits} commits`,
    );
  }
  await platform.close();
}

await measure("memory", createMemoryStore({ clock: createTestClock().now }));
const server = await startRedis();
const redis = createRedisStore({ server: server.url, prefix: "bench:", clock: createTestClock().now });
await measure("Redis", redis);
await redis[Symbol.asyncDispose]();
await server.kill();
