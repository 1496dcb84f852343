/**
 * From what a user asks for to a redemption that may begin.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { Fulfilment } from "../config/document.ts";
import { nothingReceived, type Redemption, type UserState } from "../user/state.ts";
import { canPay, costOf, type RedemptionOrder, redemptionError, redemptionFault } from "./redeemable.ts";
import { stockTotal } from "./stock.ts";

/** Most redemptions of a user that are not decided at a time. */
export const redemptionsOpenMax = 20;

/** What accepting an order depends on besides the order. */
export interface OrderContext {
  /** Of the redemption. */
  readonly id: string;
  readonly config: CompiledConfig;
  /** Unix ms. */
  readonly now: number;
  /** How many of the product were sold, as far as that is known without asking; null: unknown. */
  readonly sold: number | null;
}

/**
 * The redemption of an order that a user, whose state is settled, may make.
 *
 * @throws {AppError} `not_found`, `validation_failed`, `busy`, or why the user may not have the product.
 */
export function acceptOrder(context: OrderContext, state: UserState, order: RedemptionOrder): Redemption {
  const { id, config, now, sold } = context;
  const { quantity, metadata } = order;
  const of = config.products.get(order.productId);
  if (of === undefined) {
    throw new AppError("not_found", "Cannot redeem a product that the space does not have");
  }
  const { fulfilment } = of.product;
  const cost = costOf(of, order);
  requireOne(fulfilment, quantity);
  const fault = redemptionFault(config, state, { of, quantity, now });
  if (fault !== null) throw redemptionError(fault);
  const total = stockTotal(of.product);
  if (total !== null && (sold ?? 0) + quantity > total) throw redemptionError("out_of_stock");
  if (!canPay(config, state, cost)) throw redemptionError("insufficient_balance");
  if (state.redemptions.length >= redemptionsOpenMax) {
    throw new AppError("busy", "Cannot redeem more while so many redemptions are not decided");
  }
  const poolId = codePoolOf(config, fulfilment);
  return {
    id,
    productId: of.product.id,
    quantity,
    cost,
    status: "reserved",
    fulfilment,
    takesStock: total !== null,
    ...(poolId === null ? {} : { poolId }),
    paid: [],
    received: nothingReceived,
    boughtAt: now,
    changedAt: now,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** The pool that a product's codes come from; null where it gives none. */
export function codePoolOf({ coupons }: CompiledConfig, fulfilment: Fulfilment): string | null {
  if (fulfilment.type !== "coupon") return null;
  return coupons.get(fulfilment.couponId)?.poolId ?? null;
}

/** Items and coupons are given one by one, so that each redemption is delivered as a whole or not at all. */
function requireOne({ type }: Fulfilment, quantity: number): void {
  if (quantity === 1 || type === "manual" || type === "webhook") return;
  throw new AppError("validation_failed", "Cannot redeem more than one item or coupon at a time", {
    fields: [{ pointer: "/quantity", detail: "Expected 1 for this product" }],
  });
}
