/** Random actions on random configurations, compared with a naive model that knows no closures, indexes or copies. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../adapters/conformance/random.ts";
import { applyAction, compileConfig, emptyState, rewardsProfile } from "../../../lib/loyalty/mod.ts";

const actionNames = ["a", "b", "c"];
const runs = 200;
const actionsPerRun = 60;

interface Condition {
  readonly on: "data" | "metric";
  readonly least: number;
}

function condition(random: Random): Condition | null {
  return random.chance(0.4)
    ? null
    : { on: random.pick(["data", "metric"] as const), least: random.integer(10) };
}

function expression(condition: Condition | null): object {
  if (condition === null) return {};
  const path = condition.on === "data" ? "data.n" : "user.metrics.m0";
  return { when: { gte: [{ var: path }, condition.least] } };
}

function reward(random: Random): object {
  return random.chance(0.3)
    ? { type: "inventory", inventorySetId: "set", inventoryItemId: `i${random.integer(2)}` }
    : { type: "metric", metricId: `m${random.integer(2)}`, metricQuantity: random.integer(13) - 6 };
}

function several<T>(random: Random, most: number, make: (index: number) => T): T[] {
  return Array.from({ length: 1 + random.integer(most) }, (_, index) => make(index));
}

const uuid = (kind: string, number: number): string =>
  `${kind.repeat(8)}-0000-4000-8000-${String(number).padStart(12, "0")}`;

interface Space {
  readonly document: object;
  /** By rule id or mission id within its challenge. */
  readonly conditions: ReadonlyMap<string, Condition | null>;
}

function randomSpace(random: Random): Space {
  const conditions = new Map<string, Condition | null>();
  function when(id: string): object {
    const made = condition(random);
    conditions.set(id, made);
    return expression(made);
  }
  const rules = several(random, 5, index => ({
    id: `r${index}`,
    priority: random.integer(3),
    trigger: { action: random.pick(actionNames) },
    effects: several(random, 2, () => reward(random)),
    ...when(`r${index}`),
  }));
  const challenges = several(random, 3, c => ({
    id: uuid("c", c),
    title: "",
    time: random.chance(0.3) ? { from: random.integer(30), to: 30 + random.integer(30) } : {},
    missions: several(random, 3, m => ({
      id: uuid("a", m),
      title: "",
      rule: { action: random.pick(actionNames), count: 1 + random.integer(4), ...when(`${c}/${m}`) },
    })),
    rewards: several(random, 2, () => reward(random)),
  }));
  const metrics = [
    { id: "m0", title: "", defaultValue: 3, minimumValue: -5, maximumValue: 12 },
    { id: "m1", title: "" },
  ];
  const items = [
    { id: "i0", title: "" },
    { id: "i1", title: "" },
  ];
  const actions = actionNames.map(name => ({ name }));
  return {
    document: { metrics, inventory: [{ id: "set", title: "", items }], actions, rules, challenges },
    conditions,
  };
}

type ModelEffect =
  | { readonly type: "inventory"; readonly inventoryItemId: string }
  | { readonly type: "metric"; readonly metricId: string; readonly metricQuantity: number };
interface ModelConfig {
  readonly rules: readonly {
    readonly id: string;
    readonly priority: number;
    readonly trigger: { readonly action: string };
    readonly effects: readonly ModelEffect[];
  }[];
  readonly challenges: readonly {
    readonly id: string;
    readonly time: { readonly from: number; readonly to: number };
    readonly missions: readonly { readonly rule: { readonly action: string; readonly count: number } }[];
    readonly rewards: readonly ModelEffect[];
  }[];
}

/** Keeps everything in plain mutable structures and walks the whole configuration for every action. */
class NaiveModel {
  readonly metrics: Record<string, number> = { m0: 3, m1: 0 };
  readonly items: string[] = [];
  readonly counts = new Map<string, number>();
  readonly completed = new Set<string>();
  readonly #config: ModelConfig;
  readonly #conditions: Space["conditions"];

  constructor(config: ModelConfig, conditions: Space["conditions"]) {
    this.#config = config;
    this.#conditions = conditions;
  }

  act(name: string, n: number, second: number): void {
    const m0 = this.metrics.m0 ?? 0;
    const holds = (id: string): boolean => {
      const condition = this.#conditions.get(id) ?? null;
      return condition === null || (condition.on === "data" ? n : m0) >= condition.least;
    };
    const rules = [...this.#config.rules].sort((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1));
    for (const rule of rules) {
      if (rule.trigger.action === name && holds(rule.id))
        for (const effect of rule.effects) this.#give(effect);
    }
    for (const [c, challenge] of this.#config.challenges.entries()) {
      const { from, to } = challenge.time;
      if (second < from || (to > 0 && second >= to)) continue;
      for (const [m, mission] of challenge.missions.entries()) {
        const isDone = (index: number, count: number): boolean =>
          (this.counts.get(`${c}/${index}`) ?? 0) >= count;
        if (mission.rule.action !== name || !holds(`${c}/${m}`) || isDone(m, mission.rule.count)) continue;
        this.counts.set(`${c}/${m}`, (this.counts.get(`${c}/${m}`) ?? 0) + 1);
        const isCompleted = challenge.missions.every((other, index) => isDone(index, other.rule.count));
        if (!isCompleted || this.completed.has(challenge.id)) continue;
        this.completed.add(challenge.id);
        for (const given of challenge.rewards) this.#give(given);
      }
    }
  }

  #give(effect: ModelEffect): void {
    if (effect.type === "inventory") {
      if (!this.items.includes(effect.inventoryItemId)) this.items.push(effect.inventoryItemId);
      return;
    }
    const [low, high] = effect.metricId === "m0" ? [-5, 12] : [0, Number.POSITIVE_INFINITY];
    const value = (this.metrics[effect.metricId] ?? 0) + effect.metricQuantity;
    this.metrics[effect.metricId] = Math.min(Math.max(value, low), high);
  }
}

describe("loyalty beside a naive model", () => {
  it(`agrees on ${runs} random configurations after every one of ${actionsPerRun} actions`, () => {
    for (let seed = 1; seed <= runs; seed++) {
      const random = createRandom(seed);
      const { document, conditions } = randomSpace(random);
      const compiled = compileConfig(document);
      const model = new NaiveModel(compiled.config as unknown as ModelConfig, conditions);
      let state = emptyState(null);
      for (let second = 0; second < actionsPerRun; second++) {
        const [name, n] = [random.pick(actionNames), random.integer(12)];
        const before = rewardsProfile(compiled, state).metrics;
        const outcome = applyAction(compiled, state, { name, data: { n }, at: second * 1_000 });
        state = outcome.state;
        model.act(name, n, second);
        const profile = rewardsProfile(compiled, state);
        const where = `seed ${seed}, action ${second}`;
        assert.deepEqual(profile.metrics, model.metrics, where);
        assert.deepEqual(profile.inventory.set, model.items, where);
        const done = Object.entries(profile.challenges).filter(([, { isCompleted }]) => isCompleted);
        assert.deepEqual(new Set(done.map(([id]) => id)), model.completed, where);
        for (const [id, gained] of Object.entries(outcome.gained)) {
          assert.equal((before[id] ?? 0) + gained, profile.metrics[id], where);
        }
      }
    }
  });
});
