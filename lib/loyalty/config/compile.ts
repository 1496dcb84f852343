/**
 * Compiling a loyalty configuration: references are resolved and conditions become closures, indexed by what triggers
 * them, so that the cost of an action does not depend on rules and missions that do not name it.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type FieldError } from "../../errors/mod.ts";
import { ConfigPartsCompiler, compileProduct } from "./compile_parts.ts";
import { sizeErrors } from "./compile_sizes.ts";
import {
  type ActionPlan,
  type CompiledChallenge,
  type CompiledConfig,
  type CompiledRule,
  type TriggerPlan,
  triggerKey,
} from "./compiled.ts";
import { type LoyaltyConfig, LoyaltyConfigSchema, type RuleTrigger } from "./document.ts";
import { fieldErrors } from "./issues.ts";
import { referenceErrors } from "./references.ts";
import { standingParts } from "./standing_parts.ts";

export type { CompiledConfig } from "./compiled.ts";

/** How a document is compiled. */
export interface CompileOptions {
  /** The version of the document, which history records name. @default "" */
  readonly version?: string;
}

/**
 * Checks and compiles a configuration document.
 *
 * @throws {AppError} `validation_failed` with the JSON Pointer of every error that was found.
 */
export function compileConfig(document: unknown, { version = "" }: CompileOptions = {}): CompiledConfig {
  // An object schema without required members takes a list for an object.
  const parsed = v.safeParse(LoyaltyConfigSchema, Array.isArray(document) ? null : document);
  if (!parsed.success) throw invalid([...fieldErrors(parsed.issues), ...faultsBesides(document)]);
  const config = parsed.output;
  const { parts, plans, challenges, faults } = compileParts(config);
  if (faults.length > 0) throw invalid(faults);
  const aggregates = parts.aggregates.all;
  const products = config.products.map((product, index) => compileProduct(product, `/products/${index}`));
  const limits = [...parts.limits, ...products.flatMap(({ limit }) => (limit === null ? [] : [limit]))];
  return {
    version,
    config,
    metrics: new Map(config.metrics.map(metric => [metric.id, metric])),
    coupons: new Map(config.coupons.map(coupon => [coupon.id, coupon])),
    challenges: new Map(challenges.map(compiled => [compiled.challenge.id, compiled])),
    products: new Map(products.map(compiled => [compiled.product.id, compiled])),
    bundles: parts.bundles,
    actions: new Map(
      config.actions.map((definition): [string, ActionPlan] => [
        definition.name,
        {
          ...(plans.get(actionKey(definition.name)) ?? emptyPlan()),
          definition,
          clientReportable: definition.clientReportable,
          aggregates: aggregates.filter(({ action }) => action === definition.name),
        },
      ]),
    ),
    triggers: plans,
    limitedRules: new Map(
      config.rules
        .filter(({ limits: some }) => some.some(({ per }) => per === "global"))
        .map(rule => [rule.id, rule]),
    ),
    counterKeys: new Set([...aggregates, ...limits].map(({ key }) => key)),
  };
}

interface Compiled {
  readonly parts: ConfigPartsCompiler;
  readonly plans: ReadonlyMap<string, TriggerPlan>;
  readonly challenges: readonly CompiledChallenge[];
  readonly faults: readonly FieldError[];
}

function compileParts(config: LoyaltyConfig): Compiled {
  const parts = new ConfigPartsCompiler(config);
  const challenges = config.challenges.map(challenge => parts.challenge(challenge));
  const plans = plansOf(config, parts, challenges);
  const sizes = sizeErrors(config, { bundles: parts.bundles, aggregates: parts.aggregates.all });
  return { parts, plans, challenges, faults: [...referenceErrors(config), ...sizes, ...parts.faults] };
}

/** What is wrong with a document besides its shape. */
function faultsBesides(document: unknown): readonly FieldError[] {
  const standing = standingParts(document);
  if (standing === null) return [];
  return compileParts(standing.config).faults.filter(({ pointer }) => !standing.isStub(pointer));
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };
type Plans = Map<string, Mutable<TriggerPlan>>;

function plansOf(
  config: LoyaltyConfig,
  parts: ConfigPartsCompiler,
  challenges: readonly CompiledChallenge[],
): ReadonlyMap<string, TriggerPlan> {
  const plans: Plans = new Map();
  for (const compiled of rulesOf(config, parts)) {
    planAt(plans, keyOf(compiled.rule.trigger)).rules.push(compiled);
  }
  for (const [index, challenge] of challenges.entries()) {
    addChallenge(plans, parts, { challenge, pointer: `/challenges/${index}` });
  }
  for (const set of config.milestones) {
    planAt(plans, triggerKey("metric", set.metricId)).ladders.push(parts.ladder(set));
  }
  return plans;
}

/** In the order of application. Disabled rules are checked too, but never looked at again. */
function rulesOf({ rules }: LoyaltyConfig, parts: ConfigPartsCompiler): CompiledRule[] {
  return rules
    .map((rule, index) => parts.rule(rule, `/rules/${index}`))
    .filter(({ rule }) => rule.enabled)
    .sort(compareRules);
}

/** By priority, then id. */
export function compareRules({ rule: a }: CompiledRule, { rule: b }: CompiledRule): number {
  return a.priority - b.priority || (a.id < b.id ? -1 : 1);
}

function addChallenge(
  plans: Plans,
  parts: ConfigPartsCompiler,
  { challenge, pointer }: { readonly challenge: CompiledChallenge; readonly pointer: string },
): void {
  for (const mission of parts.missions(challenge, pointer)) {
    if ("action" in mission.mission.rule) {
      planAt(plans, actionKey(mission.mission.rule.action)).missions.push(mission);
    }
  }
  for (const mission of parts.metricMissions(challenge)) {
    planAt(plans, triggerKey("metric", mission.metricId)).metricMissions.push(mission);
    planAt(plans, triggerKey("challengeStarted", challenge.challenge.id)).metricMissions.push({
      ...mission,
      isAtStart: true,
    });
  }
  const { fail } = challenge.challenge;
  if (fail === undefined) return;
  planAt(plans, actionKey(fail.action)).failures.push(...parts.failure(challenge, pointer));
}

function planAt(plans: Plans, key: string): Mutable<TriggerPlan> {
  const plan = plans.get(key) ?? emptyPlan();
  plans.set(key, plan);
  return plan;
}

function emptyPlan(): Mutable<TriggerPlan> {
  return { rules: [], failures: [], missions: [], metricMissions: [], ladders: [] };
}

function actionKey(name: string): string {
  return `action:${name}`;
}

function keyOf(trigger: RuleTrigger): string {
  if ("action" in trigger) return actionKey(trigger.action);
  if ("metric" in trigger) return triggerKey("metric", trigger.metric);
  if ("challengeCompleted" in trigger) return triggerKey("challengeCompleted", trigger.challengeCompleted);
  if ("milestoneReached" in trigger) return triggerKey("milestoneReached", trigger.milestoneReached);
  return triggerKey("inventoryReceived", trigger.inventoryReceived);
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError(
    "validation_failed",
    "Cannot use the loyalty configuration as parts of it are not valid",
    { fields },
  );
}
