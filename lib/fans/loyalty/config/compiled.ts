/**
 * A compiled loyalty configuration, ready for the engine.
 *
 * @module
 */

import type { Duration, PeriodUnit } from "../../../base/calendar/mod.ts";
import type { Condition, Failure } from "../../../base/expressions/mod.ts";
import type { CompiledAggregate } from "./aggregates.ts";
import type {
  ActionDefinition,
  Challenge,
  Coupon,
  LoyaltyConfig,
  LoyaltyRule,
  Metric,
  MilestoneSet,
  Mission,
  Product,
  RuleEffect,
} from "./document.ts";
import type { LotPolicy } from "./metrics.ts";
import type { SingleReward } from "./rewards.ts";
import type { TimeFault } from "./rule_times.ts";
import type { ActionValue, CounterWindow, Scope } from "./scope.ts";

/** A part that depends on a condition. */
export interface ConditionalPart {
  readonly when: Condition<Scope>;
  /** Compiles the explanation of a false condition, for dry runs. */
  readonly explain: () => (scope: Scope) => readonly Failure[];
  /** JSON Pointer of the part in the document. */
  readonly pointer: string;
}

/** A part that an action triggers. */
export interface TriggeredPart extends ConditionalPart {
  /** True where it depends on the answer of an element: it applies once the user may know the answer. */
  readonly readsAnswer: boolean;
}

/** An effect without bundles. */
export type CompiledEffect =
  | {
      readonly type: "metric";
      readonly metricId: string;
      readonly amount: (scope: Scope) => number;
      /** Those of the rule and of the metric. */
      readonly caps: readonly CompiledLimit[];
    }
  | Exclude<RuleEffect, { readonly type: "metric" | "reward" }>;

/** An effect of a rule on the user whom the action's data name. */
export interface CompiledGift {
  /** Returns the id of the user; null: the action names none. */
  readonly recipient: (scope: Scope) => string | null;
  readonly effect: CompiledEffect;
}

/** A limit of the firings of a rule, the amounts of a metric or the purchases of a product, for each user. */
export interface CompiledLimit {
  readonly key: string;
  readonly max: number;
  readonly window: CounterWindow;
  readonly pointer: string;
  /** Counts the actions of each value for themselves. @default counts all together */
  readonly by?: ActionValue;
}

/** A rule with its condition, effects and limits per user. */
export interface CompiledRule extends TriggeredPart {
  readonly rule: LoyaltyRule;
  /** The effects on the user of the action. */
  readonly effects: readonly CompiledEffect[];
  /** The rewards for other users. */
  readonly gifts: readonly CompiledGift[];
  readonly limits: readonly CompiledLimit[];
  readonly hasGlobalLimit: boolean;
  /** True where the condition or an amount reads custom fields of the profile. */
  readonly readsProfile: boolean;
  /** Explains why the rule does not apply at a time (Unix ms). Null: it always applies. */
  readonly timeFault: ((at: number) => TimeFault | null) | null;
  /** Returns the factor of what the rule gives at a time (Unix ms). Null: it is always 1. */
  readonly factorAt: ((at: number) => number) | null;
}

/** A challenge without bundles. */
export interface CompiledChallenge {
  readonly challenge: Challenge;
  /** Unix ms. */
  readonly from: number;
  /** Unix ms, exclusive. */
  readonly to: number;
  /** Null: its runs follow no calendar. */
  readonly period: PeriodUnit | null;
  readonly rewards: readonly SingleReward[];
}

/** A mission that an action may advance. */
export interface CompiledMission extends TriggeredPart {
  readonly of: CompiledChallenge;
  readonly mission: Mission;
  readonly count: number;
  readonly amount: (scope: Scope) => number;
  /** Counts each value once. @default counts every action */
  readonly by?: ActionValue;
}

/** A mission that depends on the value of a metric. */
export interface CompiledMetricMission {
  readonly of: CompiledChallenge;
  readonly mission: Mission;
  readonly metricId: string;
  readonly atLeast: number;
  /** Set where the start of the challenge triggers the check, and so must have happened. */
  readonly isAtStart: boolean;
}

/** An action that fails a challenge. */
export interface CompiledFailure extends TriggeredPart {
  readonly of: CompiledChallenge;
}

/** A milestone set without bundles. */
export interface CompiledMilestoneSet {
  readonly set: MilestoneSet;
  /** By the index of the milestone. */
  readonly rewards: readonly (readonly SingleReward[])[];
}

/** Everything that a trigger may cause. */
export interface TriggerPlan {
  /** In the order of application: by priority, then id. */
  readonly rules: readonly CompiledRule[];
  readonly failures: readonly CompiledFailure[];
  readonly missions: readonly CompiledMission[];
  readonly metricMissions: readonly CompiledMetricMission[];
  readonly milestoneSets: readonly CompiledMilestoneSet[];
}

/** Everything that an action may cause. */
export interface ActionPlan extends TriggerPlan {
  readonly definition: ActionDefinition;
  readonly aggregates: readonly CompiledAggregate[];
  /** What waits for the answer of an element; null: nothing. */
  readonly answered: TriggerPlan | null;
}

/** A product with its condition and its limit per user. */
export interface CompiledProduct {
  readonly product: Product;
  /** Null: everybody may buy it. */
  readonly when: Condition<Scope> | null;
  /** Null: a user may have any number. */
  readonly limit: CompiledLimit | null;
}

/** A loyalty configuration with resolved references, indexed by triggers. */
export interface CompiledConfig {
  /** The version of the document. */
  readonly version: string;
  readonly config: LoyaltyConfig;
  readonly metrics: ReadonlyMap<string, Metric>;
  /** The metrics whose points expire without activity, with the time that this takes. */
  readonly inactivity: ReadonlyMap<string, Duration>;
  /** The metrics whose users are reminded. */
  readonly reminders: ReadonlyMap<string, NonNullable<LotPolicy["reminder"]>>;
  readonly coupons: ReadonlyMap<string, Coupon>;
  readonly challenges: ReadonlyMap<string, CompiledChallenge>;
  readonly products: ReadonlyMap<string, CompiledProduct>;
  readonly bundles: ReadonlyMap<string, readonly SingleReward[]>;
  readonly actions: ReadonlyMap<string, ActionPlan>;
  /** By {@linkcode triggerKey}. Triggers without effects have no entry. */
  readonly triggers: ReadonlyMap<string, TriggerPlan>;
  /** The rules with limits for all users together. */
  readonly limitedRules: ReadonlyMap<string, LoyaltyRule>;
  /** The custom field with the time zone of a user. Null: the zone of the document counts for all. */
  readonly zoneField: string | null;
  /** The custom fields of profiles that are read. */
  readonly customFields: ReadonlySet<string>;
  /** The ids of rules with limits or caps. */
  readonly boundedRules: ReadonlySet<string>;
  /** The windows of all counters by their keys. */
  readonly counterWindows: ReadonlyMap<string, CounterWindow>;
}

/** Orders rules by priority, then id. */
export function compareRules({ rule: a }: CompiledRule, { rule: b }: CompiledRule): number {
  return a.priority - b.priority || (a.id < b.id ? -1 : 1);
}
