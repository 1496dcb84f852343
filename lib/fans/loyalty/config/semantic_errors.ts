/**
 * Checks between the parts of a loyalty configuration: taken ids, dangling references, challenges that wait for each other, and
 * sizes that follow from several parts.
 */

import type { FieldError } from "../../../base/errors/mod.ts";
import { suggestion } from "../../../base/text/suggest.ts";
import { type CompiledAggregate, type TriggerKind, toCounterWindow } from "./compiled.ts";
import type { Challenge, LoyaltyConfig, Product, Reward, RuleEffect } from "./document.ts";

const rewardsTotalMax = 250;
const windowStepsTotalMax = 10_000;

type Bundles = ReadonlyMap<string, readonly unknown[]>;

/** Finds every taken id, dangling reference and circle of challenges. */
export function referenceErrors(config: LoyaltyConfig): FieldError[] {
  return [...duplicateIds(config), ...new ReferenceChecker(config).errors(), ...circles(config.challenges)];
}

/** Finds the parts that give too much at once, and windows with too many steps together. */
export function sizeErrors(
  config: LoyaltyConfig,
  { bundles, aggregates }: { readonly bundles: Bundles; readonly aggregates: readonly CompiledAggregate[] },
): FieldError[] {
  const given: (readonly [pointer: string, rewards: readonly (RuleEffect | Reward)[]])[] = [
    ...config.rules.map(({ effects }, r) => [`/rules/${r}/effects`, effects] as const),
    ...config.challenges.map(({ rewards }, c) => [`/challenges/${c}/rewards`, rewards] as const),
    ...config.milestones.flatMap(({ milestones }, m) =>
      milestones.map(({ rewards }, i) => [`/milestones/${m}/milestones/${i}/rewards`, rewards] as const),
    ),
  ];
  const errors = given.flatMap(([pointer, rewards]) => {
    const detail = rewardCountError(rewards, bundles);
    return detail === null ? [] : [{ pointer, detail }];
  });
  if (windowSteps(config, aggregates) > windowStepsTotalMax) {
    const detail = `Count in windows of at most ${windowStepsTotalMax} steps together, for example in hours instead of minutes`;
    errors.push({ pointer: "", detail });
  }
  return errors;
}

/** Explains that rewards, with the contents of their bundles, are too many to give at once; null where they are not. */
export function rewardCountError(
  rewards: readonly { readonly type: string; readonly rewardId?: unknown }[],
  bundles: Bundles,
): string | null {
  let count = 0;
  for (const { type, rewardId } of rewards) {
    const isBundle = type === "reward" && typeof rewardId === "string";
    count += isBundle ? (bundles.get(rewardId)?.length ?? 0) : 1;
  }
  return count > rewardsTotalMax ? `Give at most ${rewardsTotalMax}, those of bundles included` : null;
}

function windowSteps(
  { rules, metrics, weekStartsOn }: LoyaltyConfig,
  aggregates: readonly CompiledAggregate[],
): number {
  const bounds = [
    ...rules.flatMap(({ limits, caps }) => [...limits, ...caps]),
    ...metrics.flatMap(({ caps }) => caps),
  ];
  const limits = bounds.map(({ window }) => toCounterWindow(window, weekStartsOn));
  return [...aggregates.map(({ window }) => window), ...limits].reduce(
    (steps, window) => steps + (window.kind === "buckets" ? window.last : 1),
    0,
  );
}

function idsOf(parts: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(parts.map(({ id }) => id));
}

