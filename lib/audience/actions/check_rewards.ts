/**
 * Checks the rewards that a request gives.
 *
 * @module
 */

import { type PointDates, pointDateErrors } from "../../loyalty/user/history.ts";
import { momentOf } from "../_times.ts";
import { Faults, isObject, itemsOf, optionalId, type PlacedItem, userOf } from "../batch/items.ts";
import { propertiesOf } from "../batch/properties.ts";
import type { ActionData } from "../worker/queued_action.ts";

/** Longest reason, in characters. */
export const reasonCharactersMax = 256;
/** Longest title of a notification, in characters. */
export const notifyTitleCharactersMax = 256;
/** Longest message of a notification, in characters. */
export const notifyMessageCharactersMax = 1_024;
/** Most that one reward adds to a metric. */
export const amountMax = 1_000_000_000;

/** A reward as loyalty gives it. */
export type PlainReward =
  | ({
      readonly type: "metric";
      readonly metricId: string;
      readonly metricQuantity: number;
    } & PointDates)
  | { readonly type: "inventory"; readonly inventorySetId: string; readonly inventoryItemId: string }
  | { readonly type: "coupon"; readonly couponId: string };

/** A reward of a request. */
export interface RewardOrder {
  readonly userId: string;
  /** The id under which it is given once; null where the request gives none. */
  readonly rewardId: string | null;
  readonly reward: PlainReward;
  readonly reason: string;
  /** What the back end notes beside it; part of the transaction. */
  readonly metadata: ActionData;
  /** How the user is told of it; null: not at all. */
  readonly notification: RewardNotification | null;
}

/** How a user is told of a reward. */
export interface RewardNotification {
  readonly display: string;
  readonly title: string;
  readonly message: string;
}

/** A metric that a space has. */
export interface CataloguedMetric {
  /** How it keeps lots; only points of a metric that does may have dates. */
  readonly lots?: object;
}

/** What a space has to give. */
export interface RewardCatalogue {
  readonly metrics: { get(id: string): CataloguedMetric | undefined };
  readonly coupons: { has(id: string): boolean };
  readonly config: {
    readonly inventory: readonly {
      readonly id: string;
      readonly items: readonly { readonly id: string }[];
    }[];
  };
}

/** What rewards are checked on. */
export interface RewardCheck {
  readonly catalogue: RewardCatalogue;
  /** Unix ms. */
  readonly now: number;
}

const displays: readonly unknown[] = ["toast", "modal", "banner", "inbox"];

/**
 * The rewards of a body: one, a list, or an object with the list as `rewards`.
 *
 * @throws {AppError} `validation_failed` with every fault, also where the space has no such thing.
 */
export function checkRewards(body: unknown, check: RewardCheck): readonly RewardOrder[] {
  const faults = new Faults();
  const orders = itemsOf(body, "rewards", faults).map(placed => checkedReward(placed, check, faults));
  faults.refuseAny();
  return orders;
}

function checkedReward(placed: PlacedItem, check: RewardCheck, faults: Faults): RewardOrder {
  return {
    userId: userOf(placed, faults),
    rewardId: optionalId(placed, "rewardId", faults),
    reward: rewardOf(placed, check, faults),
    reason: reasonOf(placed, faults),
    metadata: propertiesOf(placed, "metadata", faults),
    notification: notificationOf(placed, faults),
  };
}

function rewardOf(placed: PlacedItem, check: RewardCheck, faults: Faults): PlainReward {
  const { content, contentBase } = placed;
  const { catalogue } = check;
  if (content.type !== "metric") refuseDates(placed, faults);
  switch (content.type) {
    case "inventory": {
      const inventorySetId = nameOf(placed, "inventorySetId");
      const inventoryItemId = nameOf(placed, "inventoryItemId");
      const set = catalogue.config.inventory.find(({ id }) => id === inventorySetId);
      if (set === undefined) unknown(placed, "inventorySetId", faults);
      else if (!set.items.some(({ id }) => id === inventoryItemId))
        unknown(placed, "inventoryItemId", faults);
      return { type: "inventory", inventorySetId, inventoryItemId };
    }
    case "coupon": {
      const couponId = nameOf(placed, "couponId");
      if (!catalogue.coupons.has(couponId)) unknown(placed, "couponId", faults);
      return { type: "coupon", couponId };
    }
    case "metric":
      break;
    default:
      faults.add("Expected metric, inventory or coupon", ...contentBase, "type");
  }
  return pointsOf(placed, check, faults);
}

