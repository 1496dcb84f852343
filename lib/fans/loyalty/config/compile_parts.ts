/**
 * Compilation of the parts of a loyalty configuration. Conditions and amounts become closures, and bundles their rewards. Errors
 * are collected, so that all are reported at once.
 *
 * @module
 */

import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import {
  type Condition,
  compileCondition,
  compileExplanation,
  compileNumber,
  type Environment,
} from "../../../base/expressions/mod.ts";
import type {
  CompiledChallenge,
  CompiledEffect,
  CompiledFailure,
  CompiledGift,
  CompiledLimit,
  CompiledMetricMission,
  CompiledMilestoneSet,
  CompiledMission,
  CompiledProduct,
  CompiledRule,
  ConditionalPart,
} from "./compiled.ts";
import {
  type ActionValue,
  AggregateCompiler,
  answerVariable,
  compileValue,
  countedUnit,
  counterKey,
  customVariable,
  dataNames,
  dataVariables,
  elementNames,
  elementVariable,
  type FindVariable,
  multiplied,
  type Scope,
  toCounterWindow,
  userNames,
  userVariables,
  type WeekStart,
} from "./compiled.ts";
import type {
  ActionDefinition,
  Challenge,
  LoyaltyConfig,
  LoyaltyRule,
  MilestoneSet,
  Product,
  Reward,
  RuleEffect,
} from "./document.ts";
import type { CountWindow } from "./fields.ts";
import type { SingleReward } from "./parts.ts";
import { compileFactor, compileTimes } from "./rules.ts";

