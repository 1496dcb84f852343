/**
 * Compilation of the parts of a loyalty configuration. Conditions and amounts become closures, and bundles their rewards. Errors
 * are collected, so that all are reported at once.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import * as v from "valibot";
import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import {
  type AggregateKind,
  compileCondition,
  compileExplanation,
  compileNumber,
  type Environment,
  unknownVariable,
  type VariableDeclaration,
} from "../../../base/expressions/mod.ts";
import { suggestion } from "../../../base/text/suggest.ts";
import { canonicalJson } from "../../../http/requests/body.ts";
import { fieldErrors } from "../../../http/requests/validate.ts";
import {
  type ActionValue,
  always,
  answerVariable,
  type CompiledAggregate,
  type CompiledChallenge,
  type CompiledEffect,
  type CompiledFailure,
  type CompiledGift,
  type CompiledLimit,
  type CompiledMilestoneSet,
  type CompiledMission,
  type CompiledProduct,
  type CompiledRule,
  type ConditionalPart,
  type CounterWindow,
  countedUnit,
  customNames,
  customVariable,
  dataNames,
  dataVariables,
  elementNames,
  elementVariable,
  type FindVariable,
  multiplied,
  type Scope,
  toCounterWindow,
  userVariables,
  type WeekStart,
} from "./compiled.ts";
import type {
  ActionDefinition,
  Challenge,
  LoyaltyConfig,
  LoyaltyRule,
  MilestoneSet,
  Mission,
  Product,
  Reward,
  RuleEffect,
} from "./document.ts";
import { aggregateSchemas, type CountWindow } from "./fields.ts";
import type { SingleReward } from "./parts.ts";
import { compileFactor, compileTimes } from "./rules.ts";

export class ConfigPartsCompiler {
  readonly bundles: ReadonlyMap<string, readonly SingleReward[]>;
  readonly errors: FieldError[] = [];
  /** By their keys. Equal ones share a counter. */
  readonly aggregates = new Map<string, CompiledAggregate>();
  /** The windows of all limits and caps, also of disabled rules, so that a pause does not give each user another firing. */
  readonly limitWindows = new Map<string, CounterWindow>();
  readonly customFields = new Set<string>();
  readonly #actions: ReadonlyMap<string, ActionDefinition>;
  readonly #metricCaps: ReadonlyMap<string, readonly CompiledLimit[]>;
  readonly #timeZone: string;
  readonly #weekStartsOn: WeekStart;
  readonly #multipliers: LoyaltyConfig["multipliers"];
  readonly #userVariables: ReadonlyMap<string, VariableDeclaration<Scope>>;

  constructor(config: LoyaltyConfig) {
    this.#weekStartsOn = config.weekStartsOn;
    this.bundles = new Map(config.rewards.map(({ id, effects }) => [id, effects]));
    this.#actions = new Map(config.actions.map(action => [action.name, action]));
    this.#metricCaps = new Map(
      config.metrics.map(({ id, caps }, m) => [
        id,
        caps.map((cap, index) =>
          this.#cap({ kind: "metricCap", metric: id }, cap, `/metrics/${m}/caps/${index}`),
        ),
      ]),
    );
    this.#timeZone = config.timeZone;
    this.#multipliers = config.multipliers;
    this.#userVariables = userVariables(config);
  }

  singleRewards(rewards: readonly Reward[]): readonly SingleReward[] {
    return rewards.flatMap(reward =>
      reward.type === "reward" ? (this.bundles.get(reward.rewardId) ?? []) : [reward],
    );
  }

  rule(rule: LoyaltyRule, pointer: string): CompiledRule {
    const environment = this.#environment("action" in rule.trigger ? rule.trigger.action : null);
    const limits = this.#limits(rule, pointer);
    const caps = rule.caps.map((cap, index) => ({
      metricId: cap.metricId,
      cap: this.#cap({ kind: "cap", rule: rule.id, metric: cap.metricId }, cap, `${pointer}/caps/${index}`),
    }));
    const capsOf = (metricId: string): readonly CompiledLimit[] => [
      ...caps.filter(cap => cap.metricId === metricId).map(({ cap }) => cap),
      ...(this.#metricCaps.get(metricId) ?? []),
    ];
    return {
      rule,
      ...this.#conditional(rule.when, environment, pointer),
      effects: rule.effects.flatMap((effect, index) =>
        isGift(effect) ? [] : this.#effect(effect, { environment, capsOf }, `${pointer}/effects/${index}`),
      ),
      gifts: this.#gifts(rule, environment, pointer),
      // After everything that reads.
      readsProfile: environment.reads.profile,
      readsAnswer: environment.reads.answer,
      limits,
      hasGlobalLimit: rule.limits.some(({ per }) => per === "global"),
      timeFault: compileTimes(rule, this.#timeZone),
      factorAt: compileFactor(this.#multipliers, rule.tags, this.#timeZone),
    };
  }

  challenge(challenge: Challenge): CompiledChallenge {
    const { time, period, rewards } = challenge;
    return {
      challenge,
      from: time.from * 1_000,
      to: time.to === 0 ? Number.POSITIVE_INFINITY : time.to * 1_000,
      period: period === undefined ? null : countedUnit(period, this.#weekStartsOn),
      rewards: this.singleRewards(rewards),
    };
  }

  mission(
    of: CompiledChallenge,
    {
      mission,
      rule,
    }: { readonly mission: Mission; readonly rule: Exclude<Mission["rule"], { readonly metric: string }> },
    pointer: string,
  ): CompiledMission {
    const environment = this.#environment(rule.action);
    const amount = "amount" in rule ? rule.amount : undefined;
    return {
      of,
      mission,
      count: rule.count,
      by:
        "distinct" in rule
          ? this.#value(rule.action, rule.distinct.var, `${pointer}/rule/distinct`)
          : undefined,
      amount: amount === undefined ? one : this.#number(amount, environment, `${pointer}/rule/amount`),
      ...this.#conditional(rule.when, environment, pointer, `${pointer}/rule/when`),
      readsAnswer: environment.reads.answer,
    };
  }

  failure(
    of: CompiledChallenge,
    { action, when }: NonNullable<Challenge["fail"]>,
    pointer: string,
  ): CompiledFailure {
    const environment = this.#environment(action);
    const conditional = this.#conditional(when, environment, pointer);
    return { of, ...conditional, readsAnswer: environment.reads.answer };
  }

  milestoneSet(set: MilestoneSet): CompiledMilestoneSet {
    return { set, rewards: set.milestones.map(({ rewards }) => this.singleRewards(rewards)) };
  }

  /** Compiles a product. The counter of its limit stays the same while its window does. */
  product(product: Product, pointer: string): CompiledProduct {
    const { id, limits, when } = product;
    const condition =
      when === undefined ? null : this.#conditional(when, this.#environment(null), pointer).when;
    if (limits === undefined) return { product, when: condition, limit: null };
    const { perUser: max, window: calendar } = limits;
    const window = calendar && { calendar };
    const limit = this.#cap({ kind: "product", product: id }, { max, window }, `${pointer}/limits`);
    return { product, when: condition, limit };
  }

  /** Compiles a bound of amounts. Its counter stays the same while its window does. */
  #cap(
    of: object,
    { max, window }: { readonly max: number; readonly window?: CountWindow | undefined },
    pointer: string,
  ): CompiledLimit {
    const key = counterKey({ ...of, window });
    return { key, max, window: this.#limitWindow(key, window), pointer };
  }

  #limitWindow(key: string, of: CountWindow | undefined): CounterWindow {
    const window = toCounterWindow(of, this.#weekStartsOn);
    this.limitWindows.set(key, window);
    return window;
  }

  /** Compiles the effects on other users. No cap applies to them, as it is one of what the user of the action gets. */
  #gifts(
    { effects, trigger }: LoyaltyRule,
    environment: PartEnvironment,
    pointer: string,
  ): readonly CompiledGift[] {
    const action = "action" in trigger ? this.#actions.get(trigger.action) : undefined;
    const data = action === undefined ? undefined : dataVariables(action);
    const findVariable: FindVariable = path => data?.(path) ?? this.#customVariable(path, environment.reads);
    return effects.flatMap((effect, index) => {
      if (!isGift(effect)) return [];
      const at = `${pointer}/effects/${index}`;
      const recipient = this.#collect(noValue, () => compileRecipient(effect, findVariable, at));
      return this.#effect(effect, { environment, capsOf: () => [] }, at).map(one => ({
        recipient,
        effect: one,
      }));
    });
  }

  #effect(
    effect: RuleEffect,
    {
      environment,
      capsOf,
    }: {
      readonly environment: Environment<Scope>;
      readonly capsOf: (metricId: string) => readonly CompiledLimit[];
    },
    pointer: string,
  ): readonly CompiledEffect[] {
    if (effect.type === "reward") {
      return this.singleRewards([effect]).map(reward =>
        reward.type === "metric"
          ? {
              type: "metric",
              metricId: reward.metricId,
              amount: () => reward.metricQuantity,
              caps: capsOf(reward.metricId),
            }
          : reward,
      );
    }
    if (effect.type !== "metric") return [effect];
    const { metricId, metricQuantity } = effect;
    return [
      {
        type: "metric",
        metricId,
        amount: this.#number(metricQuantity, environment, `${pointer}/metricQuantity`),
        caps: capsOf(metricId),
      },
    ];
  }

  /** The variables where an action triggers, or a change (null). */
  #environment(action: string | null): PartEnvironment {
    const definition = action === null ? undefined : this.#actions.get(action);
    const data = definition === undefined ? undefined : dataVariables(definition);
    const reads = { answer: false, profile: false };
    return {
      reads,
      variable: path => {
        if (path === answerVariable && data !== undefined) reads.answer = true;
        return (
          data?.(path) ??
          (data === undefined ? null : elementVariable(path)) ??
          this.#userVariables.get(path) ??
          this.#customVariable(path, reads)
        );
      },
      names: () => {
        const ofUser = [...this.#userVariables.keys(), ...customNames];
        return definition === undefined ? ofUser : [...dataNames(definition), ...ofUser, ...elementNames];
      },
      aggregate: (kind, source, pointer) => this.#aggregate(kind, source, pointer),
    };
  }

  #customVariable(path: string, reads: PartEnvironment["reads"]): ReturnType<FindVariable> {
    const found = customVariable(path);
    if (found === null) return null;
    reads.profile = true;
    this.customFields.add(found.name);
    return found.operand;
  }

  #conditional(
    source: unknown,
    environment: Environment<Scope>,
    pointer: string,
    condition = `${pointer}/when`,
  ): ConditionalPart {
    if (source === undefined) return { when: always, explain: () => () => [], pointer };
    return {
      when: this.#collect(always, () => compileCondition(source, environment, condition)),
      explain: () => compileExplanation(source, environment, condition),
      pointer,
    };
  }

  /**
   * Compiles an aggregate operand to a variable that reads its counter.
   *
   * @throws {AppError} `validation_failed` with the pointers of the errors.
   */
  #aggregate(kind: AggregateKind, definition: unknown, pointer: string): VariableDeclaration<Scope> {
    const compiled = this.#compileAggregate(kind, definition, pointer);
    const key = counterKey({ kind, definition });
    if (!this.aggregates.has(key)) this.aggregates.set(key, { ...compiled, key });
    const { window, by } = compiled;
    if (by !== undefined) {
      return { type: "number", read: ({ user }) => user.distinctValues(key, window) };
    }
    return { type: "number", read: ({ user }) => user.counterValue(key, window) };
  }

  #compileAggregate(kind: AggregateKind, source: unknown, pointer: string): Omit<CompiledAggregate, "key"> {
    switch (kind) {
      case "count":
        return this.#counted(parse(aggregateSchemas.count, source, pointer), pointer);
      case "distinct": {
        const distinct = parse(aggregateSchemas.distinct, source, pointer);
        const { action, of } = distinct;
        const counted = this.#counted(distinct, pointer);
        return { ...counted, by: compileValue(this.#actions.get(action), of.var, `${pointer}/of`) };
      }
      case "sum": {
        const sum = parse(aggregateSchemas.sum, source, pointer);
        const counted = this.#counted(sum, pointer);
        const amount = compileNumber(sum.of, this.#dataEnvironment(sum.action), `${pointer}/of`);
        return { ...counted, amount };
      }
      case "streak": {
        const streak = parse(aggregateSchemas.streak, source, pointer);
        const unit = countedUnit(streak.unit, this.#weekStartsOn);
        return { ...this.#counted(streak, pointer), window: { kind: "streak", unit } };
      }
    }
  }

  #counted(
    {
      action,
      where: condition,
      window,
    }: { readonly action: string; readonly where?: unknown; readonly window?: CountWindow | undefined },
    pointer: string,
  ): Omit<CompiledAggregate, "key"> {
    if (!this.#actions.has(action)) {
      const detail = `Expected an action listed under /actions.${suggestion(action, [...this.#actions.keys()])}`;
      throw invalid(`${pointer}/action`, detail);
    }
    const environment = this.#dataEnvironment(action);
    return {
      action,
      window: toCounterWindow(window, this.#weekStartsOn),
      when: condition === undefined ? always : compileCondition(condition, environment, `${pointer}/where`),
      amount: one,
    };
  }

  /** The properties of the action alone, so that a count does not depend on the state of the user. */
  #dataEnvironment(action: string): Environment<Scope> {
    const definition = this.#actions.get(action) ?? { name: action, clientReportable: false };
    return { variable: dataVariables(definition), names: () => dataNames(definition) };
  }

  /** Compiles the limits for each user. Of limits with the same counter the lowest counts. */
  #limits({ id, limits, trigger }: LoyaltyRule, pointer: string): readonly CompiledLimit[] {
    const lowest = new Map<string, CompiledLimit>();
    for (const [index, limit] of limits.entries()) {
      if (limit.per === "global") continue;
      const { max, window, by } = limit;
      const key = counterKey({ kind: "limit", rule: id, window, by });
      if (max >= (lowest.get(key)?.max ?? Number.POSITIVE_INFINITY)) continue;
      const at = `${pointer}/limits/${index}`;
      const action = "action" in trigger ? trigger.action : null;
      const value = by && this.#value(action, by.var, `${at}/by`);
      lowest.set(key, { key, max, window: this.#limitWindow(key, window), pointer: at, by: value });
    }
    return [...lowest.values()];
  }

  #value(action: string | null, path: string, pointer: string): ActionValue {
    const definition = action === null ? undefined : this.#actions.get(action);
    return this.#collect(noValue, () => compileValue(definition, path, pointer));
  }

  #number(source: unknown, environment: Environment<Scope>, pointer: string): (scope: Scope) => number {
    return this.#collect(one, () => compileNumber(source, environment, pointer));
  }

  #collect<T>(fallback: T, compile: () => T): T {
    try {
      return compile();
    } catch (error) {
      if (!(error instanceof AppError) || error.fields === undefined) throw error;
      this.errors.push(...error.fields);
      return fallback;
    }
  }
}

