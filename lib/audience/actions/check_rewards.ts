/**
 * Checks the rewards that a request gives.
 *
 * @module
 */

import { Faults, itemsOf, optionalId, type PlacedItem, userOf } from "./faults.ts";

/** Longest reason, in characters. */
export const reasonCharactersMax = 256;
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
  if (typeof reason === "string" && reason.length <= reasonCharactersMax && reason.isWellFormed())
    return reason;
  faults.add(`Expected at most ${reasonCharactersMax} characters`, ...contentBase, "reason");
  return "";
}
