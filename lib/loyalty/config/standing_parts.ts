/**
 * What is left of a configuration whose shape has faults: enough to check the parts without any, so that whoever wrote it is
 * told everything at once.
 *
 * Every malformed part is replaced by a stub in its place. What refers to it finds it, and nothing is told of the stub itself: a
 * fault that only follows from another one would lead astray.
 *
 * @module
 */

import * as v from "valibot";
import { configListMax } from "./bounds.ts";
import { ChallengeSchema } from "./challenges.ts";
import type { LoyaltyConfig } from "./document.ts";
import { idField, uuidField } from "./fields.ts";
import { InventorySetSchema, MetricSchema } from "./metrics.ts";
import { keepForDefault } from "./notifications.ts";
import { ProductSchema } from "./products.ts";
import { CodePoolSchema, CouponSchema, MilestoneSetSchema, RewardDefinitionSchema } from "./rewards.ts";
import { ActionSchema, EffectSchema, RuleSchema, TriggerSchema } from "./rules.ts";
import { WebhookDefinitionSchema, webhookEvents } from "./webhooks.ts";

/** The parts of a configuration that can be checked. */
export interface StandingParts {
  readonly config: LoyaltyConfig;
  /** Whether a pointer leads into a stub. */
  readonly isStub: (pointer: string) => boolean;
}

type Members = Readonly<Record<string, unknown>>;

/** How a malformed part is replaced; by nothing where what others may refer to cannot be told. */
interface Kind<T> {
  readonly schema: v.GenericSchema<unknown, T>;
  readonly stub: (id: string, part: Members) => T | null;
}

type ListName = Exclude<keyof LoyaltyConfig, "timeZone" | "notifications">;
type PartOf = { readonly [K in ListName]: LoyaltyConfig[K][number] };
type Kinds = { readonly [K in ListName]: Kind<PartOf[K]> };

const title = "";
const media = "";
const notification = { display: "none", title: "", message: "" };
const untold = {
  subtitle: "",
  media,
  notification,
  failureNotification: notification,
  showInProfile: false,
  showInRail: false,
} as const;
const always = { showInUI: false, from: 0, to: 0 };

const kinds: Kinds = {
  metrics: {
    schema: MetricSchema,
    stub: id => ({
      id,
      title,
      media,
      defaultValue: 0,
      minimumValue: 0,
      maximumValue: 0,
      allowNegative: false,
    }),
  },
  inventory: {
    schema: InventorySetSchema,
    stub: (id, { items = [] }) => {
      const ids = idsIn(items, idField);
      return ids === null ? null : { id, title, items: ids.map(item => ({ id: item, title, media })) };
    },
  },
  milestones: {
    schema: MilestoneSetSchema,
    stub: id => ({ id, title, metricId: "", isTier: false, milestones: [] }),
  },
  coupons: {
    schema: CouponSchema,
    stub: id => ({ id, title, link: "", type: "shared", code: "", showOnNotification: false }),
  },
  codePools: { schema: CodePoolSchema, stub: id => ({ id, title }) },
  actions: { schema: ActionSchema, stub: (_, { name }) => ({ name: textOf(name), clientReportable: false }) },
  challenges: {
    schema: ChallengeSchema,
    stub: (id, { missions = [] }) => {
      const ids = idsIn(missions, uuidField);
      if (ids === null) return null;
      const rule = { metric: "", atLeast: 0 };
      return {
        ...untold,
        id,
        title,
        time: always,
        visibility: "members",
        start: "rule",
        recurrence: "none",
        requires: [],
        missions: ids.map(mission => ({ id: mission, title, type: "", notification, rule })),
        rewards: [],
      };
    },
  },
  rules: { schema: RuleSchema, stub: id => ({ ...unfired, id }) },
  rewards: { schema: RewardDefinitionSchema, stub: id => ({ id, title, effects: [] }) },
  products: {
    schema: ProductSchema,
    stub: id => ({
      id,
      title,
      media,
      description: "",
      category: "",
      prices: [],
      stock: { type: "unlimited" },
      availableFrom: 0,
      availableTo: 0,
      fulfilment: { type: "manual" },
      enabled: false,
    }),
  },
  webhooks: { schema: WebhookDefinitionSchema, stub: id => ({ id, url: "", events: webhookEvents }) },
};

