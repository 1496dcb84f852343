import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { products, shopDocument } from "../products/_shop.ts";

function pointersOf(...parts: readonly object[]): readonly string[] {
  try {
    compileConfig({ ...shopDocument(), products: parts });
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.fields ?? []).map(({ pointer }) => pointer);
  }
}

const { scarf, badge } = products;

describe("the products of a configuration", () => {
  it("are unlimited, enabled and always available by default", () => {
    const { products: compiled } = compileConfig(shopDocument());
    const product = compiled.get("badge")?.product;
    assert.deepEqual(
      [product?.stock, product?.enabled, product?.availableFrom, product?.availableTo],
      [{ type: "unlimited" }, true, 0, 0],
    );
  });

  it("refer to existing parts only", () => {
    const prices = [{ currency: "gold", amount: 1 }];
    const item = { type: "inventory", inventorySetId: "badges", inventoryItemId: "sage" };
    assert.deepEqual(pointersOf({ ...scarf, prices }), ["/products/0/prices/0/currency"]);
    assert.deepEqual(pointersOf({ ...badge, fulfilment: item }), ["/products/0/fulfilment"]);
    const coupon = { type: "coupon", couponId: "none" };
    assert.deepEqual(pointersOf({ ...badge, fulfilment: coupon }), ["/products/0/fulfilment"]);
    assert.deepEqual(pointersOf({ ...scarf }, { ...scarf }), ["/products/1"]);
  });

  it("need a webhook that subscribes to redemptionConfirmed where one delivers them", () => {
    const document = { ...shopDocument([products.poster ?? {}]), webhooks: [] };
    assert.throws(() => compileConfig(document), AppError);
  });

  it("have bounds", () => {
    const price = { currency: "points", amount: 1 };
    assert.deepEqual(pointersOf({ ...scarf, prices: [] }), ["/products/0/prices"]);
    assert.deepEqual(pointersOf({ ...scarf, prices: [price, price] }), ["/products/0/prices"]);
    const many = Array.from({ length: 11 }, (_, n) => ({ currency: `c${n}`, amount: 1 }));
    assert.deepEqual(pointersOf({ ...scarf, prices: many }), ["/products/0/prices"]);
    assert.deepEqual(pointersOf({ ...scarf, availableFrom: 2, availableTo: 2 }), ["/products/0"]);
    const limited = (quantity: number): object => ({ ...scarf, stock: { type: "limited", quantity } });
    assert.deepEqual(pointersOf(limited(1_000_000_000)), []);
    assert.deepEqual(pointersOf(limited(1_000_000_001)), ["/products/0/stock/quantity"]);
    const forEach = (perUser: number): object => ({ ...scarf, limits: { perUser } });
    assert.deepEqual(pointersOf(forEach(1_000_000_000)), []);
    assert.deepEqual(pointersOf(forEach(1_000_000_001)), ["/products/0/limits/perUser"]);
    const shelf = (count: number): object[] =>
      Array.from({ length: count }, (_, n) => ({ ...scarf, id: `p${n}` }));
    assert.deepEqual(pointersOf(...shelf(200)), []);
    assert.deepEqual(pointersOf(...shelf(201)), ["/products"]);
  });
});
