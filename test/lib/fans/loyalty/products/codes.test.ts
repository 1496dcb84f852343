/** Products that are coupons with codes of a pool. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../../../../lib/fans/loyalty/due_users.ts";
import { redemptionId } from "../../../../../lib/fans/loyalty/products/redemptions.ts";
import { createDyingStore } from "../../../../support/dying_store.ts";
import { describeOnStores } from "../../../../support/stores.ts";
import {
  assertProved,
  balance,
  buyer,
  drinks,
  fan,
  fund,
  openShop,
  replaceDocument,
  shopDocument,
  typesOf,
  withCode,
} from "./_shop.ts";

const drinkCoupon = { id: "drink", title: "A free drink", type: "unique", poolId: "drinks" };

describeOnStores("a product with codes", open => {
  it("gives unique codes, and no redemption where there is none left", async () => {
    await using shop = await openShop(open);
    const platform = await shop.process();
    await platform.loyalty.codePools.add(drinks, ["RED"]);
    for (const n of [1, 2]) await fund(platform, buyer(n), { points: 5 });
    const order = { key: "k", productId: "drink", quantity: 1 };
    const { status, fulfilment } = await platform.loyalty.products.redeem(buyer(1), order);
    assert.deepEqual([status, fulfilment.coupon?.coupon_code], ["completed", "RED"]);
    await assert.rejects(platform.loyalty.products.redeem(buyer(2), order), withCode("out_of_stock"));
    assert.equal(await balance(platform, buyer(2)), 5);
    assert.deepEqual(await typesOf(platform, buyer(2)), ["rewardGranted"], "no points went");
    assert.equal((await platform.loyalty.products.redeem(buyer(1), order)).status, "completed");
    for (const n of [1, 2]) await assertProved(platform, buyer(n));
    const listed = await platform.loyalty.products.list(buyer(2));
    assert.ok(listed.every(({ id }) => id !== "drink"));
    await platform.loyalty.codePools.add(drinks, ["GREEN"]);
    assert.equal((await platform.loyalty.products.redeem(buyer(2), order)).status, "completed");
  });

  it("gives a coupon that expires with its code", async () => {
    await using shop = await openShop(open, {
      ...shopDocument(),
      coupons: [{ ...drinkCoupon, expiresAfter: { minutes: 30 } }],
    });
    const platform = await shop.process();
    const { codePools, products: sold } = platform.loyalty;
    await codePools.add(drinks, ["RED", "GREEN"]);
    await fund(platform, fan, { points: 6 });
    await sold.redeem(fan, { key: "a", productId: "drink", quantity: 1 });
    await sold.redeem(fan, { key: "b", productId: "drink", quantity: 1 });
    await assertProved(platform);
    shop.clock.advance(30 * 60_000 - 1);
    assert.equal((await platform.loyalty.coupon(fan, "drink")).coupon_code, "GREEN");
    await codePools.redeem(drinks, "GREEN");
    shop.clock.advance(1);
    await assert.rejects(platform.loyalty.coupon(fan, "drink"), withCode("not_found"));
    await assert.rejects(codePools.redeem(drinks, "RED"), withCode("code_expired"));
  });

  it("gives the price back where its process died with the code, and the coupon would have expired since", async () => {
    await using shop = await openShop(open, {
      ...shopDocument(),
      coupons: [{ ...drinkCoupon, expiresAfter: { minutes: 30 } }],
    });
    const calm = await shop.process();
    await calm.loyalty.codePools.add(drinks, ["RED"]);
    await fund(calm, fan, { points: 5 });
    const id = redemptionId(fan, "k");
    await calm.loyalty.codePools.claim(drinks, id, shop.clock.now());
    const order = { key: "k", productId: "drink", quantity: 1 };
    await calm.loyalty.codePools.add(drinks, ["GREEN"]);
    await assert.rejects(calm.loyalty.products.redeem(fan, order), withCode("not_available"));
    assert.equal(await balance(calm), 5);
    assert.equal((await calm.loyalty.codePools.stats(drinks)).available, 2);
    await assertProved(calm);
  });

  it("leaves no code unused, wherever its process dies before the product is taken off the shelf", async t => {
    let returned = 0;
    for (let at = 0; at < 14; at++) {
      await using shop = await openShop(open);
      const calm = await shop.process();
      await calm.loyalty.codePools.add(drinks, ["RED"]);
      await fund(calm, fan, { points: 5 });
      const dying = createDyingStore(shop.store);
      const platform = await shop.process(dying);
      await platform.loyalty.profile(fan);
      dying.dieAt({ at, when: "after" });
      const order = { key: "k", productId: "drink", quantity: 1 };
      await platform.loyalty.products.redeem(fan, order).catch(() => {});
      await platform.idle().catch(() => {});
      const claimed = (await calm.loyalty.codePools.stats(drinks)).allocated;
      await replaceDocument(shop, { ...shopDocument([]), coupons: [], milestones: [] });
      const next = await shop.process();
      shop.clock.advance(registrationMs);
      await next.work();
      await next.idle();
      const given = (await typesOf(next)).includes("redemptionConfirmed") ? 1 : 0;
      assert.equal((await next.loyalty.codePools.stats(drinks)).allocated, given, `died at ${at}`);
      assert.equal(await balance(next), 5 - 3 * given);
      assert.equal((await next.loyalty.reconcile(fan)).ok, true);
      if (claimed > given) returned += 1;
    }
    assert.ok(returned > 0, "some process must die with a code in its hand");
    t.diagnostic(`${returned} codes came back`);
  });

  it("revokes its code when it is refunded, wherever the process dies", async () => {
    let dead = 0;
    for (let at = 0; at < 8; at++) {
      await using shop = await openShop(open);
      const calm = await shop.process();
      await calm.loyalty.codePools.add(drinks, ["RED"]);
      await fund(calm, fan, { points: 5 });
      const { id } = await calm.loyalty.products.redeem(fan, { key: "k", productId: "drink", quantity: 1 });
      const dying = createDyingStore(shop.store);
      const platform = await shop.process(dying);
      await platform.loyalty.profile(fan);
      dying.dieAt({ at, when: "after" });
      const refunded = await platform.loyalty.products.refund(fan, id, { restocks: false }).catch(() => null);
      await platform.idle().catch(() => {});
      if (refunded === null) dead += 1;
      const next = await shop.process();
      shop.clock.advance(registrationMs);
      await next.work();
      await next.idle();
      const isRefunded = (await typesOf(next)).includes("redemptionRefunded");
      const scanned = next.loyalty.codePools.redeem(drinks, "RED");
      if (isRefunded) await assert.rejects(scanned, withCode("code_revoked"), `died at ${at}`);
      else await scanned;
      assert.equal(await balance(next), isRefunded ? 5 : 2);
      assert.ok(isRefunded || refunded === null);
      await assertProved(next);
    }
    assert.ok(dead > 2, "some process must die on the way");
  });
});