const unfired: Omit<LoyaltyConfig["rules"][number], "id"> = {
  trigger: { action: "" },
  effects: [],
  priority: 0,
  limits: [],
  enabled: false,
};

/** What of a document can be checked although its shape has faults; null where too little of it is there. */
export function standingParts(document: unknown): StandingParts | null {
  if (!isObject(document)) return null;
  const parts = new Parts(document);
  const config: LoyaltyConfig = {
    timeZone: "UTC",
    metrics: parts.list("metrics"),
    inventory: parts.list("inventory"),
    milestones: parts.list("milestones"),
    coupons: parts.list("coupons"),
    codePools: parts.list("codePools"),
    actions: parts.list("actions"),
    challenges: parts.list("challenges"),
    rules: parts.list("rules").map((rule, index) => parts.ruleAt(index) ?? rule),
    rewards: parts.list("rewards"),
    products: parts.list("products"),
    webhooks: parts.list("webhooks"),
    notifications: { keepFor: keepForDefault },
  };
  return parts.isTold ? { config, isStub: pointer => parts.isStub(pointer) } : null;
}

class Parts {
  /** Whether all that parts may refer to is known. */
  isTold = true;
  readonly #document: Members;
  readonly #stubs = new Set<string>();

  constructor(document: Members) {
    this.#document = document;
  }

  list<K extends ListName>(name: K): PartOf[K][] {
    const list = this.#document[name] ?? [];
    if (!Array.isArray(list) || list.length > configListMax) {
      this.isTold = false;
      return [];
    }
    return list.flatMap((part: unknown, index) => this.#part(name, part, index) ?? []);
  }

  /** A malformed rule of which the trigger is known: its condition and its other effects can be checked. */
  ruleAt(index: number): LoyaltyConfig["rules"][number] | null {
    const pointer = `/rules/${index}`;
    const rule = Object(this.#document.rules)[index] as unknown;
    if (!this.#stubs.has(pointer) || !isObject(rule)) return null;
    const trigger = v.safeParse(TriggerSchema, rule.trigger);
    if (!trigger.success) return null;
    this.#stubs.delete(pointer);
    const effects = Array.isArray(rule.effects) ? rule.effects.map(effectOr) : [];
    const when = rule.when === undefined ? {} : { when: rule.when };
    return { ...unfired, ...when, id: idOf(rule, index), trigger: trigger.output, effects };
  }

  isStub(pointer: string): boolean {
    const [, list, index] = pointer.split("/");
    return this.#stubs.has(`/${list}/${index}`);
  }

  #part<K extends ListName>(name: K, part: unknown, index: number): PartOf[K] | null {
    const { schema, stub }: Kind<PartOf[K]> = kinds[name];
    const parsed = v.safeParse(schema, part);
    if (parsed.success) return parsed.output;
    this.#stubs.add(`/${name}/${index}`);
    const made = isObject(part) ? stub(idOf(part, index), part) : null;
    if (made === null) this.isTold = false;
    return made;
  }
}

function effectOr(effect: unknown): LoyaltyConfig["rules"][number]["effects"][number] {
  const parsed = v.safeParse(EffectSchema, effect);
  return parsed.success ? parsed.output : { type: "notification", notification };
}

/** The id of a malformed part; one that no part can have where it has none. */
function idOf({ id }: Members, index: number): string {
  return typeof id === "string" ? id : `#${index}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function idsIn(list: unknown, schema: v.GenericSchema<unknown, string>): readonly string[] | null {
  if (!Array.isArray(list) || list.length > configListMax) return null;
  return list.flatMap(part => {
    const parsed = v.safeParse(schema, isObject(part) ? part.id : null);
    return parsed.success ? [parsed.output] : [];
  });
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