function pointsOf(placed: PlacedItem, check: RewardCheck, faults: Faults): PlainReward {
  const { content, contentBase } = placed;
  const key = content.metricId === undefined ? "currency" : "metricId";
  const metricId = nameOf(placed, key);
  const metric = check.catalogue.metrics.get(metricId);
  if (content.type === "metric" && metric === undefined) unknown(placed, key, faults);
  const { amount } = content;
  const isAmount =
    typeof amount === "number" && Number.isSafeInteger(amount) && amount > 0 && amount <= amountMax;
  if (content.type === "metric" && !isAmount) {
    faults.add(`Expected an integer from 1 to ${amountMax}`, ...contentBase, "amount");
  }
  const metricQuantity = isAmount ? amount : 0;
  if (metric?.lots === undefined) {
    if (metric !== undefined) refuseDates(placed, faults);
    return { type: "metric", metricId, metricQuantity };
  }
  return { type: "metric", metricId, metricQuantity, ...datesOf(placed, check.now, faults) };
}

function refuseDates({ content, contentBase }: PlacedItem, faults: Faults): void {
  for (const name of ["availableAt", "expiresAt"]) {
    if (content[name] === undefined) continue;
    faults.add("Expected no dates: only points of a metric with lots have them", ...contentBase, name);
  }
}

function datesOf({ content, contentBase }: PlacedItem, now: number, faults: Faults): PointDates {
  const dates: { availableAt?: number; expiresAt?: number } = {};
  for (const name of ["availableAt", "expiresAt"] as const) {
    if (content[name] === undefined) continue;
    const at = momentOf(content[name]);
    if (at === null) faults.add("Expected a time in ISO 8601 with its offset", ...contentBase, name);
    else dates[name] = at;
  }
  for (const { member, detail } of pointDateErrors(dates, now)) faults.add(detail, ...contentBase, member);
  return dates;
}

function nameOf({ content }: PlacedItem, name: string): string {
  const value = content[name];
  return typeof value === "string" ? value : "";
}

function unknown({ content, contentBase }: PlacedItem, name: string, faults: Faults): void {
  const detail =
    content[name] === undefined ? "Is required" : "Expected what the configuration of the space has";
  faults.add(detail, ...contentBase, name);
}

function reasonOf({ content, contentBase }: PlacedItem, faults: Faults): string {
  const { reason = "" } = content;
  if (isText(reason, reasonCharactersMax)) return reason;
  faults.add(`Expected at most ${reasonCharactersMax} characters`, ...contentBase, "reason");
  return "";
}

function notificationOf({ content, contentBase }: PlacedItem, faults: Faults): RewardNotification | null {
  const { notify } = content;
  if (notify === undefined) return null;
  const { display = "toast", title, message = "", ...more } = isObject(notify) ? notify : {};
  const isTitled = isText(title, notifyTitleCharactersMax) && title !== "";
  const isKnown = displays.includes(display) && Object.keys(more).length === 0;
  if (isKnown && isTitled && isText(message, notifyMessageCharactersMax)) {
    return { display: String(display), title, message };
  }
  const detail = `Expected {title, message?, display?}: texts of at most ${notifyTitleCharactersMax} and ${notifyMessageCharactersMax} characters, and one of ${displays.join(", ")}`;
  faults.add(detail, ...contentBase, "notify");
  return null;
}

function isText(value: unknown, max: number): value is string {
  return typeof value === "string" && value.length <= max && value.isWellFormed();
}
