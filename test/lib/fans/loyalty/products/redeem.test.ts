import assert from "node:assert/strict";
import { it } from "node:test";
import { redemptionId } from "../../../../../lib/fans/loyalty/products/redemptions.ts";
import type { Platform } from "../../../../../lib/mod.ts";
import type { Partition, Read, Results } from "../../../../../lib/storage/mod.ts";
import { createDyingStore } from "../../../../support/dying_store.ts";
import { describeOnEveryStore, describeOnStores } from "../../../../support/stores.ts";
import { WatchedStore } from "../../../../support/watched_store.ts";
import {
  assertProved,
  balance,
  buyer,
  drinks,
  fan,
  fund,
  openShop,
  products,
  shopDocument,
  typesOf,
  withCode,
} from "./_shop.ts";

const stockFreshMs = 1_000;

const dayMs = 86_400_000;

/** Answers reads of what redemptions hold two at a time, `meetings` times. */
class MeetingStore extends WatchedStore {
  meetings = 0;
  #first: (() => void) | null = null;

  override async read<const Q extends readonly Read[]>(
    partition: Partition,
    queries: Q,
  ): Promise<Results<Q>> {
    const results = await super.read(partition, queries);
    if (this.meetings === 0 || !queries.some(({ key }) => key.startsWith("claims"))) return results;
    if (this.#first !== null) {
      this.meetings--;
      this.#first();
    } else await new Promise<void>(resolve => (this.#first = resolve));
    return results;
  }
}

describeOnEveryStore("redeeming a product", open => {
  it("checks its condition when it takes the price: a tier that is lost before the rest changes nothing", async () => {
    const document = {
      ...shopDocument([{ ...products.scarf, when: { eq: [{ var: "user.milestones.tier" }, "gold"] } }]),
      milestones: [
        {
          id: "tier",
          title: "",
          metricId: "coins",
          requalify: { after: { hours: 1 } },
          milestones: [{ id: "gold", title: "", threshold: 2 }],
        },
      ],
    };
    let interrupted = 0;
    for (let at = 0; at < 10; at++) {
      await using shop = await openShop(open, document);
      const calm = await shop.process();
      await fund(calm, fan, { points: 20, coins: 2 });
      const store = createDyingStore(shop.store);
      const dying = await shop.process(store);
      await dying.loyalty.products.list(buyer(2));
      store.dieAt({ at, when: "after" });
      const order = { key: "one", productId: "scarf", quantity: 1 };
      await dying.loyalty.products.redeem(fan, order).catch(() => {});
      await dying.idle().catch(() => {});
      const types = await typesOf(calm);
      const isPaid = types.includes("redeemed") && !types.includes("redemptionConfirmed");
      await calm.loyalty.adjust(fan, { changes: [{ metricId: "coins", op: "set", value: 0 }], reason: "" });
      shop.clock.advance(2 * 3_600_000);
      const again = calm.loyalty.products.redeem(fan, { ...order, key: "two" });
      await assert.rejects(again, withCode("not_available"));
      if (!isPaid) continue;
      interrupted += 1;
      const { status, balances } = await calm.loyalty.products.find(fan, redemptionId(fan, "one"));
      assert.deepEqual([status, balances.points], ["pending", 10]);
      await assertProved(calm);
    }
    assert.ok(interrupted > 0);
  });

  it("takes the price and gives an item at once where stock is unlimited", async () => {
    await using shop = await openShop(open);
    const platform = await shop.process();
    await fund(platform, fan, { points: 10 });
    const order = { key: "a", productId: "badge", quantity: 1, currency: "points" };
    const redemption = await platform.loyalty.products.redeem(fan, order);
    assert.deepEqual(
      { ...redemption, id: null, transactionId: null, createdAt: null, changedAt: null },
      {
        id: null,
        productId: "badge",
        quantity: 1,
        cost: { currency: "points", amount: 4 },
        status: "completed",
        fault: null,
        transactionId: null,
        fulfilment: { type: "inventory", coupon: null, items: [{ setId: "badges", itemId: "oracle" }] },
        balances: { points: 6, coins: 0 },
        metadata: {},
        createdAt: null,
        changedAt: null,
      },
    );
    const history = await platform.loyalty.history(fan, {});
    assert.deepEqual(
      history.map(({ type }) => type),
      ["rewardGranted", "redeemed", "redemptionConfirmed"],
    );
    assert.equal(redemption.transactionId, history[1]?.id);
    assert.equal(history[1]?.payload.redemptionId, redemption.id);
    assert.deepEqual((await platform.loyalty.profile(fan)).inventory.badges, ["oracle"]);
    await assertProved(platform);
  });

  it("answers a repeated order with the same redemption, whichever process is asked", async () => {
    await using shop = await openShop(open);
    const [one, other] = [await shop.process(), await shop.process()];
    await fund(one, fan, { points: 100 });
    for (const productId of ["badge", "scarf"]) {
      const order = { key: `key of ${productId}`, productId, quantity: 1, currency: "points" };
      const first = await one.loyalty.products.redeem(fan, order);
      assert.deepEqual(await other.loyalty.products.redeem(fan, order), first);
      assert.deepEqual(await one.loyalty.products.redeem(fan, order), first);
      assert.deepEqual(await one.loyalty.products.find(fan, first.id), first);
      const another = { ...order, productId: "poster" };
      await assert.rejects(one.loyalty.products.redeem(fan, another), withCode("conflict"));
    }
    assert.equal(await balance(other), 86);
    await assertProved(other);
  });

  it("gives parallel buyers of a limited product no more than there is, and the others their points back", async () => {
    await using shop = await openShop(open);
    const [one, other] = [await shop.process(), await shop.process()];
    const buyers = Array.from({ length: 12 }, (_, n) => buyer(n));
    for (const member of buyers) await fund(one, member, { points: 25 });
    const bought = await Promise.allSettled(
      buyers.map((member, n) =>
        (n % 2 === 0 ? one : other).loyalty.products.redeem(member, {
          key: "k",
          productId: "scarf",
          quantity: 1,
        }),
      ),
    );
    assert.equal(bought.filter(({ status }) => status === "fulfilled").length, 5);
    for (const result of bought)
      if (result.status === "rejected") assert.ok(withCode("out_of_stock")(result.reason));
    for (const [n, member] of buyers.entries()) {
      assert.equal(await balance(one, member), bought[n]?.status === "fulfilled" ? 15 : 25);
      await assertProved(one, member);
    }
    shop.clock.advance(stockFreshMs);
    const listed = await one.loyalty.products.list(fan);
    assert.ok(listed.every(({ id }) => id !== "scarf"));
  });

  it("gives back to the lots that the price came from", async () => {
    const scarce = { ...products.scarf, stock: { type: "limited", quantity: 1 } };
    await using shop = await openShop(open, shopDocument([scarce]));
    const [platform, other] = [await shop.process(), await shop.process()];
    await fund(other, buyer(2), { points: 10 });
    await other.loyalty.products.redeem(buyer(2), { key: "k", productId: "scarf", quantity: 1 });
    await fund(platform, fan, { points: 6 });
    shop.clock.advance(10 * dayMs);
    await fund(platform, fan, { points: 6 });
    const order = { key: "k", productId: "scarf", quantity: 1 };
    await assert.rejects(platform.loyalty.products.redeem(fan, order), withCode("out_of_stock"));
    await assert.rejects(platform.loyalty.products.redeem(fan, order), withCode("out_of_stock"));
    assert.deepEqual((await typesOf(platform)).slice(2), ["redeemed", "redemptionRejected"]);
    await assertProved(platform);
    shop.clock.advance(20 * dayMs);
    assert.equal(await balance(platform), 6, "the first lot expires when it would have");
    shop.clock.advance(10 * dayMs);
    assert.equal(await balance(platform), 0);
  });

  it("refuses who knows that a product is sold out without taking anything", async () => {
    const scarce = { ...products.scarf, stock: { type: "limited", quantity: 1 } };
    await using shop = await openShop(open, shopDocument([scarce]));
    const platform = await shop.process();
    for (const n of [1, 2]) await fund(platform, buyer(n), { points: 50 });
    await platform.loyalty.products.redeem(buyer(1), { key: "k", productId: "scarf", quantity: 1 });
    const order = { key: "k", productId: "scarf", quantity: 1 };
    await assert.rejects(platform.loyalty.products.redeem(buyer(2), order), withCode("out_of_stock"));
    assert.deepEqual(await typesOf(platform, buyer(2)), ["rewardGranted"]);
  });

  it("holds users to their limit, which a refund makes room in", async () => {
    await using shop = await openShop(open);
    const platform = await shop.process();
    await fund(platform, fan, { points: 20 });
    const buy = (key: string, quantity = 1): ReturnType<typeof platform.loyalty.products.redeem> =>
      platform.loyalty.products.redeem(fan, { key, productId: "poster", quantity });
    await buy("a", 2);
    await assert.rejects(buy("b", 2), withCode("limit_reached"));
    const { id } = await buy("c");
    await assert.rejects(buy("d"), withCode("limit_reached"));
    await platform.loyalty.products.refund(fan, id, { restocks: true });
    await buy("e");
    await assert.rejects(buy("f"), withCode("limit_reached"));
    shop.clock.advance(dayMs);
    await buy("g", 3);
    await assertProved(platform);
  });

  it("refuses what is not there, not available, not payable or not one price", async () => {
    const from = 1_900_000_000;
    const parts = [
      products.badge,
      { ...products.scarf, id: "off", enabled: false },
      { ...products.scarf, id: "later", availableFrom: from },
      { ...products.scarf, id: "over", availableTo: 1_600_000_000 },
    ].map(part => part ?? {});
    await using shop = await openShop(open, shopDocument(parts));
    const platform = await shop.process();
    await fund(platform, fan, { points: 3 });
    const buy = (productId: string, more: object = {}): Promise<unknown> =>
      platform.loyalty.products.redeem(fan, { key: productId, productId, quantity: 1, ...more });
    await assert.rejects(buy("unknown"), withCode("not_found"));
    for (const id of ["off", "later", "over"]) await assert.rejects(buy(id), withCode("not_available"));
    await assert.rejects(buy("badge", { currency: "points" }), withCode("insufficient_balance"));
    await assert.rejects(buy("badge"), withCode("validation_failed"));
    await assert.rejects(buy("badge", { currency: "energy" }), withCode("validation_failed"));
    await assert.rejects(buy("badge", { currency: "points", quantity: 2 }), withCode("validation_failed"));
    await fund(platform, fan, { points: 10 });
    await buy("badge", { currency: "points" });
    await assert.rejects(buy("badge", { key: "again", currency: "points" }), withCode("limit_reached"));
    shop.clock.advance(from * 1_000 - shop.clock.now());
    await fund(platform, fan, { points: 10 });
    await buy("later");
  });

  it("lets rules look at what a redemption changed once the product is given", async () => {
    await using shop = await openShop(open);
    const platform = await shop.process();
    await fund(platform, fan, { points: 10 });
    const { balances } = await platform.loyalty.products.redeem(fan, {
      key: "k",
      productId: "scarf",
      quantity: 1,
    });
    assert.deepEqual(balances, { points: 0, coins: 1 });
    assert.deepEqual((await typesOf(platform)).slice(1), [
      "redeemed",
      "redemptionConfirmed",
      "actionRewarded",
    ]);
    await assertProved(platform);
  });
});

describeOnStores("the catalogue", open => {
  it("says what is left, whether the user may have it, and why not", async () => {
    await using shop = await openShop(open);
    const platform = await shop.process();
    await platform.loyalty.codePools.add(drinks, ["RED", "GREEN"]);
    await fund(platform, fan, { points: 9, coins: 2 });
    await platform.loyalty.products.redeem(fan, {
      key: "k",
      productId: "badge",
      quantity: 1,
      currency: "coins",
    });
    const listed = await platform.loyalty.products.list(fan);
    const brief = listed.map(({ id, stock, canRedeem, reasons }) => ({ id, stock, canRedeem, reasons }));
    assert.deepEqual(brief, [
      {
        id: "scarf",
        stock: { type: "limited", available: 5 },
        canRedeem: false,
        reasons: ["insufficient_balance"],
      },
      { id: "badge", stock: { type: "unlimited" }, canRedeem: false, reasons: ["limit_reached"] },
      { id: "drink", stock: { type: "limited", available: 2 }, canRedeem: true, reasons: [] },
      { id: "poster", stock: { type: "unlimited" }, canRedeem: true, reasons: [] },
    ]);
  });
});

describeOnStores("operators", open => {
  it("hand products over once, and report each to webhooks", async () => {
    await using shop = await openShop(open);
    const platform = await shop.process();
    await fund(platform, fan, { points: 10 });
    const metadata = { size: "L" };
    const order = { key: "k", productId: "poster", quantity: 2, metadata };
    const { id, status } = await platform.loyalty.products.redeem(fan, order);
    assert.equal(status, "pending");
    await platform.idle();
    const [delivered, ...others] = [...shop.delivered.values()];
    assert.deepEqual(others, []);
    const about = { redemptionId: id, productId: "poster", quantity: 2, metadata };
    assert.ok(delivered !== undefined);
    const { payload } = (delivered.data as { readonly transaction: { readonly payload: object } })
      .transaction;
    assert.deepEqual({ ...payload, ...about }, payload);
    const done = await platform.loyalty.products.complete(fan, id);
    assert.equal(done.status, "completed");
    assert.deepEqual(await platform.loyalty.products.complete(fan, id), done);
    assert.deepEqual((await typesOf(platform)).slice(1), [
      "redeemed",
      "redemptionConfirmed",
      "redemptionCompleted",
    ]);
    await assert.rejects(platform.loyalty.products.complete(fan, "red_unknown"), withCode("not_found"));
    await assertProved(platform);
  });

  it("refund once: price, item and stock come back", async () => {
    await using shop = await openShop(open);
    const [platform, other] = [await shop.process(), await shop.process()];
    await fund(platform, fan, { points: 14 });
    const { products: sold } = platform.loyalty;
    const badge = await sold.redeem(fan, { key: "a", productId: "badge", quantity: 1, currency: "points" });
    const scarf = await sold.redeem(fan, { key: "b", productId: "scarf", quantity: 1 });
    const [first, second] = await Promise.all([
      sold.refund(fan, scarf.id, { restocks: true }),
      other.loyalty.products.refund(fan, scarf.id, { restocks: true }),
    ]);
    assert.deepEqual([first.status, second.status], ["refunded", "refunded"]);
    await sold.refund(fan, badge.id, { restocks: true });
    assert.equal(await balance(platform), 14);
    assert.deepEqual((await platform.loyalty.profile(fan)).inventory.badges, []);
    shop.clock.advance(stockFreshMs);
    const listed = await sold.list(fan);
    assert.deepEqual(listed[0]?.stock, { type: "limited", available: 5 });
    await assert.rejects(sold.complete(fan, scarf.id), withCode("conflict"));
    await assertProved(platform);
  });

  it("refund once where two processes give the stock back at the same time", async () => {
    await using shop = await openShop(open);
    const store = new MeetingStore(shop.store);
    const [platform, other] = [await shop.process(store), await shop.process(store)];
    await fund(platform, fan, { points: 20 });
    const { products: sold } = platform.loyalty;
    await sold.redeem(fan, { key: "a", productId: "scarf", quantity: 1 });
    const { id } = await sold.redeem(fan, { key: "b", productId: "scarf", quantity: 1 });
    store.meetings = 1;
    await Promise.all([
      sold.refund(fan, id, { restocks: true }),
      other.loyalty.products.refund(fan, id, { restocks: true }),
    ]);
    assert.equal(store.meetings, 0);
    shop.clock.advance(stockFreshMs);
    assert.deepEqual((await sold.list(fan))[0]?.stock, { type: "limited", available: 4 });
  });

  it("keep the stock where a refunded product is not sold again", async () => {
    await using shop = await openShop(open);
    const { loyalty } = await shop.process();
    await fund({ loyalty } as Platform, fan, { points: 14 });
    const { id } = await loyalty.products.redeem(fan, { key: "b", productId: "scarf", quantity: 1 });
    await loyalty.products.refund(fan, id, { restocks: false });
    shop.clock.advance(stockFreshMs);
    assert.deepEqual((await loyalty.products.list(fan))[0]?.stock, { type: "limited", available: 4 });
  });

  it("cannot take a redemption's transactions back one by one", async () => {
    await using shop = await openShop(open);
    const platform = await shop.process();
    await fund(platform, fan, { points: 10 });
    await platform.loyalty.products.redeem(fan, { key: "k", productId: "poster", quantity: 1 });
    for (const { id, type } of await platform.loyalty.history(fan, {})) {
      if (type !== "rewardGranted")
        await assert.rejects(platform.loyalty.reverse(fan, id), withCode("conflict"));
    }
  });
});
