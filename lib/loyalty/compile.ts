/**
 * Compiling a loyalty configuration: references are resolved and conditions become closures, indexed by action, so
 * that the cost of an action does not depend on rules and missions that do not name it.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type FieldError } from "../errors/mod.ts";
import { type Condition, compileCondition, type Environment, type Variable } from "../expressions/mod.ts";
import {
  type Challenge,
  type LoyaltyConfig,
  LoyaltyConfigSchema,
  type Metric,
  type Mission,
  type Reward,
  type Rule,
} from "./config.ts";

/** What conditions see: the action's data, and the user's metrics before the action. */
export interface Scope {
  readonly data: Readonly<Record<string, string | number | boolean>>;
  readonly metric: (id: string) => number;
}

/** A rule that may fire on an action. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly when: Condition<Scope>;
}

/** A mission that an action may advance. */
export interface CompiledMission {
  readonly challenge: Challenge;
  readonly mission: Mission;
  readonly when: Condition<Scope>;
}

/** What one action may cause. */
export interface ActionPlan {
  readonly clientReportable: boolean;
  /** In the order of application: by priority, then id. */
  readonly rules: readonly CompiledRule[];
  readonly missions: readonly CompiledMission[];
}

/** A configuration ready for use. */
export interface CompiledConfig {
  readonly config: LoyaltyConfig;
  readonly metrics: ReadonlyMap<string, Metric>;
  readonly actions: ReadonlyMap<string, ActionPlan>;
}

/**
 * Checks and compiles a configuration document.
 *
 * @throws {AppError} `validation_failed` with the JSON Pointer of every error that was found.
 */
export function compileConfig(document: unknown): CompiledConfig {
  const parsed = v.safeParse(LoyaltyConfigSchema, document);
  if (!parsed.success) {
    throw invalid(
      parsed.issues.map(issue => ({
        pointer: issue.path?.map(item => `/${String(item.key)}`).join("") ?? "",
        detail: issue.message,
      })),
    );
  }
  const config = parsed.output;
  const faults = [...duplicateIds(config), ...danglingReferences(config)];
  const metrics = new Map(config.metrics.map(metric => [metric.id, metric]));
  const environment: Environment<Scope> = { variable: path => variable(path, metrics) };
  function condition(source: unknown, pointer: string): Condition<Scope> {
    if (source === undefined) return always;
    try {
      return compileCondition(source, environment, pointer);
    } catch (error) {
      if (!(error instanceof AppError) || error.fields === undefined) throw error;
      faults.push(...error.fields);
      return always;
    }
  }
  const rules = config.rules
    .map((rule, index) => ({ rule, when: condition(rule.when, `/rules/${index}/when`) }))
    .sort((a, b) => a.rule.priority - b.rule.priority || (a.rule.id < b.rule.id ? -1 : 1));
  const missions = config.challenges.flatMap((challenge, c) =>
    challenge.missions.map((mission, m) => {
      const when = condition(
        "when" in mission.rule ? mission.rule.when : undefined,
        `/challenges/${c}/missions/${m}/rule/when`,
      );
      return { challenge, mission, when };
    }),
  );
  if (faults.length > 0) throw invalid(faults);
  return { config, metrics, actions: plans(config, rules, missions) };
}

function plans(
  config: LoyaltyConfig,
  rules: readonly CompiledRule[],
  missions: readonly CompiledMission[],
): ReadonlyMap<string, ActionPlan> {
  return new Map(
    config.actions.map(({ name, clientReportable }) => [
      name,
      {
        clientReportable,
        rules: rules.filter(({ rule }) => "action" in rule.trigger && rule.trigger.action === name),
        missions: missions.filter(({ mission }) => "action" in mission.rule && mission.rule.action === name),
      },
    ]),
  );
}

/** `data.<name>` and `user.metrics.<id>`. Own properties only, so that no inherited name is ever a value. */
function variable(path: string, metrics: ReadonlyMap<string, Metric>): Variable<Scope> | null {
  const [root, ...rest] = path.split(".");
  const name = rest.join(".");
  if (root === "data" && name !== "") {
    return { type: "any", read: ({ data }) => (Object.hasOwn(data, name) ? data[name] : undefined) };
  }
  const metricId = name.startsWith("metrics.") ? name.slice("metrics.".length) : "";
  const isMetric = root === "user" && metrics.has(metricId);
  return isMetric ? { type: "number", read: scope => scope.metric(metricId) } : null;
}

function always(): boolean {
  return true;
}

function duplicateIds(config: LoyaltyConfig): FieldError[] {
  const lists: [pointer: string, ids: readonly string[]][] = [
    ["/metrics", config.metrics.map(({ id }) => id)],
    ["/inventory", config.inventory.map(({ id }) => id)],
    ["/actions", config.actions.map(({ name }) => name)],
    ["/challenges", config.challenges.map(({ id }) => id)],
    ["/rules", config.rules.map(({ id }) => id)],
    ...config.inventory.map((set, i): [string, string[]] => [
      `/inventory/${i}/items`,
      set.items.map(({ id }) => id),
    ]),
    ...config.challenges.map((challenge, i): [string, string[]] => [
      `/challenges/${i}/missions`,
      challenge.missions.map(({ id }) => id),
    ]),
  ];
  return lists.flatMap(([pointer, ids]) =>
    ids.flatMap((id, index) =>
      ids.indexOf(id) === index
        ? []
        : [{ pointer: `${pointer}/${index}`, detail: "Expected an id that no earlier one has" }],
    ),
  );
}

function danglingReferences(config: LoyaltyConfig): FieldError[] {
  const actions = new Set(config.actions.map(({ name }) => name));
  const metrics = new Set(config.metrics.map(({ id }) => id));
  const items = new Set(config.inventory.flatMap(set => set.items.map(item => `${set.id}/${item.id}`)));
  const faults: FieldError[] = [];
  function action(name: string, pointer: string): void {
    if (!actions.has(name)) faults.push({ pointer, detail: "Expected an action listed under /actions" });
  }
  function reward(item: Reward, pointer: string): void {
    if (
      item.type === "metric"
        ? metrics.has(item.metricId)
        : item.type === "inventory" && items.has(`${item.inventorySetId}/${item.inventoryItemId}`)
    ) {
      return;
    }
    faults.push({ pointer, detail: "Expected a metric or inventory item of this configuration" });
  }
  config.rules.forEach((rule, r) => {
    if ("action" in rule.trigger) action(rule.trigger.action, `/rules/${r}/trigger/action`);
    rule.effects.forEach((effect, e) => {
      reward(effect as Reward, `/rules/${r}/effects/${e}`);
    });
  });
  config.challenges.forEach((challenge, c) => {
    challenge.missions.forEach((mission, m) => {
      if ("action" in mission.rule) action(mission.rule.action, `/challenges/${c}/missions/${m}/rule/action`);
    });
    challenge.rewards.forEach((item, r) => {
      reward(item, `/challenges/${c}/rewards/${r}`);
    });
  });
  return faults;
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError(
    "validation_failed",
    "Cannot use the loyalty configuration as parts of it are not valid",
    {
      fields,
    },
  );
}
