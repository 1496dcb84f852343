/** How much redemptions keep at a time. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../lib/errors/mod.ts";
import { compileConfig, emptyState } from "../../../../lib/loyalty/mod.ts";
import { acceptOrder, redemptionsOpenMax } from "../../../../lib/loyalty/products/accept_order.ts";
import { createStocks, stocksCachedMax } from "../../../../lib/loyalty/products/stock.ts";
import { createTestClock } from "../../../support/clock.ts";
import { shopDocument } from "./_shop.ts";

describe("redemptions", () => {
  it("that are not decided are bounded for a user, who may try again later", () => {
    const config = compileConfig(shopDocument());
    const context = { id: "red_1", config, now: 1_000, sold: null };
    const order = { key: "k", productId: "poster", quantity: 1 };
    const funded = { ...emptyState(null), metrics: { points: 10 } };
    const open = (count: number): ReturnType<typeof acceptOrder> => {
      const one = acceptOrder(context, funded, order);
      const redemptions = Array.from({ length: count }, (_, n) => ({ ...one, id: `red_${n}` }));
      return acceptOrder(context, { ...funded, redemptions }, order);
    };
    assert.equal(open(redemptionsOpenMax - 1).status, "reserved");
    assert.throws(
      () => open(redemptionsOpenMax),
      (error: unknown) => error instanceof AppError && error.code === "busy",
    );
  });
});

describe("the stocks that a process remembers", () => {
  it("are bounded, and the one looked at for longest is forgotten first", async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    const stocks = createStocks({ store, clock: clock.now });
    const product = (n: number): Parameters<typeof stocks.sold>[0] => ({
      organisationId: "o",
      spaceId: "s",
      productId: `p${n}`,
    });
    for (let n = 0; n < stocksCachedMax; n++) await stocks.sold(product(n));
    assert.equal(stocks.cachedSold(product(0)), 0);
    await stocks.sold(product(stocksCachedMax));
    assert.equal(stocks.cachedSold(product(0)), null);
    assert.equal(stocks.cachedSold(product(1)), 0);
    assert.equal(stocks.cachedSold(product(stocksCachedMax)), 0);
  });
});
