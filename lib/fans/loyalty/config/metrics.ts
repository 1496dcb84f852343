/**
 * Metrics and inventory in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { Immutable } from "../../../http/mod.ts";
import {
  capFields,
  durationField,
  idField,
  listOf,
  metricValue,
  notificationField,
  optionalText,
  partItemsMax,
  pointsExpiryField,
  quantityMax,
  textField,
} from "./fields.ts";

const lotPolicy = v.strictObject({
  activatesAfter: v.exactOptional(durationField),
  /** Counted from the activation of the points. */
  expires: v.exactOptional(pointsExpiryField),
  /** Tells the user, and webhooks, so long before points expire. */
  reminder: v.exactOptional(v.strictObject({ before: durationField, notification: notificationField })),
});

/**
 * The activation and expiry of earned points. A duration without hours and minutes ends with its last day in the time zone of
 * the space.
 */
export type LotPolicy = Immutable<v.InferOutput<typeof lotPolicy>>;

/** Schema of a metric. The ledger counts lots in whole points. */
export const MetricSchema = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    media: optionalText,
    defaultValue: v.optional(metricValue, 0),
    minimumValue: v.optional(metricValue, 0),
    maximumValue: v.optional(metricValue, quantityMax * 1_000),
    /** Keeps earned points in lots with activation and expiry. */
    lots: v.exactOptional(lotPolicy),
    /** The most that all rules together give a user. The last amount is given in part. */
    caps: listOf("MetricCaps", v.strictObject(capFields), partItemsMax),
    /** Lets a reversal take the value below `minimumValue`. */
    allowNegative: v.optional(v.boolean(), false),
  }),
  v.check(
    metric => metric.minimumValue <= metric.defaultValue && metric.defaultValue <= metric.maximumValue,
    "Expected minimumValue <= defaultValue <= maximumValue",
  ),
  v.check(
    metric =>
      metric.lots === undefined ||
      [metric.defaultValue, metric.minimumValue, metric.maximumValue].every(Number.isSafeInteger),
    "Expected whole numbers for defaultValue, minimumValue and maximumValue, as the metric keeps lots",
  ),
);

/** A number that users collect, such as points. */
export type Metric = Immutable<v.InferOutput<typeof MetricSchema>>;

const inventoryItem = v.strictObject({ id: idField, title: textField, media: optionalText });

export const InventorySetSchema = v.strictObject({
  id: idField,
  title: textField,
  items: listOf("InventoryItems", inventoryItem),
});
