/** Orders of products: whether a user may have what is ordered, and the redemption that an accepted order begins. */

import { periodOf } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { type CompiledConfig, type CompiledProduct, countedUnit, ownValue } from "../config/compiled.ts";
import type { ActionData, Fulfilment, Price, Product } from "../config/document.ts";
import { readCounter } from "../engine/counters.ts";
import { NextState } from "../engine/next_state.ts";
import { isCouponValid } from "../engine/rewards.ts";
import {
  nothingReceived,
  type ProfileFields,
  type Redemption,
  type RedemptionFault,
  timeZoneOf,
  type UserState,
} from "../user/state.ts";

export interface RedemptionOrder {
  /** Names the redemption: orders of a user under the same key are one. */
  readonly key: string;
  readonly productId: string;
  readonly quantity: number;
  /** The currency to pay in; required where the product has several prices. */
  readonly currency?: string | undefined;
  readonly metadata?: ActionData | undefined;
}

export interface OrderContext {
  readonly id: string;
  readonly config: CompiledConfig;
  /** Unix ms. */
  readonly now: number;
  /** Returns the units of the product that are sold in a period, or ever, as far as this process knows; null: unknown. */
  readonly soldIn: (stockPeriod: string | undefined) => number | null;
  /** False where the product needs a code and its pool has none. */
  readonly hasCode: boolean;
}

/** Most redemptions of a user that wait for their stock at a time. */
const openRedemptionsMax = 20;

const messages: Readonly<Record<RedemptionFault, string>> = {
  not_available: "Cannot redeem the product as it is not available to the user now",
  out_of_stock: "Cannot redeem the product as there is not enough of it left",
  limit_reached: "Cannot redeem the product as the user may not have more of it",
  insufficient_balance: "Cannot redeem the product as the user cannot pay for it",
};

/**
 * Makes the redemption of an order, for a user whose state is advanced to now.
 *
 * @throws {AppError} `not_found`, `validation_failed`, `busy`, or the reason for which the user may not have the product.
 */
