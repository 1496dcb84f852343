/** Metrics and inventory in a loyalty configuration. */

import * as v from "valibot";
import { isLoopback } from "../../../base/text/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import {
  ActionNameSchema,
  calendarUnitField,
  capFields,
  choiceOf,
  conditionField,
  dataVariableField,
  durationField,
  expiryField,
  hasMember,
  idField,
  instantField,
  integerBetween,
  listOf,
  metricValue,
  nonEmptyListOf,
  notificationField,
  numberField,
  optionalText,
  partItemsMax,
  pointsExpiryField,
  quantityField,
  quantityMax,
  textField,
  uuidField,
} from "./fields.ts";

const lotPolicy = v.strictObject({
  activatesAfter: v.exactOptional(durationField),
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

const metric = v.strictObject({
  type: v.literal("metric"),
  metricId: idField,
  /** Takes where it is negative. */
  metricQuantity: quantityField,
});
const inventory = v.strictObject({
  type: v.literal("inventory"),
  inventorySetId: idField,
  inventoryItemId: idField,
});
const coupon = v.strictObject({ type: v.literal("coupon"), couponId: idField });
const bundle = v.strictObject({ type: v.literal("reward"), rewardId: idField });

export const RewardSchema = v.variant("type", [metric, inventory, coupon, bundle]);

/** Points, an item, a coupon or a bundle of these. */
export type Reward = Immutable<v.InferOutput<typeof RewardSchema>>;

export type SingleReward = Exclude<Reward, { readonly type: "reward" }>;

export type MetricReward = Extract<Reward, { readonly type: "metric" }>;

/** Schema of a named bundle. A bundle contains no bundles. */
export const RewardDefinitionSchema = v.strictObject({
  id: idField,
  title: textField,
  effects: nonEmptyListOf("RewardEffects", v.variant("type", [metric, inventory, coupon])),
});

export const CouponSchema = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    link: optionalText,
    /** `unique`: each user gets another code of the pool; `shared`: all get `code`. */
    type: v.picklist(["unique", "shared"]),
    code: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
    poolId: v.exactOptional(idField),
    showOnNotification: v.optional(v.boolean(), false),
    expiresAfter: v.exactOptional(durationField),
  }),
  v.check(
    ({ type, code, poolId }) =>
      type === "shared"
        ? code !== undefined && poolId === undefined
        : poolId !== undefined && code === undefined,
    "Expected a code for a shared coupon, or a poolId for a unique one, and not both",
  ),
);

export type Coupon = Immutable<v.InferOutput<typeof CouponSchema>>;

/** Schema of a pool of codes. The codes are never part of a configuration. */
export const CodePoolSchema = v.strictObject({ id: idField, title: textField });

/** The number that a ladder follows: the balance of its metric, or all that was ever earned of it and became usable. */
const measures = ["balance", "earned"] as const;

const milestone = v.strictObject({
  id: idField,
  title: textField,
  media: optionalText,
  /** The measure of the metric from which the milestone is reached. */
  threshold: metricValue,
  rewards: v.optional(v.pipe(v.array(RewardSchema), v.maxLength(partItemsMax)), []),
  notification: notificationField,
});

export const MilestoneSetSchema = v.pipe(
  v.strictObject({
    id: idField,
    title: textField,
    metricId: idField,
    measure: v.optional(v.picklist(measures), "balance"),
    /** Profiles show the milestones of the first such set as tiers. */
    isTier: v.optional(v.boolean(), false),
    /** The time for which a milestone is held. If the metric is below the threshold then, the user falls. @default for ever */
    requalify: v.exactOptional(expiryField),
    milestones: v.pipe(
      nonEmptyListOf("MilestoneSteps", milestone),
      v.check(
        steps =>
          steps.every(({ threshold }, i) => i === 0 || threshold > (steps[i - 1]?.threshold ?? threshold)),
        "Expected milestones with ascending thresholds",
      ),
    ),
  }),
  v.check(
    ({ measure, requalify }) => measure === "balance" || requalify === undefined,
    "Expected no requalify where measure is earned, as spending and time take nothing of it",
  ),
);

/** Milestones along a metric. Each is reached once and kept when the metric falls, except where users have to requalify. */
export type MilestoneSet = Immutable<v.InferOutput<typeof MilestoneSetSchema>>;

const missionCountMax = 1_000_000;
/** The run of a user keeps each value. */
const distinctCountMax = 1_000;

const when = v.exactOptional(conditionField);

