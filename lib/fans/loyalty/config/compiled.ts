/** A compiled loyalty configuration, ready for the engine. */

import type { CountedUnit, Duration, PeriodUnit } from "../../../base/calendar/mod.ts";
import type {
  Condition,
  Environment,
  Failure,
  Operand,
  ValueType,
  VariableDeclaration,
} from "../../../base/expressions/mod.ts";
import { roundDecimal } from "../../../base/text/mod.ts";
import type { ElementFacts } from "../votes/elements.ts";
import type {
  ActionData,
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
import { type CountWindow, customFieldOf } from "./fields.ts";
import type { LotPolicy, SingleReward } from "./parts.ts";
import type { TimeFault } from "./rules.ts";

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
  readonly by?: ActionValue | undefined;
}

export interface CompiledRule extends TriggeredPart {
  readonly rule: LoyaltyRule;
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

export interface CompiledMission extends TriggeredPart {
  readonly of: CompiledChallenge;
  readonly mission: Mission;
  readonly count: number;
  readonly amount: (scope: Scope) => number;
  /** Counts each value once. @default counts every action */
  readonly by?: ActionValue | undefined;
}

export interface CompiledMetricMission {
  readonly of: CompiledChallenge;
  readonly mission: Mission;
  readonly metricId: string;
  readonly atLeast: number;
  /** Set where the start of the challenge triggers the check, and so must have happened. */
  readonly isAtStart: boolean;
}

export interface CompiledFailure extends TriggeredPart {
  readonly of: CompiledChallenge;
}

export interface CompiledMilestoneSet {
  readonly set: MilestoneSet;
  readonly rewards: readonly (readonly SingleReward[])[];
}

export interface TriggerPlan {
  /** In the order of application: by priority, then id. */
  readonly rules: readonly CompiledRule[];
  readonly failures: readonly CompiledFailure[];
  readonly missions: readonly CompiledMission[];
  readonly metricMissions: readonly CompiledMetricMission[];
  readonly milestoneSets: readonly CompiledMilestoneSet[];
}

export interface ActionPlan extends TriggerPlan {
  readonly definition: ActionDefinition;
  readonly aggregates: readonly CompiledAggregate[];
  /** What waits for the answer of an element; null: nothing. */
  readonly answered: TriggerPlan | null;
}

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

/** Returns an own property of a record, so that `toString` and other inherited names have no value. */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

export function metricValues(
  { config }: Pick<CompiledConfig, "config">,
  values: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    config.metrics.map(({ id, defaultValue }) => [id, ownValue(values, id) ?? defaultValue]),
  );
}

export function always(): boolean {
  return true;
}

/** Checks whether a record has entries, without making an array of them. */
export function hasEntries(record: object): boolean {
  for (const _ in record) return true;
  return false;
}

export type TriggerKind =
  | "action"
  | "metric"
  | "challengeStarted"
  | "challengeCompleted"
  | "milestoneReached"
  | "inventoryReceived";

export function triggerKey(kind: TriggerKind, id: string): string {
  return `${kind}:${id}`;
}

/** The time that a counter covers. */
export type CounterWindow =
  | { readonly kind: "total" }
  | { readonly kind: "buckets"; readonly unit: CountedUnit; readonly last: number }
  | { readonly kind: "streak"; readonly unit: CountedUnit };

export type WeekStart = LoyaltyConfig["weekStartsOn"];

/** Converts a unit of the document: a week may begin on Sunday. */
export function countedUnit<U extends CountedUnit>(unit: U, weekStartsOn: WeekStart): U | PeriodUnit {
  return unit === "week" && weekStartsOn === "sunday" ? "sundayWeek" : unit;
}

export function toCounterWindow(window: CountWindow | undefined, weekStartsOn: WeekStart): CounterWindow {
  if (window === undefined) return { kind: "total" };
  if ("calendar" in window) {
    return { kind: "buckets", unit: countedUnit(window.calendar, weekStartsOn), last: 1 };
  }
  return { kind: "buckets", unit: countedUnit(window.unit, weekStartsOn), last: window.last };
}

/** The state of a user as conditions read it. */
export interface UserView {
  metric(id: string): number;
  items(setId: string): readonly string[];
  /** Returns `none`, `in_progress`, `completed` or `failed`. */
  challenge(id: string): string;
  /** Returns the id of the highest milestone reached; empty before the first. */
  milestone(setId: string): string;
  counterValue(key: string, window: CounterWindow): number;
  /** Returns the number of different values in the window of a counter. */
  distinctValues(key: string, window: CounterWindow): number;
  /** Returns a custom field of the profile; undefined where it has no value. */
  customField(name: string): string | number | boolean | readonly string[] | undefined;
}

