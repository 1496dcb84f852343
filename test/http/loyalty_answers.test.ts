/** The OpenAPI document tells every member of what the loyalty API answers: generated clients miss nothing. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { type Fan, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { type DescribedReplies, describeReplies } from "./_answers.ts";
import { newKey } from "./_operations.ts";

const announced = { display: "toast", title: "Title", message: "Message" };
const document = {
  ...loyalty,
  metrics: [
    ...loyalty.metrics,
    { id: "coins", title: "", lots: { activatesAfter: { minutes: 1 }, expires: { after: { minutes: 1 } } } },
  ],
  coupons: [
    ...loyalty.coupons,
    { id: "ten", title: "", type: "shared", code: "TEN", showOnNotification: true },
    { id: "half", title: "", type: "shared", code: "HALF" },
  ],
  inventory: [
    {
      id: "badges",
      title: "Badges",
      items: [
        { id: "oracle", title: "Oracle" },
        { id: "seer", title: "Seer" },
      ],
    },
  ],
  products: [
    ...loyalty.products,
    {
      id: "drink",
      title: "A drink",
      prices: [{ currency: "points", amount: 1 }],
      fulfilment: { type: "coupon", couponId: "half" },
    },
    {
      id: "badge",
      title: "A badge",
      prices: [{ currency: "points", amount: 1 }],
      stock: { type: "limited", quantity: 3 },
      limits: { perUser: 2, window: "day" },
      availableTo: 4_000_000_000,
      fulfilment: { type: "inventory", inventorySetId: "badges", inventoryItemId: "seer" },
    },
  ],
  milestones: [
    {
      id: "level",
      title: "",
      metricId: "points",
      milestones: [{ id: "one", title: "", threshold: 1, notification: announced }],
    },
  ],
  rules: [
    ...loyalty.rules,
    {
      id: "coins",
      trigger: { action: "prediction" },
      limits: [{ per: "user", max: 1 }],
      effects: [
        { type: "metric", metricId: "coins", metricQuantity: 5 },
        { type: "coupon", couponId: "ten" },
        { type: "notification", notification: announced },
      ],
    },
  ],
};

describe("answers of the loyalty API", () => {
  let world: TestPlatform;
  let fan: Fan;
  let headers: Readonly<Record<string, string>>;
  let described: DescribedReplies;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }), {
      seed: { ...seed, loyalty: { [ids.space]: document } },
    });
    const { key, secret } = await newKey(world);
    headers = { "x-api-key": key, "x-api-secret": secret };
    described = await describeReplies(world);
    fan = await world.fan("Sam");
    for (const _ of "123") assert.equal((await fan.act("prediction", { outcome: "exact" })).status, 200);
    world.clock.advance(90_000);
  });
  after(() => world.dispose());

  it("reach users", async () => {
    const { token } = fan;
    const operations = {
      getLoyaltyConfig: "/api/loyalty/config",
      getRewardsProfile: "/api/loyalty/profile",
      listLoyaltyNotifications: "/api/loyalty/notifications",
      listLoyaltyHistory: "/api/loyalty/history",
      getCoupon: "/api/loyalty/coupons/ten",
    };
    for (const [operation, path] of Object.entries(operations)) {
      described.assertDescribed(operation, await world.call(path, { token }));
    }
  });

  it("reach operators", async () => {
    const user = `/internal/loyalty/users/${fan.userId}`;
    const body = { userId: fan.userId, action: "prediction", data: { outcome: "right" } };
    world.clock.advance(90_000);
    described.assertDescribed("tryAction", await world.call("/internal/loyalty/dry-run", { headers, body }));
    described.assertDescribed("reconcileUser", await world.call(`${user}/reconciliation`, { headers }));
    const replayed = await world.call(`${user}/replay`, { headers, body: { document: loyalty } });
    assert.ok(replayed.json.data.differences.length > 0);
    described.assertDescribed("replayUser", replayed);
    const history = (await world.call("/api/loyalty/history", { token: fan.token })).json.data;
    const reversal = { transactionId: history[0].id };
    described.assertDescribed(
      "reverseTransaction",
      await world.call(`${user}/reversals`, { headers, body: reversal }),
    );
  });

  it("cover redemptions that are fulfilled or cancelled, and their rewards", async () => {
    const headersOf = { token: fan.token, headers: { "x-platform-org-id": ids.organisation } };
    for (const [productId, step] of [
      ["poster", "complete"],
      ["drink", "refund"],
      ["badge", "refund"],
    ] as const) {
      const bought = await world.call(`/v1/api/audience/products/${productId}/redeem`, {
        ...headersOf,
        body: { metadata: { size: "L" } },
      });
      described.assertDescribed("redeemAudienceProduct", bought);
      const path = `/internal/loyalty/users/${fan.userId}/redemptions/${bought.json.data.redemptionId}`;
      described.assertDescribed("getRedemption", await world.call(path, { headers }));
      const done = await world.call(`${path}/${step}`, { headers, method: "POST" });
      described.assertDescribed(step === "complete" ? "completeRedemption" : "refundRedemption", done);
    }
  });

  it("do not match a schema that lacks a member", () => {
    const data = { metrics: {}, inventory: {}, challenges: {} };
    const fits = (body: unknown): boolean => described.fits("getRewardsProfile", body);
    assert.equal(fits({ message: "OK", data }), true);
    assert.equal(fits({ message: "OK", data: { ...data, more: 1 } }), false);
    assert.equal(fits({ message: "OK", data: { metrics: {}, inventory: {} } }), false);
  });
});