/** The variables of one part, and what it has read of them so far. */
interface PartEnvironment extends Environment<Scope> {
  readonly reads: { answer: boolean; profile: boolean };
}

const keyCharacters = 12;

/** Returns the key of a counter, which is the same for equal definitions in every configuration. */
function counterKey(definition: unknown): string {
  const json = canonicalJson(JSON.parse(JSON.stringify(definition)));
  return bytesToHex(sha256(utf8ToBytes(json))).slice(0, keyCharacters);
}

/**
 * Compiles a property of an action to the keys of its values. `1` and `"1"` are different values.
 *
 * @throws {AppError} `validation_failed` where the action declares no such property.
 */
function compileValue(action: ActionDefinition | undefined, path: string, pointer: string): ActionValue {
  const variable = action === undefined ? null : dataVariables(action)(path);
  if (variable === null) {
    const detail =
      action === undefined
        ? "Expected a property of the action, such as data.matchId"
        : unknownVariable(path, dataNames(action));
    throw invalid(`${pointer}/var`, detail);
  }
  return scope => {
    const value = variable.read(scope);
    return value === undefined ? null : counterKey(value);
  };
}

function noValue(): null {
  return null;
}

function one(): number {
  return 1;
}

function parse<T>(schema: v.GenericSchema<unknown, T>, source: unknown, pointer: string): T {
  const parsed = v.safeParse(schema, source);
  if (!parsed.success)
    throw new AppError("validation_failed", malformed, { fields: fieldErrors(parsed.issues, pointer) });
  return parsed.output;
}

