/**
 * What the parts of a loyalty configuration say of each other: ids that are taken, and references that lead nowhere.
 *
 * @module
 */

import type { FieldError } from "../../errors/mod.ts";
import type { Challenge, LoyaltyConfig, Product, Reward, RuleEffect, RuleTrigger } from "./document.ts";

/** Every id that is taken, and every reference that leads nowhere. */
export function referenceErrors(config: LoyaltyConfig): FieldError[] {
  return [...duplicateIds(config), ...new References(config).faults(), ...circles(config.challenges)];
}

function duplicateIds(config: LoyaltyConfig): FieldError[] {
  const idsOf = (parts: readonly { readonly id: string }[]): string[] => parts.map(({ id }) => id);
  const lists: [pointer: string, ids: readonly string[]][] = [
    ["/metrics", idsOf(config.metrics)],
    ["/inventory", idsOf(config.inventory)],
    ["/milestones", idsOf(config.milestones)],
    ["/coupons", idsOf(config.coupons)],
    ["/codePools", idsOf(config.codePools)],
    ["/actions", config.actions.map(({ name }) => name)],
    ["/challenges", idsOf(config.challenges)],
    ["/rules", idsOf(config.rules)],
    ["/rewards", idsOf(config.rewards)],
    ["/products", idsOf(config.products)],
    ["/webhooks", idsOf(config.webhooks)],
    ...config.inventory.map((set, i): [string, string[]] => [`/inventory/${i}/items`, idsOf(set.items)]),
    ...config.milestones.map((set, i): [string, string[]] => [
      `/milestones/${i}/milestones`,
      idsOf(set.milestones),
    ]),
    ...config.challenges.map(({ missions }, i): [string, string[]] => [
      `/challenges/${i}/missions`,
      idsOf(missions),
    ]),
  ];
  return lists.flatMap(([pointer, ids]) => {
    const seen = new Set<string>();
    return ids.flatMap((id, index) => {
      if (!seen.has(id)) return seen.add(id) && [];
      return [{ pointer: `${pointer}/${index}`, detail: "Expected an id that no earlier one has" }];
    });
  });
}

/** The lists that parts refer to. */
type Listed = "metrics" | "inventory" | "milestones" | "coupons" | "codePools" | "actions" | "rewards";

class References {
  readonly #config: LoyaltyConfig;
  readonly #ids: Readonly<Record<Listed, ReadonlySet<string>>>;
  readonly #items: ReadonlySet<string>;
  readonly #missions: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #faults: FieldError[] = [];

