/** Products at the surface: listed, redeemed, handed over and taken back. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import {
  type Answer,
  type CallOptions,
  type Fan,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { assertProblem } from "../_problem.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";

const path = "/v1/api/audience/products";
const named = { "x-platform-org-id": ids.organisation };
const ofPoints = (amount: number): object => ({ currency: "points", amount });
const soon = 1_900_000_000;

const space = {
  ...loyalty,
  metrics: [
    { id: "points", title: "Points", lots: { expires: { after: { days: 60 } } } },
    { id: "coins", title: "Coins" },
  ],
  rules: [],
  milestones: [
    {
      id: "level",
      title: "Level",
      metricId: "points",
      isTier: true,
      milestones: [
        { id: "bronze", title: "Bronze", threshold: 10 },
        { id: "silver", title: "Silver", threshold: 50 },
        { id: "gold", title: "Gold", threshold: 250 },
      ],
    },
  ],
  challenges: [],
  products: [
    {
      id: "scarf",
      title: "Scarf",
      description: "Red and white",
      media: "https://shop.example/scarf.png",
      category: "merchandise",
      sku: "SC-1",
      prices: [ofPoints(10)],
      stock: { type: "limited", quantity: 2 },
      limits: { perUser: 2, window: "day" },
      fulfilment: { type: "manual" },
    },
    {
      id: "badge",
      title: "Badge",
      prices: [ofPoints(4), { currency: "coins", amount: 2 }],
      fulfilment: { type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" },
    },
    {
      id: "drink",
      title: "Drink",
      prices: [ofPoints(3)],
      fulfilment: { type: "coupon", couponId: "drink" },
    },
    {
      id: "later",
      title: "Later",
      prices: [ofPoints(1)],
      availableFrom: soon,
      fulfilment: { type: "manual" },
    },
    { id: "off", title: "Off", prices: [ofPoints(1)], enabled: false, fulfilment: { type: "manual" } },
  ],
};

interface Buyer {
  readonly userId: string;
  readonly call: (target: string, options?: CallOptions) => Promise<Answer>;
  readonly redeem: (productId: string, body?: unknown, key?: string) => Promise<Answer>;
}

describeOnStores("products", open => {
  let world: TestPlatform;
  let crm: BackEndCall;
  let buyers = 0;

  before(async () => {
    world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: space } } });
    crm = await backEnd(world, ["users:read", "rewards:write"]);
    const pool = { organisationId: ids.organisation, spaceId: ids.space, poolId: "drinks" };
    await world.platform.loyalty.codePools.add(pool, ["D-1", "D-2"]);
  });
  after(() => world.dispose());

  async function newBuyer(points = 100): Promise<Buyer> {
    const { userId, token } = await world.fan(`Buyer ${buyers++}`);
    const member = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
    if (points > 0) {
      const rewards = [{ type: "metric", metricId: "points", metricQuantity: points }] as const;
      await world.platform.loyalty.grant(member, { rewards, reason: "To spend" });
    }
    const call = (target: string, options: CallOptions = {}): Promise<Answer> =>
      world.call(target, { token, ...options, headers: { ...named, ...options.headers } });
    return {
      userId,
      call,
      redeem: (productId, body = {}, key) =>
        call(`${path}/${productId}/redeem`, {
          method: "POST",
          body,
          headers: key === undefined ? {} : { "idempotency-key": `"${key}"` },
        }),
    };
  }

  async function refused(answer: Promise<Answer>, status: number, code: string): Promise<Answer> {
    const { status: found, json } = await answer;
    assert.equal(found, status, JSON.stringify(json));
    assert.equal(json.code, code);
    return await answer;
  }

  it("are listed with the reasons why the user cannot redeem them", async () => {
    const { call } = await newBuyer(5);
    const { status, json } = await call(path);
    assert.equal(status, 200);
    assert.equal(json.message, "OK");
    assert.equal(json.lastEvaluatedKey, null);
    const [scarf, badge] = json.data;
    assert.deepEqual(
      json.data.map(({ productId }: { productId: string }) => productId),
      ["scarf", "badge", "drink"],
    );
    assert.deepEqual(scarf, {
      productId: "scarf",
      title: "Scarf",
      description: "Red and white",
      media: "https://shop.example/scarf.png",
      category: "merchandise",
      sku: "SC-1",
      prices: [{ currency: "points", amount: 10 }],
      stock: { type: "limited", available: 2 },
      limits: { perUser: 2, window: "day" },
      availableFrom: null,
      availableTo: null,
      fulfilment: { type: "manual" },
      canRedeem: false,
      reasons: ["insufficient_balance"],
    });
    assert.deepEqual([badge.canRedeem, badge.reasons, badge.stock], [true, [], { type: "unlimited" }]);
    assert.deepEqual([badge.sku, badge.limits], [null, null]);
  });

  it("that are items are given at once and shown with their cost", async () => {
    const { call, redeem } = await newBuyer(10);
    const { status, json, headers } = await redeem("badge", { currency: "points", metadata: { gift: true } });
    assert.equal(status, 201);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.ok(headers.get("ratelimit-policy") === null, "there is no limiter here");
    const { redemptionId, transactionId } = json.data;
    assert.match(redemptionId, /^red_[0-9a-f]{32}$/);
    assert.deepEqual(json, {
      message: "OK",
      data: {
        redemptionId,
        productId: "badge",
        quantity: 1,
        cost: { currency: "points", amount: 4 },
        status: "completed",
        transactionId,
        fulfilment: { type: "inventory", coupon: null, items: [{ setId: "badges", itemId: "oracle" }] },
        balances: { points: 6, coins: 0 },
        createdAt: new Date(world.clock.now()).toISOString(),
      },
    });
    const { json: transactions } = await call("/v1/api/audience/transactions?type=debit");
    const [paid] = transactions.data;
    assert.equal(paid.transactionId, transactionId);
    assert.deepEqual(
      [paid.type, paid.amount, paid.currency, paid.source, paid.reason, paid.status],
      ["debit", 4, "points", { type: "redemption", id: redemptionId }, "redeemed", "completed"],
    );
    await refused(redeem("badge", { currency: "points" }), 400, "limit_reached");
    const { json: listed } = await call(path);
    assert.deepEqual(listed.data[1].reasons, ["limit_reached"]);
  });

  it("that are coupons come with their codes", async () => {
    const { call, redeem } = await newBuyer(10);
    const { json } = await redeem("drink");
    const { coupon, type } = json.data.fulfilment;
    assert.equal(type, "coupon");
    assert.match(coupon.coupon_code, /^D-\d$/);
    assert.equal(coupon.coupon_id, "drink");
    const shown = await call(`/api/loyalty/coupons/${coupon.id}`);
    assert.deepEqual(shown.json.data, coupon);
  });

  it("with one price can be redeemed without a body", async () => {
    const { call } = await newBuyer(10);
    const { status, json } = await call(`${path}/drink/redeem`, { method: "POST" });
    assert.deepEqual([status, json.data?.cost], [201, { currency: "points", amount: 3 }]);
    const unpriced = await call(`${path}/badge/redeem`, { method: "POST" });
    assert.equal(unpriced.json.errors[0].detail, "Expected one of points, coins");
  });

  it("are sold up to their stock, and once per idempotency key", async () => {
    const { redeem, call } = await newBuyer(100);
    const first = await redeem("scarf", {}, "order-1");
    const again = await redeem("scarf", {}, "order-1");
    assert.equal(first.status, 201);
    assert.equal(first.json.data.status, "pending");
    assert.equal(again.status, 201);
    assert.deepEqual(again.json, first.json);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(first.headers.get("idempotent-replayed"), null);
    await refused(redeem("scarf", { quantity: 2 }, "order-1"), 422, "idempotency_mismatch");
    assert.equal((await redeem("scarf", {}, "order-2")).status, 201);
    await refused(redeem("scarf", {}, "order-3"), 400, "limit_reached");
    await refused((await newBuyer()).redeem("scarf"), 400, "out_of_stock");
    const { json } = await call(path);
    assert.ok(!json.data.some(({ productId }: { productId: string }) => productId === "scarf"));
    const { json: profile } = await call("/v1/api/audience/profile");
    const { available, lifetimeEarned, lifetimeSpent } = profile.data.loyalty.balances.points;
    assert.deepEqual([available, lifetimeEarned, lifetimeSpent], [80, 100, 20]);
  });

  it("are refused with the reason, and nothing is paid", async () => {
    const { redeem, call } = await newBuyer(3);
    await refused(redeem("badge", { currency: "points" }), 400, "insufficient_balance");
    await refused(redeem("later"), 400, "not_available");
    await refused(redeem("off"), 400, "not_available");
    await refused(redeem("unknown"), 404, "not_found");
    const pointed = async (body: unknown, pointer: string): Promise<void> => {
      const { json } = await refused(redeem("badge", body), 400, "validation_failed");
      assert.deepEqual(
        json.errors.map((error: { pointer: string }) => error.pointer),
        [pointer],
      );
    };
    await pointed({}, "/currency");
    await pointed({ currency: "gold" }, "/currency");
    await pointed({ currency: "points", quantity: 0 }, "/quantity");
    await pointed({ currency: "points", quantity: 2 }, "/quantity");
    await pointed({ currency: "points", quantity: 101 }, "/quantity");
    await pointed({ currency: "points", price: 0 }, "/price");
    await pointed({ currency: "points", metadata: { nested: {} } }, "/metadata/nested");
    const { json } = await call("/v1/api/audience/profile");
    assert.equal(json.data.loyalty.metrics.points, 3);
    assertProblem(await redeem("unknown"), 404, "not_found");
  });

  it("that operators hand over are completed or refunded, once", async () => {
    const poster = { ...space, products: loyalty.products };
    const shop = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: poster } } });
    try {
      const office = await backEnd(shop, ["users:read", "rewards:write"]);
      const { userId } = await shop.fan("Sam");
      const member = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
      const rewards = [{ type: "metric", metricId: "points", metricQuantity: 60 }] as const;
      await shop.platform.loyalty.grant(member, { rewards, reason: "To spend" });
      const bought = async (key: string): Promise<string> => {
        const { products } = shop.platform.loyalty;
        return (await products.redeem(member, { key, productId: "poster", quantity: 5 })).id;
      };
      const at = (id: string): string => `/internal/loyalty/users/${userId}/redemptions/${id}`;
      const one = await bought("one");
      const shown = await office(at(one));
      assert.equal(shown.status, 200);
      const { transactionId } = shown.json.data;
      const seconds = Math.floor(shop.clock.now() / 1_000);
      assert.deepEqual(shown.json.data, {
        redemptionId: one,
        productId: "poster",
        quantity: 5,
        cost: { currency: "points", amount: 5 },
        status: "pending",
        fault: null,
        transactionId,
        fulfilment: { type: "manual", coupon: null, items: [] },
        balances: { points: 55, coins: 0 },
        metadata: {},
        createdAt: seconds,
        changedAt: seconds,
      });
      const completed = await office(`${at(one)}/complete`, { method: "POST" });
      assert.equal(completed.status, 200);
      assert.deepEqual(completed.json.data, { ...shown.json.data, status: "completed" });
      assert.equal((await office(`${at(one)}/complete`, { method: "POST" })).status, 200);

      const two = await bought("two");
      const refunded = await office(`${at(two)}/refund`, { method: "POST" });
      assert.equal(refunded.status, 200);
      assert.equal(refunded.json.data.status, "refunded");
      assert.equal(refunded.json.data.balances.points, 55);
      assert.equal((await office(`${at(two)}/refund`, { body: {} })).json.data.balances.points, 55);
      await refused(office(`${at(two)}/complete`, { method: "POST" }), 409, "conflict");
      await refused(office(`${at("red_none")}/refund`, { body: {} }), 404, "not_found");
      await refused(office(`${at(two)}/refund`, { body: { restock: "yes" } }), 400, "validation_failed");
    } finally {
      await shop.dispose();
    }
  });

  it("are hidden from other organisations and from keys without the permission", async () => {
    const { userId, redeem } = await newBuyer();
    const { json } = await redeem("badge", { currency: "points" });
    const at = `/internal/loyalty/users/${userId}/redemptions/${json.data.redemptionId}`;
    const reader = await backEnd(world, ["users:read"]);
    const writer = await backEnd(world, ["rewards:write"]);
    const stranger = await backEnd(world, ["users:read", "rewards:write"], ids.otherOrganisation);
    assert.equal((await reader(at)).status, 200);
    await refused(writer(at), 403, "insufficient_scope");
    for (const step of ["complete", "refund"]) {
      const request = { method: "POST", body: step === "refund" ? {} : undefined } as const;
      await refused(reader(`${at}/${step}`, request), 403, "insufficient_scope");
      await refused(stranger(`${at}/${step}`, request), 404, "not_found");
      await refused(world.call(`${at}/${step}`, request), 401, "missing_api_key");
    }
    await refused(stranger(at), 404, "not_found");
    assert.equal((await crm(at)).json.data.status, "completed");
  });

  it("leave lifetime earnings, spending and the tier in the profile", async () => {
    const { userId, call } = await newBuyer(60);
    const member = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
    const { products, grant, reverse } = world.platform.loyalty;
    const pointsNow = async (): Promise<unknown[]> => {
      const { json } = await call("/v1/api/audience/profile");
      const { available, lifetimeEarned, lifetimeSpent } = json.data.loyalty.balances.points;
      return [available, lifetimeEarned, lifetimeSpent, json.data.loyalty.tier];
    };
    const silver = (current: number, percent: number): object => ({
      id: "silver",
      name: "Silver",
      progress: { current, target: 250, percent },
    });
    assert.deepEqual(await pointsNow(), [60, 60, 0, silver(60, 5)]);
    const { id } = await products.redeem(member, {
      key: "k",
      productId: "badge",
      quantity: 1,
      currency: "points",
    });
    assert.deepEqual(await pointsNow(), [56, 60, 4, silver(56, 3)]);
    await products.refund(member, id, { restocks: false });
    assert.deepEqual(await pointsNow(), [60, 60, 0, silver(60, 5)]);
    const rewards = [{ type: "metric", metricId: "points", metricQuantity: 200 }] as const;
    const given = await grant(member, { rewards, reason: "Luck" });
    assert.deepEqual(await pointsNow(), [260, 260, 0, { id: "gold", name: "Gold", progress: null }]);
    await reverse(member, given?.id ?? "");
    assert.deepEqual((await pointsNow()).slice(0, 3), [60, 60, 0]);
    world.clock.advance(90 * 24 * 3_600_000);
    const later = await world.platform.loyalty.reader.summary(member, { type: "record", key: "profile" });
    const { available, lifetimeEarned, lifetimeSpent } = later.view.balances.points ?? {};
    assert.deepEqual([available, lifetimeEarned, lifetimeSpent], [0, 60, 0]);
  });
});

const entries = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`entry${n}`, n]));

describe("a redemption", () => {
  let world: TestPlatform;
  let fan: Fan;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    fan = await world.fan("Sam");
    const member = { ...fan, organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
    const metricQuantity = 1_000;
    await world.platform.loyalty.grant(member, {
      rewards: [{ type: "metric", metricId: "points", metricQuantity }],
      reason: "To spend",
    });
  });
  after(() => world.dispose());

  const redeem = (body: object): Promise<Answer> =>
    world.call("/v1/api/audience/products/poster/redeem", { token: fan.token, headers: named, body });

  const table: readonly (readonly [bound: string, most: object, beyond: object])[] = [
    ["quantity", { quantity: 100 }, { quantity: 101 }],
    ["entries of metadata", { metadata: entries(20) }, { metadata: entries(21) }],
    ["texts of metadata", { metadata: { note: "n".repeat(256) } }, { metadata: { note: "n".repeat(257) } }],
    [
      "names of metadata",
      { metadata: { ["n".repeat(256)]: true } },
      { metadata: { ["n".repeat(257)]: true } },
    ],
  ];
  for (const [bound, most, beyond] of table) {
    it(`is accepted up to the bound on ${bound}, and refused beyond`, async () => {
      const accepted = await redeem(most);
      assert.equal(accepted.status, 201, accepted.text);
      assertProblem(await redeem(beyond), 400, "validation_failed");
    });
  }
});
