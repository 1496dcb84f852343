/**
 * Whether a user may have a product now.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { CompiledConfig, CompiledProduct } from "../config/compiled.ts";
import type { ActionData, Price } from "../config/document.ts";
import { ownValue } from "../config/own_property.ts";
import { readCounter } from "../engine/counters.ts";
import { isCouponValid } from "../engine/rewards.ts";
import type { Redemption, RedemptionFault, UserState } from "../user/state.ts";

/** What a user wants to buy. */
export interface RedemptionOrder {
  /** Names the redemption: orders of a user under the same key are one. */
  readonly key: string;
  readonly productId: string;
  readonly quantity: number;
  /** In which currency it is paid; to be named where there are several prices. */
  readonly currency?: string | undefined;
  readonly metadata?: ActionData | undefined;
}

/** Whether anybody may have the product at a time (Unix ms), as far as the configuration says. */
export function isAvailable({ product }: CompiledProduct, now: number): boolean {
  const { enabled, availableFrom, availableTo } = product;
  if (!enabled || now < availableFrom * 1_000) return false;
  return availableTo === 0 || now < availableTo * 1_000;
}

/** What of the user speaks against it; the state is settled. Stock is another matter. */
export function redemptionFault(
  config: CompiledConfig,
  state: UserState,
  wanted: { readonly of: CompiledProduct; readonly quantity: number; readonly now: number },
): Exclude<RedemptionFault, "insufficient_balance" | "out_of_stock"> | null {
  const { of, quantity, now } = wanted;
  if (!isAvailable(of, now)) return "not_available";
  if (isOwned(config, state, { fulfilment: of.product.fulfilment, now })) return "limit_reached";
  if (of.limit === null) return null;
  const { key, max, window } = of.limit;
  const at = { at: Math.max(now, state.changedAt), timeZone: config.config.timeZone };
  return readCounter(ownValue(state.counters, key), window, at) + quantity > max ? "limit_reached" : null;
}

/** Whether the product would give nothing, because items are owned once and a shared coupon is had once. */
export function isOwned(
  config: CompiledConfig,
  state: UserState,
  { fulfilment, now }: Pick<Redemption, "fulfilment"> & { readonly now: number },
): boolean {
  if (fulfilment.type === "inventory") {
    return (ownValue(state.inventory, fulfilment.inventorySetId) ?? []).includes(fulfilment.inventoryItemId);
  }
  if (fulfilment.type !== "coupon" || config.coupons.get(fulfilment.couponId)?.type !== "shared")
    return false;
  const at = Math.max(now, state.changedAt);
  return state.coupons.some(held => held.couponId === fulfilment.couponId && isCouponValid(held, at));
}

/** Whether a user can pay an amount and keep the least that the metric allows. */
export function canPay(config: CompiledConfig, state: UserState, { currency, amount }: Price): boolean {
  const metric = config.metrics.get(currency);
  if (metric === undefined) return false;
  return (ownValue(state.metrics, currency) ?? metric.defaultValue) - metric.minimumValue >= amount;
}

/**
 * What the order costs.
 *
 * @throws {AppError} `validation_failed`: the currency is none of the product's, or is to be named.
 */
export function costOf({ product }: CompiledProduct, { currency, quantity }: RedemptionOrder): Price {
  const [only, ...others] = product.prices;
  const price =
    currency === undefined && others.length === 0
      ? only
      : product.prices.find(one => one.currency === currency);
  if (price !== undefined) return { currency: price.currency, amount: price.amount * quantity };
  const names = product.prices.map(one => one.currency).join(", ");
  throw new AppError("validation_failed", "Cannot redeem the product without one of its currencies", {
    fields: [{ pointer: "/currency", detail: `Expected one of ${names}` }],
  });
}

const messages: Readonly<Record<RedemptionFault, string>> = {
  not_available: "Cannot redeem the product as it is not available now",
  out_of_stock: "Cannot redeem the product as there is not enough of it left",
  limit_reached: "Cannot redeem the product as the user may not have more of it",
  insufficient_balance: "Cannot redeem the product as the user cannot pay for it",
};

/** The error that a fault is. */
export function redemptionError(fault: RedemptionFault): AppError {
  return new AppError(fault, messages[fault]);
}