  constructor(config: LoyaltyConfig) {
    const idsOf = (list: Exclude<Listed, "actions">): Set<string> =>
      new Set(config[list].map(({ id }) => id));
    this.#config = config;
    this.#ids = {
      metrics: idsOf("metrics"),
      inventory: idsOf("inventory"),
      milestones: idsOf("milestones"),
      coupons: idsOf("coupons"),
      codePools: idsOf("codePools"),
      rewards: idsOf("rewards"),
      actions: new Set(config.actions.map(({ name }) => name)),
    };
    this.#items = new Set(config.inventory.flatMap(set => set.items.map(item => `${set.id}/${item.id}`)));
    this.#missions = new Map(
      config.challenges.map(({ id, missions }) => [id, new Set(missions.map(mission => mission.id))]),
    );
  }

  faults(): readonly FieldError[] {
    const { rules, challenges, milestones, coupons, rewards, products } = this.#config;
    for (const [c, { poolId }] of coupons.entries()) {
      if (poolId !== undefined) this.#expect("codePools", poolId, `/coupons/${c}/poolId`);
    }
    for (const [r, { effects }] of rewards.entries()) this.#effects(effects, `/rewards/${r}/effects`);
    for (const [m, set] of milestones.entries()) {
      this.#expect("metrics", set.metricId, `/milestones/${m}/metricId`);
      for (const [i, rung] of set.milestones.entries()) {
        this.#effects(rung.rewards, `/milestones/${m}/milestones/${i}/rewards`);
      }
    }
    for (const [p, product] of products.entries()) this.#product(product, `/products/${p}`);
    for (const [c, challenge] of challenges.entries()) this.#challenge(challenge, `/challenges/${c}`);
    for (const [r, rule] of rules.entries()) {
      this.#trigger(rule.trigger, `/rules/${r}/trigger`);
      this.#effects(rule.effects, `/rules/${r}/effects`);
    }
    return this.#faults;
  }

  #challenge({ missions, fail, requires, rewards }: Challenge, pointer: string): void {
    for (const [m, { rule }] of missions.entries()) {
      const at = `${pointer}/missions/${m}/rule`;
      if ("metric" in rule) this.#expect("metrics", rule.metric, `${at}/metric`);
      else this.#expect("actions", rule.action, `${at}/action`);
    }
    if (fail !== undefined) this.#expect("actions", fail.action, `${pointer}/fail/action`);
    for (const [r, id] of requires.entries()) this.#expectChallenge(id, `${pointer}/requires/${r}`);
    this.#effects(rewards, `${pointer}/rewards`);
  }

  #product({ prices, fulfilment }: Product, pointer: string): void {
    for (const [p, { currency }] of prices.entries()) {
      this.#expect("metrics", currency, `${pointer}/prices/${p}/currency`);
    }
    const at = `${pointer}/fulfilment`;
    if (fulfilment.type === "coupon" || fulfilment.type === "inventory") {
      const detail = this.#stray(fulfilment);
      if (detail !== null) this.#fault(at, detail);
    }
    const isTold = this.#config.webhooks.some(({ events }) => events.includes("redemptionConfirmed"));
    if (fulfilment.type === "webhook" && !isTold) {
      this.#fault(at, "Expected a webhook that is told of redemptionConfirmed");
    }
  }

  #trigger(trigger: RuleTrigger, pointer: string): void {
    if ("action" in trigger) this.#expect("actions", trigger.action, `${pointer}/action`);
    else if ("metric" in trigger) this.#expect("metrics", trigger.metric, `${pointer}/metric`);
    else if ("milestoneReached" in trigger)
      this.#expect("milestones", trigger.milestoneReached, `${pointer}/milestoneReached`);
    else if ("inventoryReceived" in trigger)
      this.#expect("inventory", trigger.inventoryReceived, `${pointer}/inventoryReceived`);
    else this.#expectChallenge(trigger.challengeCompleted, `${pointer}/challengeCompleted`);
  }

  #effects(effects: readonly (RuleEffect | Reward)[], pointer: string): void {
    for (const [index, effect] of effects.entries()) {
      const detail = this.#stray(effect);
      if (detail !== null) this.#fault(`${pointer}/${index}`, detail);
    }
  }

  /** What is expected where an effect refers to nothing; null where all is well. */
  #stray(effect: RuleEffect | Reward): string | null {
    switch (effect.type) {
      case "metric":
        return this.#ids.metrics.has(effect.metricId) ? null : listed("metrics");
      case "inventory":
      case "inventoryLoss": {
        const isKnown = this.#items.has(`${effect.inventorySetId}/${effect.inventoryItemId}`);
        return isKnown ? null : "Expected an inventory item of this configuration";
      }
      case "coupon":
        return this.#ids.coupons.has(effect.couponId) ? null : listed("coupons");
      case "reward":
        return this.#ids.rewards.has(effect.rewardId) ? null : listed("rewards");
      case "notification":
        return null;
      default: {
        const missions = this.#missions.get(effect.challengeId);
        if (missions === undefined) return listed("challenges");
        const isKnown = effect.type !== "missionCompletion" || missions.has(effect.missionId);
        return isKnown ? null : "Expected a mission of the challenge";
      }
    }
  }

  #expect(list: Listed, id: string, pointer: string): void {
    if (!this.#ids[list].has(id)) this.#fault(pointer, listed(list));
  }

  #expectChallenge(id: string, pointer: string): void {
    if (!this.#missions.has(id)) this.#fault(pointer, listed("challenges"));
  }

  #fault(pointer: string, detail: string): void {
    this.#faults.push({ pointer, detail });
  }
}

function listed(list: Listed | "challenges"): string {
  return `Expected one that is listed under /${list}`;
}

/** Challenges that wait for each other could never start. */
function circles(challenges: readonly Challenge[]): FieldError[] {
  const requires = new Map(challenges.map(challenge => [challenge.id, challenge.requires]));
  return challenges.flatMap(({ id }, index) => {
    const met = new Set<string>();
    const waiting = [...(requires.get(id) ?? [])];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (met.has(next)) continue;
      met.add(next);
      waiting.push(...(requires.get(next) ?? []));
    }
    if (!met.has(id)) return [];
    return [{ pointer: `/challenges/${index}/requires`, detail: "Expected no challenge to wait for itself" }];
  });
}
