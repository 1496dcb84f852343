/**
 * Products in a loyalty configuration, which users buy with points.
 *
 * @module
 */

import * as v from "valibot";
import type { Immutable } from "../../../http/mod.ts";
import { conditionField } from "./expression_fields.ts";
import {
  calendarUnitField,
  idField,
  instantField,
  integerBetween,
  optionalText,
  quantityMax,
  textField,
} from "./fields.ts";

const pricesMax = 10;
const stockMax = 1_000_000_000;

const stockField = v.variant("type", [
  v.strictObject({ type: v.literal("unlimited") }),
  v.strictObject({
    type: v.literal("limited"),
    quantity: integerBetween(0, stockMax),
    /** Sells the quantity anew in each period of the document's calendar. @default the quantity that will ever be sold */
    window: v.exactOptional(calendarUnitField),
  }),
]);

const fulfilmentField = v.variant("type", [
  v.strictObject({ type: v.literal("coupon"), couponId: idField }),
  v.strictObject({ type: v.literal("inventory"), inventorySetId: idField, inventoryItemId: idField }),
  v.strictObject({ type: v.literal("manual") }),
  v.strictObject({ type: v.literal("webhook") }),
]);

/**
 * The delivery of a product. `coupon` and `inventory` are given at once. `manual` and `webhook` wait until an operator or the
 * notified service completes the redemption.
 */
export type Fulfilment = Immutable<v.InferOutput<typeof fulfilmentField>>;

const priceField = v.strictObject({ currency: idField, amount: integerBetween(1, quantityMax) });

/** An amount of the metric that serves as currency. */
export type Price = Immutable<v.InferOutput<typeof priceField>>;

const pricesField = v.pipe(
  v.array(priceField),
  v.minLength(1),
  v.maxLength(pricesMax),
  v.check(
    prices => new Set(prices.map(({ currency }) => currency)).size === prices.length,
    "Expected one price for each currency",
  ),
);

export const ProductSchema = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    description: optionalText,
    media: optionalText,
    category: optionalText,
    sku: v.exactOptional(textField),
    /** Who may buy it. Checked once, when the price is taken. @default everybody */
    when: v.exactOptional(conditionField),
    /** The buyer pays one of these. */
    prices: pricesField,
    /** Sales while the stock was unlimited do not count. */
    stock: v.optional(stockField, { type: "unlimited" }),
    limits: v.exactOptional(
      v.strictObject({ perUser: integerBetween(1, stockMax), window: v.exactOptional(calendarUnitField) }),
    ),
    /** Unix seconds; 0: always. */
    availableFrom: instantField,
    /** Unix seconds, exclusive; 0: without end. */
    availableTo: instantField,
    fulfilment: fulfilmentField,
    enabled: v.optional(v.boolean(), true),
  }),
  v.check(
    ({ availableFrom, availableTo }) => availableTo === 0 || availableFrom < availableTo,
    "Expected availableFrom before availableTo",
  ),
);

/** Something that users may redeem. */
export type Product = Immutable<v.InferOutput<typeof ProductSchema>>;
