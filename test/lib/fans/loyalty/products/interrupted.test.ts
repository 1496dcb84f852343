/**
 * A purchase whose process dies at any step, of a product of which there is one: at no instant is more promised than there is, and
 * the next look finishes it.
 */

import assert from "node:assert/strict";
import { it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { redemptionId } from "../../../../../lib/fans/loyalty/products/redemptions.ts";
import type { Platform } from "../../../../../lib/mod.ts";
import { createDyingStore, type Death, moments } from "../../../../support/dying_store.ts";
import type { Processes } from "../../../../support/processes.ts";
import { describeOnStores } from "../../../../support/stores.ts";
import { buyer, drinks, fund, openShop, products, shopDocument } from "./_shop.ts";

const [first, second] = [buyer(1), buyer(2)];
const order = { key: "one", quantity: 1 } as const;
const stock = { type: "limited", quantity: 1 };
const interruptedMs = 10_000;

const shelves = {
  parcel: { ...products.scarf, id: "scarf", stock },
  code: { ...products.drink, id: "drink", prices: products.scarf?.prices, stock },
} as const;
type Kind = keyof typeof shelves;

/** Returns true where a look at the redemption shows its user as the owner, or as who will be. */
async function isPromised(platform: Platform, user: typeof first): Promise<boolean> {
  try {
    const { status } = await platform.loyalty.products.find(user, redemptionId(user, order.key));
    return status === "pending" || status === "completed";
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === "not_found", String(error));
    return false;
  }
}

async function buys(platform: Platform, user: typeof first, productId: string): Promise<boolean> {
  try {
    await platform.loyalty.products.redeem(user, { ...order, productId });
    return true;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === "out_of_stock", String(error));
    return false;
  }
}

/** Lets the first buyer's process die; null where the purchase was over before. */
async function interrupt(shop: Processes, death: Death, productId: string): Promise<Platform | null> {
  const calm = await shop.process();
  await calm.loyalty.codePools.add(drinks, ["CODE-1"]);
  for (const user of [first, second]) await fund(calm, user, { points: 10 });
  const store = createDyingStore(shop.store);
  const dying = await shop.process(store);
  // Caches of the configuration are warm, as in a process that has served others.
  await dying.loyalty.products.list(second);
  store.dieAt(death);
  await dying.loyalty.products.redeem(first, { ...order, productId }).catch(() => {});
  await dying.idle().catch(() => {});
  return store.isDead ? calm : null;
}

async function pointsOf(platform: Platform, user: typeof first): Promise<number | undefined> {
  return (await platform.loyalty.profile(user)).metrics.points;
}

describeOnStores("a purchase whose process dies at any step", open => {
  for (const kind of Object.keys(shelves) as Kind[]) {
    for (const looksFirst of [true, false]) {
      it(`promises one ${kind} to one buyer, ${looksFirst ? "who looks" : "while another buys"} next`, async () => {
        const { id: productId } = shelves[kind];
        let deaths = 0;
        for (let at = 0, isOver = false; !isOver; at++) {
          for (const when of moments) {
            await using shop = await openShop(open, shopDocument([shelves[kind]]));
            const platform = await interrupt(shop, { at, when }, productId);
            isOver = platform === null;
            if (platform === null) break;
            deaths += 1;
            const seen = looksFirst && (await isPromised(platform, first));
            const isSold = await buys(platform, second, productId);
            const promised = [await isPromised(platform, first), await isPromised(platform, second)];
            assert.deepEqual(promised, [promised[0], isSold]);
            assert.ok(promised.filter(Boolean).length <= 1, `${kind}, ${when} ${at}: both have it`);
            if (looksFirst) assert.equal(promised[0], seen, "a promise is kept");
            for (const [index, user] of [first, second].entries()) {
              const left = promised[index] ? 0 : 10;
              assert.equal(await pointsOf(platform, user), left, `${kind}, ${when} ${at}`);
            }
          }
        }
        assert.ok(deaths >= 3, `only ${deaths} steps`);
      });
    }
  }

  it("is finished by the next look at the balance or the history, without a sweep", async () => {
    for (const look of ["profile", "history"] as const) {
      // The price is paid, and nothing of the stock is taken yet.
      await using shop = await openShop(open, shopDocument([shelves.parcel]));
      let paid: Platform | null = null;
      for (let at = 0; paid === null; at++) {
        await using tried = await openShop(open, shopDocument([shelves.parcel]));
        const platform = await interrupt(tried, { at, when: "after" }, "scarf");
        assert.ok(platform !== null, "no death leaves the price paid");
        if ((await pointsOf(platform, first)) === 0)
          paid = await interrupt(shop, { at, when: "after" }, "scarf");
      }
      assert.equal(await buys(paid, second, "scarf"), true);
      assert.equal(await pointsOf(paid, first), 0);
      shop.clock.advance(interruptedMs);
      if (look === "profile") assert.equal(await pointsOf(paid, first), 10);
      const types = (await paid.loyalty.history(first, {})).map(({ type }) => type);
      assert.deepEqual(types.slice(1), ["redeemed", "redemptionRejected"]);
    }
  });
});
