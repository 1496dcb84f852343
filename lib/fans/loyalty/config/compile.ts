/**
 * Compilation of a loyalty configuration. References are resolved and conditions become closures, indexed by their triggers, so
 * that the cost of an action does not depend on unrelated rules and missions.
 */

import * as v from "valibot";
import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import { fieldErrors } from "../../../http/requests/validate.ts";
import { ConfigPartsCompiler } from "./compile_parts.ts";
import {
  type ActionPlan,
  type CompiledChallenge,
  type CompiledConfig,
  type CompiledRule,
  compareRules,
  type TriggeredPart,
  type TriggerKind,
  type TriggerPlan,
  triggerKey,
} from "./compiled.ts";
import { type LoyaltyConfig, LoyaltyConfigSchema } from "./document.ts";
import { customFieldOf } from "./fields.ts";
import { referenceErrors, sizeErrors } from "./semantic_errors.ts";

/**
 * Checks and compiles a configuration document. The references, conditions and sizes of a document are checked once its shape
 * is right.
 *
 * @param version The version of the document, which history records name.
 * @throws {AppError} `validation_failed` with the JSON Pointers of all errors of the shape, or of all others.
 */
export function compileConfig(document: unknown, version = ""): CompiledConfig {
  // An object schema without required members accepts arrays.
  const parsed = v.safeParse(LoyaltyConfigSchema, Array.isArray(document) ? null : document);
  if (!parsed.success) throw invalid(fieldErrors(parsed.issues));
  const config = parsed.output;
  const parts = new ConfigPartsCompiler(config);
  const challenges = config.challenges.map(challenge => parts.challenge(challenge));
  const triggers = compilePlans(config, parts, challenges);
  const products = config.products.map((product, index) => parts.product(product, `/products/${index}`));
  const aggregates = [...parts.aggregates.values()];
  const errors = [
    ...referenceErrors(config),
    ...sizeErrors(config, { bundles: parts.bundles, aggregates }),
    ...parts.errors,
  ];
  if (errors.length > 0) throw invalid(errors);
  const actions = config.actions.map((definition): [string, ActionPlan] => {
    const plan = triggers.get(triggerKey("action", definition.name)) ?? emptyPlan();
    const counted = aggregates.filter(({ action }) => action === definition.name);
    return [definition.name, { ...plan, definition, aggregates: counted, answered: answeredPart(plan) }];
  });
  const zoneField = config.userTimeZone === undefined ? null : customFieldOf(config.userTimeZone.var);
  const limitedRules = config.rules.filter(({ limits }) => limits.some(({ per }) => per === "global"));
  return {
    version,
    config,
    metrics: new Map(config.metrics.map(metric => [metric.id, metric])),
    inactivity: new Map(
      config.metrics.flatMap(({ id, lots: { expires } = {} }) =>
        expires !== undefined && "inactive" in expires ? [[id, expires.inactive] as const] : [],
      ),
    ),
    reminders: new Map(
      config.metrics.flatMap(({ id, lots: { reminder } = {} }) =>
        reminder === undefined ? [] : [[id, reminder] as const],
      ),
    ),
    coupons: new Map(config.coupons.map(coupon => [coupon.id, coupon])),
    challenges: new Map(challenges.map(compiled => [compiled.challenge.id, compiled])),
    products: new Map(products.map(compiled => [compiled.product.id, compiled])),
    bundles: parts.bundles,
    actions: new Map(actions),
    triggers,
    limitedRules: new Map(limitedRules.map(rule => [rule.id, rule])),
    boundedRules: boundedRules(triggers.values()),
    zoneField,
    customFields: zoneField === null ? parts.customFields : new Set([...parts.customFields, zoneField]),
    counterWindows: new Map([
      ...aggregates.map(({ key, window }) => [key, window] as const),
      ...parts.limitWindows,
    ]),
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };
type Plans = Map<string, Mutable<TriggerPlan>>;

function compilePlans(
  config: LoyaltyConfig,
  parts: ConfigPartsCompiler,
  challenges: readonly CompiledChallenge[],
): ReadonlyMap<string, TriggerPlan> {
  const plans: Plans = new Map();
  for (const compiled of compileRules(config, parts)) {
    // A trigger has one member.
    for (const [kind, id] of Object.entries(compiled.rule.trigger)) {
      planAt(plans, triggerKey(kind as TriggerKind, id)).rules.push(compiled);
    }
  }
  for (const [index, challenge] of challenges.entries()) {
    addChallenge(plans, parts, challenge, `/challenges/${index}`);
  }
  for (const set of config.milestones) {
    planAt(plans, triggerKey("metric", set.metricId)).milestoneSets.push(parts.milestoneSet(set));
  }
  return plans;
}

/** Returns the part of a plan that depends on the answer of an element; null: there is none. */
function answeredPart({ rules, failures, missions }: TriggerPlan): TriggerPlan | null {
  const reads = ({ readsAnswer }: TriggeredPart): boolean => readsAnswer;
  const parts = {
    rules: rules.filter(reads),
    failures: failures.filter(reads),
    missions: missions.filter(reads),
  };
  return Object.values(parts).every(list => list.length === 0) ? null : { ...emptyPlan(), ...parts };
}

function boundedRules(plans: Iterable<TriggerPlan>): ReadonlySet<string> {
  const rules = [...plans].flatMap(plan => plan.rules);
  const bounded = rules.filter(
    ({ rule, effects }) =>
      rule.limits.length > 0 || effects.some(effect => effect.type === "metric" && effect.caps.length > 0),
  );
  return new Set(bounded.map(({ rule }) => rule.id));
}

/** Compiles the rules in the order of application. Disabled rules are checked too, but left out. */
function compileRules({ rules }: LoyaltyConfig, parts: ConfigPartsCompiler): CompiledRule[] {
  return rules
    .map((rule, index) => parts.rule(rule, `/rules/${index}`))
    .filter(({ rule }) => rule.enabled)
    .sort(compareRules);
}

function addChallenge(
  plans: Plans,
  parts: ConfigPartsCompiler,
  of: CompiledChallenge,
  pointer: string,
): void {
  const { id, missions, fail } = of.challenge;
  for (const [m, mission] of missions.entries()) {
    const { rule } = mission;
    if ("metric" in rule) {
      const reached = { of, mission, metricId: rule.metric, atLeast: rule.atLeast, isAtStart: false };
      planAt(plans, triggerKey("metric", rule.metric)).metricMissions.push(reached);
      planAt(plans, triggerKey("challengeStarted", id)).metricMissions.push({ ...reached, isAtStart: true });
    } else {
      const compiled = parts.mission(of, { mission, rule }, `${pointer}/missions/${m}`);
      planAt(plans, triggerKey("action", rule.action)).missions.push(compiled);
    }
  }
  if (fail === undefined) return;
  const compiled = parts.failure(of, fail, `${pointer}/fail`);
  planAt(plans, triggerKey("action", fail.action)).failures.push(compiled);
}

function planAt(plans: Plans, key: string): Mutable<TriggerPlan> {
  const plan = plans.get(key) ?? emptyPlan();
  plans.set(key, plan);
  return plan;
}

function emptyPlan(): Mutable<TriggerPlan> {
  return { rules: [], failures: [], missions: [], metricMissions: [], milestoneSets: [] };
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError(
    "validation_failed",
    "Cannot use the loyalty configuration as parts of it are not valid",
    { fields },
  );
}
