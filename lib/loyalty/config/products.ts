/**
 * Products in a loyalty configuration: what users buy with what they have earned.
 *
 * @module
 */

import * as v from "valibot";
import type { CalendarUnit } from "../../calendar/mod.ts";
import { pricesMax, quantityMax, stockMax } from "./bounds.ts";
import { calendarUnitField, idField, integerBetween, optionalText, textField } from "./fields.ts";

/** An amount of a metric. */
export interface Price {
  /** Id of the metric. */
  readonly currency: string;
  readonly amount: number;
}

/** How much of a product there ever is. What was sold while it was unlimited does not count. */
export type Stock = { readonly type: "unlimited" } | { readonly type: "limited"; readonly quantity: number };

/** How often a user may have a product: ever, or in each day, week, month or year of the space's time zone. */
export interface ProductLimits {
  readonly perUser: number;
  readonly window?: CalendarUnit;
}

/**
 * How a product gets to its user. `coupon` and `inventory` are given at once; `manual` and `webhook` wait until an operator, or
 * the service that a webhook tells, says that the product was handed over.
 */
export type Fulfilment =
  | { readonly type: "coupon"; readonly couponId: string }
  | { readonly type: "inventory"; readonly inventorySetId: string; readonly inventoryItemId: string }
  | { readonly type: "manual" }
  | { readonly type: "webhook" };

/** Something that users may redeem. */
export interface Product {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly media: string;
  readonly category: string;
  /** As the shop names it. */
  readonly sku?: string;
  /** Any one of them is paid. */
  readonly prices: readonly Price[];
  readonly stock: Stock;
  readonly limits?: ProductLimits;
  /** Unix seconds; 0: always. */
  readonly availableFrom: number;
  /** Unix seconds, exclusive; 0: for ever. */
  readonly availableTo: number;
  readonly fulfilment: Fulfilment;
  readonly enabled: boolean;
}

const instantField = v.optional(integerBetween(0, 100_000_000_000), 0);

const stockField = v.variant("type", [
  v.strictObject({ type: v.literal("unlimited") }),
  v.strictObject({ type: v.literal("limited"), quantity: integerBetween(0, stockMax) }),
]);

const fulfilmentField = v.variant("type", [
  v.strictObject({ type: v.literal("coupon"), couponId: idField }),
  v.strictObject({ type: v.literal("inventory"), inventorySetId: idField, inventoryItemId: idField }),
  v.strictObject({ type: v.literal("manual") }),
  v.strictObject({ type: v.literal("webhook") }),
]);

const pricesField = v.pipe(
  v.array(v.strictObject({ currency: idField, amount: integerBetween(1, quantityMax) })),
  v.minLength(1),
  v.maxLength(pricesMax),
  v.check(
    prices => new Set(prices.map(({ currency }) => currency)).size === prices.length,
    "Expected one price for each currency",
  ),
);

/** A product. */
export const ProductSchema: v.GenericSchema<unknown, Product> = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    description: optionalText,
    media: optionalText,
    category: optionalText,
    sku: v.exactOptional(textField),
    prices: pricesField,
    stock: v.optional(stockField, { type: "unlimited" }),
    limits: v.exactOptional(
      v.strictObject({ perUser: integerBetween(1, stockMax), window: v.exactOptional(calendarUnitField) }),
    ),
    availableFrom: instantField,
    availableTo: instantField,
    fulfilment: fulfilmentField,
    enabled: v.optional(v.boolean(), true),
  }),
  v.check(
    ({ availableFrom, availableTo }) => availableTo === 0 || availableFrom < availableTo,
    "Expected availableFrom before availableTo",
  ),
);
