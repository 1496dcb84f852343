/**
 * A loyalty configuration that is ready for use.
 *
 * @module
 */

import type { Condition, Failure } from "../../expressions/mod.ts";
import type { CompiledAggregate } from "./compile_counters.ts";
import type { CounterWindow } from "./counter_window.ts";
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
  Reward,
  RuleEffect,
} from "./document.ts";
import type { Scope } from "./scope.ts";

/** A reward that is not a bundle. */
export type SingleReward = Exclude<Reward, { readonly type: "reward" }>;

/** A part that depends on a condition. */
export interface ConditionalPart {
  readonly when: Condition<Scope>;
  /** Compiles why the condition is false; only a dry run asks. */
  readonly explain: () => (scope: Scope) => readonly Failure[];
  /** JSON Pointer of the part in the document. */
  readonly pointer: string;
}

/** An effect, bundles taken apart. */
export type CompiledEffect =
  | { readonly type: "metric"; readonly metricId: string; readonly amount: (scope: Scope) => number }
  | Exclude<RuleEffect, { readonly type: "metric" | "reward" }>;

/** A limit of a rule or a product for each user. */
export interface CompiledLimit {
  readonly key: string;
  readonly max: number;
  readonly window: CounterWindow;
  readonly pointer: string;
}

/** A rule that may fire. */
export interface CompiledRule extends ConditionalPart {
  readonly rule: LoyaltyRule;
  readonly effects: readonly CompiledEffect[];
  readonly limits: readonly CompiledLimit[];
  readonly hasGlobalLimit: boolean;
}

/** A challenge with its bundles taken apart. */
export interface CompiledChallenge {
  readonly challenge: Challenge;
  /** From when to when it may run, Unix ms; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly rewards: readonly SingleReward[];
  /** Whether a mission asks for the value of a metric, and so may be done from the start. */
  readonly hasMetricMission: boolean;
}

/** A mission that an action may advance. */
export interface CompiledMission extends ConditionalPart {
  readonly of: CompiledChallenge;
  readonly mission: Mission;
  readonly count: number;
  readonly amount: (scope: Scope) => number;
}

/** A mission that asks for the value of a metric. */
export interface CompiledMetricMission {
  readonly of: CompiledChallenge;
  readonly mission: Mission;
  readonly metricId: string;
  readonly atLeast: number;
  /** Whether the challenge must be in progress already, because it is its start that is looked at. */
  readonly isAtStart: boolean;
}

/** An action that makes a challenge fail. */
export interface CompiledFailure extends ConditionalPart {
  readonly of: CompiledChallenge;
}

/** A ladder with its bundles taken apart. */
export interface CompiledLadder {
  readonly set: MilestoneSet;
  /** By the place of the milestone. */
  readonly rewards: readonly (readonly SingleReward[])[];
}

/** What a trigger may cause. */
export interface TriggerPlan {
  /** In the order of application: by priority, then id. */
  readonly rules: readonly CompiledRule[];
  readonly failures: readonly CompiledFailure[];
  readonly missions: readonly CompiledMission[];
  readonly metricMissions: readonly CompiledMetricMission[];
  readonly ladders: readonly CompiledLadder[];
}

/** What an action may cause. */
export interface ActionPlan extends TriggerPlan {
  readonly definition: ActionDefinition;
  readonly clientReportable: boolean;
  readonly aggregates: readonly CompiledAggregate[];
}

/** A product, with what counts how many of it a user has had. */
export interface CompiledProduct {
  readonly product: Product;
  /** Null: a user may have any number. */
  readonly limit: CompiledLimit | null;
}

/** A configuration ready for use. */
export interface CompiledConfig {
  /** The version of the document. */
  readonly version: string;
  readonly config: LoyaltyConfig;
  readonly metrics: ReadonlyMap<string, Metric>;
  readonly coupons: ReadonlyMap<string, Coupon>;
  readonly challenges: ReadonlyMap<string, CompiledChallenge>;
  readonly products: ReadonlyMap<string, CompiledProduct>;
  /** The rewards of each bundle. */
  readonly bundles: ReadonlyMap<string, readonly SingleReward[]>;
  readonly actions: ReadonlyMap<string, ActionPlan>;
  /** By {@linkcode triggerKey}; only those that cause something. */
  readonly triggers: ReadonlyMap<string, TriggerPlan>;
  /** The rules that have limits for all users together. */
  readonly limitedRules: ReadonlyMap<string, LoyaltyRule>;
  /** Every key under which something is counted. */
  readonly counterKeys: ReadonlySet<string>;
}

/** What a change of a user may trigger. */
export type TriggerKind =
  | "metric"
  | "challengeStarted"
  | "challengeCompleted"
  | "milestoneReached"
  | "inventoryReceived";

/** Where the plan of a trigger is found. */
export function triggerKey(kind: TriggerKind, id: string): string {
  return `${kind}:${id}`;
}
