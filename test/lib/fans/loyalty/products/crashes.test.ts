/**
 * Buyers who outnumber what there is, while the processes that serve them die between any two steps: in the end everything that was
 * there is sold once, and nobody has paid for nothing.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../../adapters/conformance/random.ts";
import { createRedisStore } from "../../../../../adapters/redis/mod.ts";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { registrationMs } from "../../../../../lib/fans/loyalty/due_users.ts";
import type { Platform } from "../../../../../lib/mod.ts";
import { createDyingStore, type DyingStore } from "../../../../support/dying_store.ts";
import { sampleSize } from "../../../../support/full.ts";
import { ids } from "../../../../support/platform.ts";
import type { Processes } from "../../../../support/processes.ts";
import { redisAvailable, sharedCluster } from "../../../../support/redis.ts";
import { describeOnStores, type OpenStore } from "../../../../support/stores.ts";
import { buyer, fund, openShop, shopDocument } from "./_shop.ts";

const buyersCount = sampleSize(500, 200);
const itemsCount = 50;
const processesCount = 4;
/** Buyers who are served at a time: with all of them at once a process would die before it has served anybody. */
const lanesCount = 64;
const price = 7;
const budget = 20;
/** Most attempts of a patient buyer; one of three gives up at the first failure. */
const triesMax = 200;

const scarce = {
  id: "scarf",
  title: "Scarf",
  prices: [{ currency: "points", amount: price }],
  stock: { type: "limited", quantity: itemsCount },
  limits: { perUser: 1 },
};
const kinds = {
  item: { type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" },
  code: { type: "coupon", couponId: "drink" },
  parcel: { type: "manual" },
} as const;
type Kind = keyof typeof kinds;

/** A process that may be dead. */
interface Process {
  readonly platform: Platform;
  readonly store: DyingStore;
}

async function startProcess(shop: Processes, random: Random): Promise<Process> {
  const store = createDyingStore(shop.store);
  const platform = await shop.process(store);
  const when = random.integer(2) === 0 ? "before" : "after";
  store.dieAt({ at: 50 + random.integer(350), when });
  return { platform, store };
}

/** Lets everybody buy at once. A buyer whose process died tries elsewhere, or gives up for good. */
async function rush(
  shop: Processes,
  random: Random,
): Promise<{ readonly sold: Set<number>; readonly deaths: number }> {
  const processes = Array.from({ length: processesCount }, () => startProcess(shop, random));
  const sold = new Set<number>();
  let deaths = 0;
  async function attempt(n: number, slot: number): Promise<boolean> {
    const place = slot % processesCount;
    const starting = processes[place];
    assert.ok(starting !== undefined);
    const process = await starting;
    try {
      const order = { key: "rush", productId: "scarf", quantity: 1 };
      await process.platform.loyalty.products.redeem(buyer(n), order);
      sold.add(n);
      return true;
    } catch (error) {
      assert.ok(error instanceof AppError);
      if (["out_of_stock", "limit_reached"].includes(error.code)) return true;
      assert.equal(error.code, "storage_unavailable");
      if (processes[place] === starting) {
        deaths += 1;
        processes[place] = startProcess(shop, random);
      }
      return false;
    }
  }
  const patience = Array.from({ length: buyersCount }, () => (random.integer(3) === 0 ? 0 : triesMax));
  const waiting = patience.map((tries, n) => ({ tries, n }));
  async function lane(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { tries, n } = next;
      for (let slot = n; slot <= n + tries; slot++) if (await attempt(n, slot)) break;
    }
  }
  await Promise.all(Array.from({ length: lanesCount }, lane));
  for (const { platform } of await Promise.all(processes)) await platform.idle().catch(() => {});
  return { sold, deaths };
}

/** Sweeps once all registrations are over; afterwards nothing is due. */
async function settleAll({ clock }: Processes, platform: Platform): Promise<void> {
  clock.advance(registrationMs);
  await platform.work();
  await platform.idle();
  assert.equal((await platform.loyalty.sweep()).processed, 0);
}

async function assertReconciled(
  platform: Platform,
  kind: Kind,
  answered: ReadonlySet<number>,
): Promise<number> {
  const codes = new Set<string>();
  let sold = 0;
  for (let n = 0; n < buyersCount; n++) {
    const member = buyer(n);
    const history = await platform.loyalty.history(member, {});
    const types = history.map(({ type }) => type);
    const of = (wanted: string): number => types.filter(type => type === wanted).length;
    const [paid, given, rejected] = [of("redeemed"), of("redemptionConfirmed"), of("redemptionRejected")];
    assert.equal(paid, given + rejected, `buyer ${n} paid ${paid} times`);
    assert.ok(given <= 1 && paid <= 1, `buyer ${n} has ${given}`);
    if (answered.has(n)) assert.equal(given, 1, `buyer ${n} was told to have it`);
    const { metrics, inventory } = await platform.loyalty.profile(member);
    assert.equal(metrics.points, budget - given * price, `buyer ${n}`);
    assert.deepEqual(inventory.badges, kind === "item" && given === 1 ? ["oracle"] : []);
    if (kind === "code" && given === 1) {
      codes.add((await platform.loyalty.coupon(member, "drink")).coupon_code);
    }
    const { ok } = await platform.loyalty.reconcile(member);
    const { differences } = await platform.loyalty.replay(member);
    assert.deepEqual([ok, differences], [true, []], `buyer ${n}`);
    sold += given;
  }
  if (kind === "code") assert.equal(codes.size, sold, "nobody has the code of another");
  assert.ok(!codes.has(""));
  return sold;
}

function rushes(open: OpenStore, kind: Kind, seeds: readonly number[]): void {
  for (const seed of seeds) {
    it(`sells each ${kind} once, seed ${seed}`, async t => {
      const product = { ...scarce, fulfilment: kinds[kind] };
      await using shop = await openShop(open, shopDocument([product]));
      const calm = await shop.process();
      const pool = { organisationId: ids.organisation, spaceId: ids.space, poolId: "drinks" };
      await calm.loyalty.codePools.add(
        pool,
        Array.from({ length: itemsCount }, (_, n) => `CODE-${n}`),
      );
      await Promise.all(
        Array.from({ length: buyersCount }, (_, n) => fund(calm, buyer(n), { points: budget })),
      );
      const random = createRandom(seed);
      const { sold: answered, deaths } = await rush(shop, random);
      const platform = await shop.process();
      await settleAll(shop, platform);
      const sold = await assertReconciled(platform, kind, answered);
      t.diagnostic(`${deaths} processes died, ${answered.size} buyers were told, ${sold} have it`);
      assert.ok(deaths >= 3, "processes must die for this to prove anything");
      assert.equal(sold, itemsCount);
      const listed = await platform.loyalty.products.list(buyer(0));
      assert.deepEqual(listed, []);
    });
  }
}

describeOnStores("buyers of 50 things on processes that die", (open, on) => {
  const seeds = on === "memory" ? [1, 2].slice(0, sampleSize(2, 1)) : [4];
  for (const kind of ["item", "code", "parcel"] as const) rushes(open, kind, seeds);
});

describe("buyers of 50 things on processes that die (Redis Cluster)", { skip: redisAvailable() }, () => {
  rushes(
    async clock => {
      const cluster = await sharedCluster();
      return createRedisStore({ server: cluster.url, prefix: `t:${randomUUID()}:`, clock });
    },
    "code",
    [7],
  );
});
