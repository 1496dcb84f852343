/**
 * Checks the rewards that a request gives.
 *
 * @module
 */

import { Faults, isObject, itemsOf, optionalId, type PlacedItem, userOf } from "./faults.ts";
import { propertiesOf } from "./properties.ts";
import type { ActionData } from "./queued_action.ts";

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
  | { readonly type: "metric"; readonly metricId: string; readonly metricQuantity: number }
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

/** What a space has to give. */
export interface RewardCatalogue {
  readonly metrics: { has(id: string): boolean };
  readonly coupons: { has(id: string): boolean };
  readonly config: {
    readonly inventory: readonly {
      readonly id: string;
      readonly items: readonly { readonly id: string }[];
    }[];
  };
}

const displays: readonly unknown[] = ["toast", "modal", "banner", "inbox"];

/** Members that say when points count, which the metric of the configuration decides. */
const undecidable = ["availableAt", "expiresAt"] as const;

/**
 * The rewards of a body: one, a list, or an object with the list as `rewards`.
 *
 * @throws {AppError} `validation_failed` with every fault, also where the space has no such thing.
 */
export function checkRewards(body: unknown, catalogue: RewardCatalogue): readonly RewardOrder[] {
  const faults = new Faults();
  const orders = itemsOf(body, "rewards", faults).map(placed => checkedReward(placed, catalogue, faults));
  faults.refuseAny();
  return orders;
}

function checkedReward(placed: PlacedItem, catalogue: RewardCatalogue, faults: Faults): RewardOrder {
  const { content, contentBase } = placed;
  for (const name of undecidable) {
    if (content[name] !== undefined)
      faults.add("Is decided by the metric of the configuration", ...contentBase, name);
  }
  return {
    userId: userOf(placed, faults),
    rewardId: optionalId(placed, "rewardId", faults),
    reward: rewardOf(placed, catalogue, faults),
    reason: reasonOf(placed, faults),
    metadata: propertiesOf(placed, "metadata", faults),
    notification: notificationOf(placed, faults),
  };
}

function rewardOf(placed: PlacedItem, catalogue: RewardCatalogue, faults: Faults): PlainReward {
  const { content, contentBase } = placed;
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
  const key = content.metricId === undefined ? "currency" : "metricId";
  const metricId = nameOf(placed, key);
  if (content.type === "metric" && !catalogue.metrics.has(metricId)) unknown(placed, key, faults);
  const { amount } = content;
  const isAmount =
    typeof amount === "number" && Number.isSafeInteger(amount) && amount > 0 && amount <= amountMax;
  if (content.type === "metric" && !isAmount) {
    faults.add(`Expected an integer from 1 to ${amountMax}`, ...contentBase, "amount");
  }
  return { type: "metric", metricId, metricQuantity: isAmount ? amount : 0 };
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