const actionRule = v.strictObject({
  action: ActionNameSchema,
  when,
  /** The mission is complete once the amounts of the actions add up to this. */
  count: v.optional(integerBetween(1, missionCountMax), 1),
  amount: v.exactOptional(numberField),
});
const distinctRule = v.strictObject({
  action: ActionNameSchema,
  when,
  /** The mission is complete once the actions had this many different values. */
  count: v.optional(integerBetween(1, distinctCountMax), 1),
  distinct: dataVariableField,
});
const metricRule = v.strictObject({ metric: idField, atLeast: metricValue });

const mission = v.strictObject({
  id: uuidField,
  title: textField,
  type: v.optional(textField, "action"),
  notification: notificationField,
  rule: choiceOf("MissionRule", [actionRule, distinctRule, metricRule], input =>
    hasMember(input, "metric") ? metricRule : hasMember(input, "distinct") ? distinctRule : actionRule,
  ),
});

export type Mission = Immutable<v.InferOutput<typeof mission>>;

export const ChallengeSchema = v.pipe(
  v.strictObject({
    id: uuidField,
    title: textField,
    subtitle: optionalText,
    media: optionalText,
    notification: notificationField,
    failureNotification: notificationField,
    showInProfile: v.optional(v.boolean(), true),
    showInRail: v.optional(v.boolean(), false),
    /** `from` and `to` in Unix seconds. `to` is exclusive, and 0 means without end. */
    time: v.optional(
      v.strictObject({ showInUI: v.optional(v.boolean(), false), from: instantField, to: instantField }),
      { showInUI: false, from: 0, to: 0 },
    ),
    /** `members`: shown to signed-in callers only. */
    visibility: v.optional(v.picklist(["public", "members"]), "public"),
    /** `auto`: the first action that counts starts it; `rule`: only the effect of a rule does. */
    start: v.optional(v.picklist(["auto", "rule"]), "auto"),
    /** The challenge fails this long after its start. */
    within: v.exactOptional(durationField),
    /** An action that fails the challenge. */
    fail: v.exactOptional(v.strictObject({ action: ActionNameSchema, when })),
    /** `onExpiration` starts anew once `period` or `within` is over. */
    recurrence: v.optional(v.picklist(["none", "onCompletion", "onExpiration"]), "none"),
    period: v.exactOptional(calendarUnitField),
    /** Challenges to complete before this one can start. */
    requires: listOf("RequiredChallenges", uuidField, partItemsMax),
    missions: nonEmptyListOf("ChallengeMissions", mission),
    rewards: listOf("ChallengeRewards", RewardSchema, partItemsMax),
  }),
  v.check(({ time: { from, to } }) => to === 0 || from < to, "Expected time.from before time.to"),
  v.check(
    ({ recurrence, period }) => period === undefined || recurrence === "onExpiration",
    "Expected a period only where recurrence is onExpiration",
  ),
  v.check(
    ({ recurrence, period, within }) =>
      recurrence !== "onExpiration" || period !== undefined || within !== undefined,
    "Expected a period or within, as recurrence is onExpiration",
  ),
);

/** Missions that earn rewards once all are completed in time. */
export type Challenge = Immutable<v.InferOutput<typeof ChallengeSchema>>;

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

export type Product = Immutable<v.InferOutput<typeof ProductSchema>>;

const urlCharactersMax = 1_024;

export const transactionTypes = [
  "actionRewarded",
  "missionCompleted",
  "challengeStarted",
  "challengeCompleted",
  "challengeFailed",
  "milestoneReached",
  "milestoneLost",
  "couponReceived",
  "pointsExpired",
  "pointsExpiring",
  "pointsActivated",
  "rewardGranted",
  "rewardRefused",
  "adjusted",
  "reversed",
  "redeemed",
  "redemptionConfirmed",
  "redemptionRejected",
  "redemptionCompleted",
  "redemptionRefunded",
] as const;

/** The events that a webhook can subscribe to: every type of transaction, the ends of exports, and pools that run out of codes. */
const webhookEvents = [
  ...transactionTypes,
  "exportCompleted",
  "exportFailed",
  "codePoolLow",
  "codePoolEmpty",
] as const;

function isWebhookUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

/** Schema of a webhook. The signing secret is never part of a configuration. */
export const WebhookDefinitionSchema = v.strictObject({
  id: idField,
  url: v.pipe(
    v.string(),
    v.maxLength(urlCharactersMax),
    v.check(isWebhookUrl, "Expected an https address without credentials, or http on the machine itself"),
  ),
  events: nonEmptyListOf<string>("WebhookEvents", v.picklist(webhookEvents)),
});

export type WebhookDefinition = Immutable<v.InferOutput<typeof WebhookDefinitionSchema>>;