type GiftEffect = Extract<RuleEffect, { readonly user?: unknown }> & {
  readonly user: { readonly var: string };
};

function isGift(effect: RuleEffect): effect is GiftEffect {
  return "user" in effect && effect.user !== undefined;
}

/**
 * Compiles the variable that names the other user.
 *
 * @throws {AppError} `validation_failed` where there is no such text, or the effect would take from the user.
 */
function compileRecipient(
  effect: GiftEffect,
  findVariable: FindVariable,
  pointer: string,
): CompiledGift["recipient"] {
  if (effect.type === "metric" && typeof effect.metricQuantity === "number" && effect.metricQuantity < 0) {
    throw invalid(`${pointer}/metricQuantity`, "Expected no effect that takes from another user");
  }
  const variable = findVariable(effect.user.var);
  if (variable === null || (variable.type !== "string" && variable.type !== "any")) {
    const detail = "Expected a property of the action that is a string, such as data.referrerId";
    throw invalid(`${pointer}/user/var`, detail);
  }
  return scope => {
    const value = variable.read(scope);
    return value === undefined || Array.isArray(value) ? null : String(value);
  };
}

/** Returns the rewards of gifts by the ids of their users. Amounts that would give nothing, or take, are left out. */
export function giftedRewards(
  gifts: readonly CompiledGift[],
  scope: Scope,
  factor: number,
): ReadonlyMap<string, readonly SingleReward[]> {
  const byUser = new Map<string, SingleReward[]>();
  for (const { recipient, effect } of gifts) {
    const userId = recipient(scope);
    const reward = userId === null ? null : rewardOf(effect, scope, factor);
    if (userId !== null && reward !== null) byUser.set(userId, [...(byUser.get(userId) ?? []), reward]);
  }
  return byUser;
}

function rewardOf(effect: CompiledEffect, scope: Scope, factor: number): SingleReward | null {
  switch (effect.type) {
    case "metric": {
      const metricQuantity = Math.trunc(multiplied(effect.amount(scope), factor));
      return metricQuantity <= 0 ? null : { type: "metric", metricId: effect.metricId, metricQuantity };
    }
    case "inventory": {
      const { type, inventorySetId, inventoryItemId } = effect;
      return { type, inventorySetId, inventoryItemId };
    }
    case "coupon":
      return { type: "coupon", couponId: effect.couponId };
    default:
      return null;
  }
}

/** The message of errors that {@linkcode ConfigPartsCompiler} collects by their fields. */
const malformed = "Cannot use the part as it is not well formed";

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", malformed, { fields: [{ pointer, detail }] });
}