/** The input of conditions: the data of an action, and the user before it. Counters include the action already. */
export interface Scope {
  readonly data: ActionData;
  readonly user: UserView;
  /** The element that the action names. */
  readonly element?: ElementFacts | undefined;
}

/** Returns the key of a value of an action; null: the action has none. */
export type ActionValue = (scope: Scope) => string | null;

/** Resolves the path of a variable; null where there is none. */
export type FindVariable = Environment<Scope>["variable"];

/** Resolves `data.<name>` to own properties only, so that no inherited name is ever a value. */
export function dataVariables({ data: declared }: ActionDefinition): FindVariable {
  return path => {
    if (!path.startsWith("data.")) return null;
    const name = path.slice("data.".length);
    const type = declared === undefined ? "any" : ownValue(declared, name);
    if (name === "" || type === undefined) return null;
    return { type, read: ({ data }) => ownValue(data, name) };
  };
}

/** The variable that has no value before the user may know the answer. */
export const answerVariable = "element.isRight";

const elementVariables: Readonly<Record<string, VariableDeclaration<Scope>>> = {
  "element.type": { type: "string", read: ({ element }) => element?.type },
  "element.points": { type: "number", read: ({ element }) => element?.points },
  "element.seconds": { type: "number", read: ({ element }) => element?.seconds },
  [answerVariable]: { type: "boolean", read: ({ element }) => element?.isRight },
};

/** Resolves the variables of the element that an action names. */
export const elementVariable: FindVariable = path => ownValue(elementVariables, path) ?? null;
export const elementNames: readonly string[] = Object.keys(elementVariables);

export function dataNames({ data: declared }: ActionDefinition): readonly string[] {
  return declared === undefined ? ["data.<name>"] : Object.keys(declared).map(name => `data.${name}`);
}

/** Lists the variables `user.metrics.<id>`, `user.inventory.<setId>`, `user.challenges.<id>` and `user.milestones.<setId>`. */
export function userVariables({
  metrics,
  inventory,
  challenges,
  milestones,
}: LoyaltyConfig): ReadonlyMap<string, VariableDeclaration<Scope>> {
  const variables = (
    kind: string,
    parts: readonly { readonly id: string }[],
    type: ValueType,
    reader: (id: string) => Operand<Scope>,
  ) => parts.map(({ id }) => [`user.${kind}.${id}`, { type, read: reader(id) }] as const);
  return new Map([
    ...variables(
      "metrics",
      metrics,
      "number",
      id =>
        ({ user }) =>
          user.metric(id),
    ),
    ...variables(
      "inventory",
      inventory,
      "list",
      id =>
        ({ user }) =>
          user.items(id),
    ),
    ...variables(
      "challenges",
      challenges,
      "string",
      id =>
        ({ user }) =>
          user.challenge(id),
    ),
    ...variables(
      "milestones",
      milestones,
      "string",
      id =>
        ({ user }) =>
          user.milestone(id),
    ),
  ]);
}

/**
 * Resolves `user.custom.<field>`, and `user.segments` to the list in the field of that name. The organisation declares the types of
 * fields elsewhere, so they are any here.
 */
export function customVariable(
  path: string,
): { readonly name: string; readonly operand: VariableDeclaration<Scope> } | null {
  if (path === "user.segments") return { name: segments, operand: { type: "list", read: segmentsOf } };
  const name = customFieldOf(path);
  if (name === null) return null;
  return { name, operand: { type: "any", read: ({ user }) => user.customField(name) } };
}

const segments = "segments";
/** The variables of custom fields, for messages. */
export const customNames: readonly string[] = ["user.segments", "user.custom.<field>"];

function segmentsOf({ user }: Scope): readonly string[] {
  const value = user.customField(segments);
  return Array.isArray(value) ? value : [];
}

/** A counter that an action adds to. */
export interface CompiledAggregate {
  readonly key: string;
  readonly action: string;
  readonly window: CounterWindow;
  readonly when: Condition<Scope>;
  readonly amount: (scope: Scope) => number;
  /** Counts the actions of each value for themselves. @default counts all together */
  readonly by?: ActionValue | undefined;
}

/** Multiplies the whole amount that a rule gives. What it takes stays. */
export function multiplied(amount: number, factor: number): number {
  return factor === 1 || amount <= 0 ? amount : roundDecimal(Math.trunc(amount) * factor);
}