function duplicateIds(config: LoyaltyConfig): FieldError[] {
  const { inventory, milestones, challenges } = config;
  const lists: (readonly [pointer: string, parts: readonly IdentifiedPart[]])[] = [
    ...Object.entries(config).flatMap(([name, parts]) =>
      Array.isArray(parts) ? [[`/${name}`, parts as readonly IdentifiedPart[]] as const] : [],
    ),
    ...inventory.map(({ items }, i) => [`/inventory/${i}/items`, items] as const),
    ...milestones.map((set, m) => [`/milestones/${m}/milestones`, set.milestones] as const),
    ...challenges.map(({ missions }, c) => [`/challenges/${c}/missions`, missions] as const),
  ];
  return lists.flatMap(([pointer, parts]) => {
    const ids = parts.map(part => ("id" in part ? part.id : part.name));
    return ids.flatMap((id, index) =>
      ids.indexOf(id) === index
        ? []
        : [{ pointer: `${pointer}/${index}`, detail: "Expected an id that no earlier one has" }],
    );
  });
}

type IdentifiedPart = { readonly id: string } | { readonly name: string };

type ReferencedList = keyof ReturnType<typeof referencedIds>;

function referencedIds(config: LoyaltyConfig) {
  return {
    metrics: idsOf(config.metrics),
    inventory: idsOf(config.inventory),
    milestones: idsOf(config.milestones),
    coupons: idsOf(config.coupons),
    codePools: idsOf(config.codePools),
    rewards: idsOf(config.rewards),
    actions: new Set(config.actions.map(({ name }) => name)),
    challenges: idsOf(config.challenges),
  };
}

const triggerLists: Readonly<Record<Exclude<TriggerKind, "challengeStarted">, ReferencedList>> = {
  action: "actions",
  metric: "metrics",
  milestoneReached: "milestones",
  inventoryReceived: "inventory",
  challengeCompleted: "challenges",
};

class ReferenceChecker {
  readonly #config: LoyaltyConfig;
  readonly #ids: ReturnType<typeof referencedIds>;
  readonly #items: ReadonlySet<string>;
  readonly #missions: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #errors: FieldError[] = [];

  constructor(config: LoyaltyConfig) {
    this.#config = config;
    this.#ids = referencedIds(config);
    this.#items = new Set(config.inventory.flatMap(set => set.items.map(item => `${set.id}/${item.id}`)));
    this.#missions = new Map(config.challenges.map(({ id, missions }) => [id, idsOf(missions)]));
  }

  errors(): readonly FieldError[] {
    const { rules, challenges, milestones, coupons, rewards, products, multipliers } = this.#config;
    for (const [c, { poolId }] of coupons.entries()) {
      if (poolId !== undefined) this.#expect("codePools", poolId, `/coupons/${c}/poolId`);
    }
    for (const [r, { effects }] of rewards.entries()) this.#effects(effects, `/rewards/${r}/effects`);
    for (const [m, set] of milestones.entries()) {
      this.#expect("metrics", set.metricId, `/milestones/${m}/metricId`);
      for (const [i, milestone] of set.milestones.entries()) {
        this.#effects(milestone.rewards, `/milestones/${m}/milestones/${i}/rewards`);
      }
    }
    const tags = new Set(rules.flatMap(rule => rule.tags));
    for (const [m, { tag }] of multipliers.entries()) {
      if (tag !== undefined && !tags.has(tag))
        this.#report(`/multipliers/${m}/tag`, "Expected a tag of a rule");
    }
    for (const [p, product] of products.entries()) this.#product(product, `/products/${p}`);
    for (const [c, challenge] of challenges.entries()) this.#challenge(challenge, `/challenges/${c}`);
    for (const [r, rule] of rules.entries()) {
      for (const [kind, id] of Object.entries(rule.trigger)) {
        this.#expect(triggerLists[kind as keyof typeof triggerLists], id, `/rules/${r}/trigger/${kind}`);
      }
      this.#effects(rule.effects, `/rules/${r}/effects`);
      for (const [c, { metricId }] of rule.caps.entries()) {
        this.#expect("metrics", metricId, `/rules/${r}/caps/${c}/metricId`);
      }
    }
    return this.#errors;
  }

