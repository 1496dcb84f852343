/**
 * The loyalty configuration of a space: one document that is checked as a whole.
 *
 * The members that the loyalty API shows are named as it shows them. `actions`, `rules` and the `rule` of a mission
 * are ours: they say what earns something, and are never sent to clients.
 *
 * @module
 */

import * as v from "valibot";

/** Most metrics, inventory sets, challenges or rules of a configuration, and most items of a set. */
export const configListMax = 500;
/** Most missions, rewards or effects of one challenge or rule. */
export const configPartsMax = 50;
/** Longest id in a configuration, in characters. */
export const configIdCharactersMax = 64;
/** Highest count that a mission may ask for. */
export const missionCountMax = 1_000_000;
/** Largest amount that a single effect or reward may give or take. */
export const quantityMax = 1_000_000_000;

/** A number that fans collect. */
export interface Metric {
  readonly id: string;
  readonly title: string;
  readonly media: string;
  readonly defaultValue: number;
  readonly minimumValue: number;
  readonly maximumValue: number;
}

/** A set of things that fans own or do not own. */
export interface InventorySet {
  readonly id: string;
  readonly title: string;
  readonly items: readonly { readonly id: string; readonly title: string; readonly media: string }[];
}

/** How an achievement is announced. With `display` "none" it is not. */
export interface NotificationSetting {
  readonly display: string;
  readonly title: string;
  readonly message: string;
}

/** What an effect or reward gives. A negative metric quantity takes. */
export type Reward =
  | { readonly type: "metric"; readonly metricId: string; readonly metricQuantity: number }
  | { readonly type: "inventory"; readonly inventorySetId: string; readonly inventoryItemId: string };

/** A step of a challenge: an action, reported `count` times under a condition. */
export interface Mission {
  readonly id: string;
  readonly title: string;
  readonly type: string;
  readonly notification: NotificationSetting;
  readonly rule: { readonly action: string; readonly when?: unknown; readonly count: number };
}

/** Missions that, once all are completed inside the time window, earn rewards. */
export interface Challenge {
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  readonly notification: NotificationSetting;
  readonly showInProfile: boolean;
  readonly showInRail: boolean;
  /** `from` and `to` in Unix seconds; `to` is exclusive, and 0 means without end. */
  readonly time: { readonly showInUI: boolean; readonly from: number; readonly to: number };
  /** `members`: shown only to callers that are signed in. */
  readonly visibility: "public" | "members";
  readonly missions: readonly Mission[];
  readonly rewards: readonly Reward[];
}

/** An action that the space knows. */
export interface ActionDefinition {
  readonly name: string;
  /** Whether a fan's own device may report it. */
  readonly clientReportable: boolean;
}

/** What an action earns each time that it is reported under a condition. */
export interface Rule {
  readonly id: string;
  readonly trigger: { readonly action: string };
  readonly when?: unknown;
  readonly effects: readonly Reward[];
  /** Lower first; rules of equal priority apply in the order of their ids. */
  readonly priority: number;
}

/** A whole loyalty configuration. */
export interface LoyaltyConfig {
  readonly metrics: readonly Metric[];
  readonly inventory: readonly InventorySet[];
  readonly actions: readonly ActionDefinition[];
  readonly challenges: readonly Challenge[];
  readonly rules: readonly Rule[];
}

/** Names that objects answer to by themselves; as ids they would read what nobody stored. */
const reservedIds: readonly string[] = ["__proto__", "constructor", "prototype"];
const id = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9._-]+$/),
  v.maxLength(configIdCharactersMax),
  v.check(value => !reservedIds.includes(value), "Expected an id that is not reserved"),
);
const uuid = v.pipe(v.string(), v.uuid());
const text = v.pipe(v.string(), v.maxLength(1_000));
const integer = v.pipe(v.number(), v.safeInteger());
const bounded = v.pipe(v.number(), v.minValue(-quantityMax * 1_000), v.maxValue(quantityMax * 1_000));
const quantity = v.pipe(integer, v.minValue(-quantityMax), v.maxValue(quantityMax));
/** The name of an action: 1 to 64 characters. */
export const ActionNameSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(64),
);

function list<S extends v.GenericSchema>(
  item: S,
  max: number = configListMax,
): v.GenericSchema<v.InferInput<S>[] | undefined, v.InferOutput<S>[]> {
  return v.optional(v.pipe(v.array(item), v.maxLength(max)), []);
}

const NotificationSettingSchema = v.optional(
  v.object({ display: v.optional(text, "none"), title: v.optional(text, ""), message: v.optional(text, "") }),
  {},
);

const RewardSchema = v.variant("type", [
  v.object({ type: v.literal("metric"), metricId: id, metricQuantity: quantity }),
  v.object({ type: v.literal("inventory"), inventorySetId: id, inventoryItemId: id }),
]);

const MetricSchema = v.pipe(
  v.object({
    id,
    title: text,
    media: v.optional(text, ""),
    defaultValue: v.optional(bounded, 0),
    minimumValue: v.optional(bounded, 0),
    maximumValue: v.optional(bounded, quantityMax * 1_000),
  }),
  v.check(
    metric => metric.minimumValue <= metric.defaultValue && metric.defaultValue <= metric.maximumValue,
    "Expected minimumValue <= defaultValue <= maximumValue",
  ),
);

const MissionSchema = v.object({
  id: uuid,
  title: text,
  type: v.optional(text, "action"),
  notification: NotificationSettingSchema,
  rule: v.object({
    action: ActionNameSchema,
    when: v.exactOptional(v.unknown()),
    count: v.optional(v.pipe(integer, v.minValue(1), v.maxValue(missionCountMax)), 1),
  }),
});

const ChallengeSchema = v.object({
  id: uuid,
  title: text,
  subtitle: v.optional(text, ""),
  notification: NotificationSettingSchema,
  showInProfile: v.optional(v.boolean(), true),
  showInRail: v.optional(v.boolean(), false),
  time: v.optional(
    v.object({
      showInUI: v.optional(v.boolean(), false),
      from: v.optional(v.pipe(integer, v.minValue(0)), 0),
      to: v.optional(v.pipe(integer, v.minValue(0)), 0),
    }),
    {},
  ),
  visibility: v.optional(v.picklist(["public", "members"]), "public"),
  missions: v.pipe(v.array(MissionSchema), v.minLength(1), v.maxLength(configPartsMax)),
  rewards: list(RewardSchema, configPartsMax),
});

/** Checks the shape of a configuration and fills in defaults. {@linkcode compileConfig} checks what refers to what. */
export const LoyaltyConfigSchema: v.GenericSchema<unknown, LoyaltyConfig> = v.object({
  metrics: list(MetricSchema),
  inventory: list(
    v.object({
      id,
      title: text,
      items: list(v.object({ id, title: text, media: v.optional(text, "") })),
    }),
  ),
  actions: list(v.object({ name: ActionNameSchema, clientReportable: v.optional(v.boolean(), false) })),
  challenges: list(ChallengeSchema),
  rules: list(
    v.object({
      id,
      trigger: v.object({ action: ActionNameSchema }),
      when: v.exactOptional(v.unknown()),
      effects: v.pipe(v.array(RewardSchema), v.minLength(1), v.maxLength(configPartsMax)),
      priority: v.optional(integer, 0),
    }),
  ),
}) as unknown as v.GenericSchema<unknown, LoyaltyConfig>;
