/** Bounds of the stored redemptions. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { acceptOrder } from "../../../../../lib/fans/loyalty/products/orders.ts";
import { emptyState } from "../../../../../lib/fans/loyalty/user/state.ts";
import { shopDocument } from "./_shop.ts";

const redemptionsOpenMax = 20;

describe("redemptions", () => {
  it("that are not decided are bounded for a user, who may try again later", () => {
    const config = compileConfig(shopDocument());
    const context = { id: "red_1", config, now: 1_000, soldIn: () => null, hasCode: true };
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