export function acceptOrder(
  context: OrderContext,
  state: UserState,
  order: RedemptionOrder,
  profile?: ProfileFields,
): Redemption {
  const { id, config, now, soldIn, hasCode } = context;
  const { quantity, metadata } = order;
  const compiled = config.products.get(order.productId);
  if (compiled === undefined) {
    throw new AppError("not_found", "Cannot redeem a product that the space does not have");
  }
  const { fulfilment } = compiled.product;
  const cost = costOf(compiled, order);
  requireSingle(fulfilment, quantity);
  const fault = redemptionFault(config, state, { compiled, quantity, now, profile });
  if (fault !== null) throw redemptionError(fault);
  const total = stockTotal(compiled.product);
  const stockPeriod = stockPeriodOf(config, compiled.product, now) ?? undefined;
  const isSold = total !== null && (soldIn(stockPeriod) ?? 0) + quantity > total;
  if (isSold || !hasCode) throw redemptionError("out_of_stock");
  if (!canPay(config, state, cost)) throw redemptionError("insufficient_balance");
  if (state.redemptions.length >= openRedemptionsMax) {
    throw new AppError("busy", "Cannot redeem more while so many redemptions are not decided");
  }
  const poolId = codePoolOf(config, fulfilment);
  return {
    id,
    productId: compiled.product.id,
    quantity,
    cost,
    status: "reserved",
    fulfilment,
    takesStock: total !== null,
    ...(stockPeriod === undefined ? {} : { stockPeriod }),
    ...(poolId === null ? {} : { poolId }),
    paid: [],
    received: nothingReceived,
    boughtAt: now,
    changedAt: now,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** Returns true where the product is enabled and on sale at a time (Unix ms). */
export function isAvailable({ product }: CompiledProduct, now: number): boolean {
  const { enabled, availableFrom, availableTo } = product;
  if (!enabled || now < availableFrom * 1_000) return false;
  return availableTo === 0 || now < availableTo * 1_000;
}

/** Returns the reason for which a user may not have a product, apart from stock and balance; null: none. */
export function redemptionFault(
  config: CompiledConfig,
  state: UserState,
  wanted: {
    readonly compiled: CompiledProduct;
    readonly quantity: number;
    readonly now: number;
    /** The custom fields that the configuration reads. @default none has a value */
    readonly profile?: ProfileFields | undefined;
  },
): Exclude<RedemptionFault, "insufficient_balance" | "out_of_stock"> | null {
  const { compiled, quantity, now, profile } = wanted;
  if (!isAvailable(compiled, now)) return "not_available";
  const { when } = compiled;
  if (when?.({ data: {}, user: new NextState(config, state, now, { profile }) }) === false)
    return "not_available";
  if (isOwned(config, state, { fulfilment: compiled.product.fulfilment, now })) return "limit_reached";
  if (compiled.limit === null) return null;
  const { key, max, window } = compiled.limit;
  const at = Math.max(now, state.changedAt);
  const time = { at, timeZone: timeZoneOf(config, state, at) };
  return readCounter(ownValue(state.counters, key), window, time) + quantity > max ? "limit_reached" : null;
}

/** Returns true where the product would give nothing: items and shared coupons are owned once. */
export function isOwned(
  config: CompiledConfig,
  state: UserState,
  { fulfilment, now }: Pick<Redemption, "fulfilment"> & { readonly now: number },
): boolean {
  if (fulfilment.type === "inventory") {
    const items = ownValue(state.inventory, fulfilment.inventorySetId) ?? [];
    return items.includes(fulfilment.inventoryItemId);
  }
  if (fulfilment.type !== "coupon" || config.coupons.get(fulfilment.couponId)?.type !== "shared") {
    return false;
  }
  const at = Math.max(now, state.changedAt);
  return state.coupons.some(coupon => coupon.couponId === fulfilment.couponId && isCouponValid(coupon, at));
}

export function canPay(config: CompiledConfig, state: UserState, { currency, amount }: Price): boolean {
  const metric = config.metrics.get(currency);
  if (metric === undefined) return false;
  return (ownValue(state.metrics, currency) ?? metric.defaultValue) - metric.minimumValue >= amount;
}

export function redemptionError(fault: RedemptionFault): AppError {
  return new AppError(fault, messages[fault]);
}

/** Returns the pool that a product's codes come from; null where it gives none. */
export function codePoolOf({ coupons }: CompiledConfig, fulfilment: Fulfilment): string | null {
  if (fulfilment.type !== "coupon") return null;
  return coupons.get(fulfilment.couponId)?.poolId ?? null;
}

/** Returns the period of the calendar in which units of a product are counted at a time (Unix ms); null: all together. */
export function stockPeriodOf({ config }: CompiledConfig, { stock }: Product, at: number): string | null {
  if (stock.type !== "limited" || stock.window === undefined) return null;
  return periodOf(countedUnit(stock.window, config.weekStartsOn), config.timeZone, at).id;
}

/** Returns how many units of a product there are, in a period or ever; null: any number. A removed product has none. */
export function stockTotal(product: Product | undefined): number | null {
  if (product === undefined) return 0;
  return product.stock.type === "limited" ? product.stock.quantity : null;
}

/**
 * Computes the cost of an order.
 *
 * @throws {AppError} `validation_failed`: the product is not sold for the currency, or one must be named.
 */
function costOf({ product }: CompiledProduct, { currency, quantity }: RedemptionOrder): Price {
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

/** Requires single items and coupons, so that each redemption is fulfilled as a whole or not at all. */
function requireSingle({ type }: Fulfilment, quantity: number): void {
  if (quantity === 1 || type === "manual" || type === "webhook") return;
  throw new AppError("validation_failed", "Cannot redeem more than one item or coupon at a time", {
    fields: [{ pointer: "/quantity", detail: "Expected 1 for this product" }],
  });
}