export class ConfigPartsCompiler {
  readonly bundles: ReadonlyMap<string, readonly SingleReward[]>;
  readonly aggregates: AggregateCompiler;
  readonly errors: FieldError[] = [];
  /** The limits and caps of all rules and metrics, also of disabled ones, so that a pause does not give each user another firing. */
  readonly limits: CompiledLimit[] = [];
  /** The custom fields of profiles that are read. */
  readonly customFields = new Set<string>();
  /** Number of variables so far that read custom fields. */
  #customReads = 0;
  /** Number of variables so far that read the answer of an element. */
  #answerReads = 0;
  readonly #actions: ReadonlyMap<string, ActionDefinition>;
  readonly #metricCaps: ReadonlyMap<string, readonly CompiledLimit[]>;
  readonly #timeZone: string;
  readonly #weekStartsOn: WeekStart;
  readonly #multipliers: LoyaltyConfig["multipliers"];
  readonly #userVariable: FindVariable;
  readonly #userNames: readonly string[];

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
    this.limits.push(...[...this.#metricCaps.values()].flat());
    this.#timeZone = config.timeZone;
    this.#multipliers = config.multipliers;
    this.#userVariable = userVariables(config);
    this.#userNames = userNames(config);
    this.aggregates = new AggregateCompiler(this.#actions, this.#weekStartsOn);
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
    this.limits.push(...limits, ...caps.map(({ cap }) => cap));
    const capsOf = (metricId: string): readonly CompiledLimit[] => [
      ...caps.filter(cap => cap.metricId === metricId).map(({ cap }) => cap),
      ...(this.#metricCaps.get(metricId) ?? []),
    ];
    const customReads = this.#customReads;
    const answerReads = this.#answerReads;
    return {
      rule,
      ...this.#conditional(rule.when, environment, { condition: `${pointer}/when`, part: pointer }),
      effects: rule.effects.flatMap((effect, index) =>
        isGift(effect) ? [] : this.#effect(effect, { environment, capsOf }, `${pointer}/effects/${index}`),
      ),
      gifts: this.#gifts(rule, environment, pointer),
      readsProfile: this.#customReads > customReads,
      readsAnswer: this.#answerReads > answerReads,
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

  missions(of: CompiledChallenge, pointer: string): CompiledMission[] {
    return of.challenge.missions.flatMap((mission, m) => {
      if ("metric" in mission.rule) return [];
      const { action, when, count } = mission.rule;
      const amount = "amount" in mission.rule ? mission.rule.amount : undefined;
      const at = `${pointer}/missions/${m}/rule`;
      const environment = this.#environment(action);
      const answerReads = this.#answerReads;
      const value =
        "distinct" in mission.rule
          ? { by: this.#value(action, mission.rule.distinct.var, `${at}/distinct`) }
          : {};
      return [
        {
          of,
          mission,
          count,
          amount: amount === undefined ? one : this.#number(amount, environment, `${at}/amount`),
          ...value,
          ...this.#conditional(when, environment, {
            condition: `${at}/when`,
            part: `${pointer}/missions/${m}`,
          }),
          readsAnswer: this.#answerReads > answerReads,
        },
      ];
    });
  }

  metricMissions(of: CompiledChallenge): CompiledMetricMission[] {
    return of.challenge.missions.flatMap(mission => {
      if (!("metric" in mission.rule)) return [];
      return [
        { of, mission, metricId: mission.rule.metric, atLeast: mission.rule.atLeast, isAtStart: false },
      ];
    });
  }

  failure(of: CompiledChallenge, pointer: string): CompiledFailure[] {
    const { fail } = of.challenge;
    if (fail === undefined) return [];
    const part = `${pointer}/fail`;
    const environment = this.#environment(fail.action);
    const answerReads = this.#answerReads;
    const conditional = this.#conditional(fail.when, environment, { condition: `${part}/when`, part });
    return [{ of, ...conditional, readsAnswer: this.#answerReads > answerReads }];
  }

  milestoneSet(set: MilestoneSet): CompiledMilestoneSet {
    return { set, rewards: set.milestones.map(({ rewards }) => this.singleRewards(rewards)) };
  }

  /** Compiles a product. The counter of its limit stays the same while its window does. */
  product(product: Product, pointer: string): CompiledProduct {
    const { id, limits, when } = product;
    const condition = { condition: `${pointer}/when`, part: pointer };
    const compiled = {
      product,
      when: when === undefined ? null : this.#conditional(when, this.#environment(null), condition).when,
    };
    if (limits === undefined) return { ...compiled, limit: null };
    const { perUser: max, window: calendar } = limits;
    const window = calendar === undefined ? {} : { window: { calendar } };
    const limit = this.#cap({ kind: "product", product: id }, { max, ...window }, `${pointer}/limits`);
    return { ...compiled, limit };
  }

  /** Compiles a bound of amounts. Its counter stays the same while its window does. */
  #cap(
    of: object,
    { max, window }: { readonly max: number; readonly window?: CountWindow },
    pointer: string,
  ): CompiledLimit {
    const key = counterKey({ ...of, window });
    return { key, max, window: toCounterWindow(window, this.#weekStartsOn), pointer };
  }

  /** Compiles the effects on other users. No cap applies to them, as it is one of what the user of the action gets. */
  #gifts(
    { effects, trigger }: LoyaltyRule,
    environment: Environment<Scope>,
    pointer: string,
  ): readonly CompiledGift[] {
    const action = "action" in trigger ? this.#actions.get(trigger.action) : undefined;
    const data = action === undefined ? undefined : dataVariables(action);
    const findVariable: FindVariable = path => data?.(path) ?? this.#customVariable(path);
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
  #environment(action: string | null): Environment<Scope> {
    const definition = action === null ? undefined : this.#actions.get(action);
    const data = definition === undefined ? undefined : dataVariables(definition);
    return {
      variable: path =>
        data?.(path) ??
        (data === undefined ? null : this.#elementVariable(path)) ??
        this.#userVariable(path) ??
        this.#customVariable(path),
      names: () =>
        definition === undefined
          ? this.#userNames
          : [...dataNames(definition), ...this.#userNames, ...elementNames],
      aggregate: (kind, source, pointer) => this.aggregates.variable(kind, source, pointer),
    };
  }

  #elementVariable(path: string): ReturnType<FindVariable> {
    if (path === answerVariable) this.#answerReads += 1;
    return elementVariable(path);
  }

  #customVariable(path: string): ReturnType<FindVariable> {
    const found = customVariable(path);
    if (found === null) return null;
    this.#customReads += 1;
    this.customFields.add(found.name);
    return found.operand;
  }

  #conditional(
    source: unknown,
    environment: Environment<Scope>,
    pointers: { readonly condition: string; readonly part: string },
  ): ConditionalPart {
    const { condition, part } = pointers;
    if (source === undefined) return { when: always, explain: () => () => [], pointer: part };
    return {
      when: this.#collect(always, () => compileCondition(source, environment, condition)),
      explain: () => compileExplanation(source, environment, condition),
      pointer: part,
    };
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
      const value = by === undefined ? {} : { by: this.#value(action, by.var, `${at}/by`) };
      const counted = toCounterWindow(window, this.#weekStartsOn);
      lowest.set(key, { key, max, window: counted, pointer: at, ...value });
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

const always: Condition<Scope> = () => true;

function noValue(): null {
  return null;
}

function one(): number {
  return 1;
}

type GiftEffect = Extract<RuleEffect, { readonly user?: unknown }> & {
  readonly user: { readonly var: string };
};

/** Tests if an effect is one on another user. */
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

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot use the effect as it is not well formed", {
    fields: [{ pointer, detail }],
  });
}
