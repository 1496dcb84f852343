/**
 * Metrics and inventory in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { CalendarUnit, Duration } from "../../calendar/mod.ts";
import { quantityMax } from "./bounds.ts";
import {
  calendarUnitField,
  choiceOf,
  durationField,
  hasMember,
  idField,
  listOf,
  metricValue,
  optionalText,
  textField,
} from "./fields.ts";

/** A number that fans collect. */
export interface Metric {
  readonly id: string;
  readonly title: string;
  readonly media: string;
  readonly defaultValue: number;
  readonly minimumValue: number;
  readonly maximumValue: number;
  /** Keeps what is earned in lots, which may begin and end to count at times of their own. */
  readonly lots?: LotPolicy;
  /** Whether a reversal may take the value below `minimumValue`. */
  readonly allowNegative: boolean;
}

/**
 * When an earned amount begins to count, and until when it does. Durations without hours and minutes are over at the end of
 * their last day in the space's zone.
 */
export interface LotPolicy {
  readonly activatesAfter?: Duration;
  /** Counted from when it begins to count. */
  readonly expires?: { readonly after: Duration } | { readonly endOf: CalendarUnit };
}

/** A set of things that fans own or do not own. */
export interface InventorySet {
  readonly id: string;
  readonly title: string;
  readonly items: readonly InventoryItem[];
}

/** A thing that a fan may own. */
export interface InventoryItem {
  readonly id: string;
  readonly title: string;
  readonly media: string;
}

const expiresAfter = v.strictObject({ after: durationField });
const expiresAtEnd = v.strictObject({ endOf: calendarUnitField });
const expiryField = choiceOf<NonNullable<LotPolicy["expires"]>>([expiresAfter, expiresAtEnd], input =>
  hasMember(input, "endOf") ? expiresAtEnd : expiresAfter,
);

const lotsField = v.strictObject({
  activatesAfter: v.exactOptional(durationField),
  expires: v.exactOptional(expiryField),
});

/** A metric. The ledger counts lots in whole points. */
export const MetricSchema: v.GenericSchema<unknown, Metric> = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    media: optionalText,
    defaultValue: v.optional(metricValue, 0),
    minimumValue: v.optional(metricValue, 0),
    maximumValue: v.optional(metricValue, quantityMax * 1_000),
    lots: v.exactOptional(lotsField),
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

/** A set of items. */
export const InventorySetSchema: v.GenericSchema<unknown, InventorySet> = v.strictObject({
  id: idField,
  title: textField,
  items: listOf(v.strictObject({ id: idField, title: textField, media: optionalText })),
});