  #challenge({ missions, fail, requires, rewards }: Challenge, pointer: string): void {
    for (const [m, { rule }] of missions.entries()) {
      const at = `${pointer}/missions/${m}/rule`;
      if ("metric" in rule) this.#expect("metrics", rule.metric, `${at}/metric`);
      else this.#expect("actions", rule.action, `${at}/action`);
    }
    if (fail !== undefined) this.#expect("actions", fail.action, `${pointer}/fail/action`);
    for (const [r, id] of requires.entries()) this.#expect("challenges", id, `${pointer}/requires/${r}`);
    this.#effects(rewards, `${pointer}/rewards`);
  }

  #product({ prices, fulfilment }: Product, pointer: string): void {
    for (const [p, { currency }] of prices.entries()) {
      this.#expect("metrics", currency, `${pointer}/prices/${p}/currency`);
    }
    const at = `${pointer}/fulfilment`;
    if (fulfilment.type === "coupon" || fulfilment.type === "inventory") {
      const detail = this.#danglingReference(fulfilment);
      if (detail !== null) this.#report(at, detail);
    }
    const isNotified = this.#config.webhooks.some(({ events }) => events.includes("redemptionConfirmed"));
    if (fulfilment.type === "webhook" && !isNotified) {
      this.#report(at, "Expected a webhook that subscribes to redemptionConfirmed");
    }
  }

  #effects(effects: readonly (RuleEffect | Reward)[], pointer: string): void {
    for (const [index, effect] of effects.entries()) {
      const detail = this.#danglingReference(effect);
      if (detail !== null) this.#report(`${pointer}/${index}`, detail);
    }
  }

  /** Describes the part that an effect refers to and that does not exist; null where it does. */
  #danglingReference(effect: RuleEffect | Reward): string | null {
    switch (effect.type) {
      case "metric":
        return this.#missing("metrics", effect.metricId);
      case "inventory":
      case "inventoryLoss": {
        const isKnown = this.#items.has(`${effect.inventorySetId}/${effect.inventoryItemId}`);
        return isKnown ? null : "Expected an inventory item of this configuration";
      }
      case "coupon":
        return this.#missing("coupons", effect.couponId);
      case "reward":
        return this.#missing("rewards", effect.rewardId);
      case "notification":
        return null;
      default: {
        const missing = this.#missing("challenges", effect.challengeId);
        if (missing !== null || effect.type !== "missionCompletion") return missing;
        const isKnown = this.#missions.get(effect.challengeId)?.has(effect.missionId) === true;
        return isKnown ? null : "Expected a mission of the challenge";
      }
    }
  }

  #expect(list: ReferencedList, id: string, pointer: string): void {
    const detail = this.#missing(list, id);
    if (detail !== null) this.#report(pointer, detail);
  }

  /** Says that a list has no such id, and which one may be meant; null where it has. */
  #missing(list: ReferencedList, id: string): string | null {
    if (this.#ids[list].has(id)) return null;
    // Challenges have UUIDs, which nobody misspells.
    const suggested = list === "challenges" ? "" : suggestion(id, [...this.#ids[list]]);
    const expected = `Expected one that is listed under /${list}`;
    return suggested === "" ? expected : `${expected}.${suggested}`;
  }

  #report(pointer: string, detail: string): void {
    this.#errors.push({ pointer, detail });
  }
}

/** Finds challenges that require themselves over others, and so could never start. */
function circles(challenges: readonly Challenge[]): FieldError[] {
  const requires = new Map(challenges.map(challenge => [challenge.id, challenge.requires]));
  return challenges.flatMap(({ id }, index) => {
    const required = new Set<string>();
    const open = [...(requires.get(id) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (required.has(next)) continue;
      required.add(next);
      open.push(...(requires.get(next) ?? []));
    }
    if (!required.has(id)) return [];
    return [{ pointer: `/challenges/${index}/requires`, detail: "Expected no challenge to wait for itself" }];
  });
}
