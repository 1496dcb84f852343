/**
 * The variables of conditions and amounts in a loyalty configuration, the lookup of values by names that callers choose, and the
 * keys of triggers.
 *
 * @module
 */

import type { CountedUnit, PeriodUnit } from "../../../base/calendar/mod.ts";
import type { Environment, Operand, ValueType, VariableDeclaration } from "../../../base/expressions/mod.ts";
import type { ElementFacts } from "../votes/elements.ts";
import type { ActionData, ActionDefinition, LoyaltyConfig } from "./document.ts";
import { type CountWindow, customFieldOf } from "./fields.ts";

/** Returns an own property of a record, so that `toString` and other inherited names have no value. */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Checks whether a record has entries, without making an array of them. */
export function hasEntries(record: object): boolean {
  for (const _ in record) return true;
  return false;
}

/** The kinds of changes that trigger rules. */
export type TriggerKind =
  | "metric"
  | "challengeStarted"
  | "challengeCompleted"
  | "milestoneReached"
  | "inventoryReceived";

/** Returns the key of a trigger's plan. */
export function triggerKey(kind: TriggerKind, id: string): string {
  return `${kind}:${id}`;
}

/** The time that a counter covers. */
export type CounterWindow =
  | { readonly kind: "total" }
  | { readonly kind: "buckets"; readonly unit: CountedUnit; readonly last: number }
  | { readonly kind: "streak"; readonly unit: CountedUnit };

/** The day with which weeks begin. */
export type WeekStart = LoyaltyConfig["weekStartsOn"];

/** Converts a unit of the document: a week may begin on Sunday. */
export function countedUnit<U extends CountedUnit>(unit: U, weekStartsOn: WeekStart): U | PeriodUnit {
  return unit === "week" && weekStartsOn === "sunday" ? "sundayWeek" : unit;
}

/** Converts a window of the document. */
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
/** The variables of the element that an action names. */
export const elementNames: readonly string[] = Object.keys(elementVariables);

/** Lists the variables of an action. */
export function dataNames({ data: declared }: ActionDefinition): readonly string[] {
  return declared === undefined ? ["data.<name>"] : Object.keys(declared).map(name => `data.${name}`);
}

/** Lists the variables of users. */
export function userNames(config: LoyaltyConfig): readonly string[] {
  const kinds = ["metrics", "inventory", "challenges", "milestones"] as const;
  const known = kinds.flatMap(kind => config[kind].map(({ id }) => `user.${kind}.${id}`));
  return [...known, "user.segments", "user.custom.<field>"];
}

/** The parts of the state that have variables. */
type UserVariable = "metrics" | "inventory" | "challenges" | "milestones";

const userVariableTypes: Readonly<Record<UserVariable, ValueType>> = {
  metrics: "number",
  inventory: "list",
  challenges: "string",
  milestones: "string",
};

/** Resolves `user.metrics.<id>`, `user.inventory.<setId>`, `user.challenges.<id>` and `user.milestones.<setId>`. */
export function userVariables(config: LoyaltyConfig): FindVariable {
  const ids = {
    metrics: new Set(config.metrics.map(({ id }) => id)),
    inventory: new Set(config.inventory.map(({ id }) => id)),
    challenges: new Set(config.challenges.map(({ id }) => id)),
    milestones: new Set(config.milestones.map(({ id }) => id)),
  };
  return path => {
    const [root, kind = "", ...rest] = path.split(".");
    const id = rest.join(".");
    if (root !== "user" || !isUserVariable(kind) || !ids[kind].has(id)) return null;
    return { type: userVariableTypes[kind], read: readerOf(kind, id) };
  };
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

/** The custom field with the segments of a user. */
const segments = "segments";

function segmentsOf({ user }: Scope): readonly string[] {
  const value = user.customField(segments);
  return Array.isArray(value) ? value : [];
}

function readerOf(kind: UserVariable, id: string): Operand<Scope> {
  switch (kind) {
    case "metrics":
      return ({ user }) => user.metric(id);
    case "inventory":
      return ({ user }) => user.items(id);
    case "challenges":
      return ({ user }) => user.challenge(id);
    case "milestones":
      return ({ user }) => user.milestone(id);
  }
}

function isUserVariable(text: string): text is UserVariable {
  return Object.hasOwn(userVariableTypes, text);
}
