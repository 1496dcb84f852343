/**
 * What conditions and amounts of a loyalty configuration can see, and how it is compiled.
 *
 * @module
 */

import type { Environment, Operand, ValueType, Variable } from "../../expressions/mod.ts";
import type { ActionData } from "../user/history.ts";
import type { CounterWindow } from "./counter_window.ts";
import type { ActionDefinition, LoyaltyConfig } from "./document.ts";
import { ownValue } from "./own_property.ts";

/** A user as conditions see one. */
export interface UserView {
  metric(id: string): number;
  items(setId: string): readonly string[];
  /** `none`, `in_progress`, `completed` or `failed`. */
  challenge(id: string): string;
  /** The id of the highest milestone that was reached; empty: none. */
  milestone(setId: string): string;
  /** What has been counted under a key. */
  counterValue(key: string, window: CounterWindow): number;
}

/** What conditions see: the action's data, and the user before the action, whose counts include it. */
export interface Scope {
  readonly data: ActionData;
  readonly user: UserView;
}

/** Resolves the path of a variable; null where it is not one. */
export type FindVariable = Environment<Scope>["variable"];

/** `data.<name>`: own properties only, so that no inherited name is ever a value. */
export function dataVariables({ data: declared }: ActionDefinition): FindVariable {
  return path => {
    if (!path.startsWith("data.")) return null;
    const name = path.slice("data.".length);
    const type = declared === undefined ? "any" : ownValue(declared, name);
    if (name === "" || type === undefined) return null;
    return { type, read: ({ data }) => ownValue(data, name) };
  };
}

/** `user.metrics.<id>`, `user.inventory.<setId>`, `user.challenges.<id>` and `user.milestones.<setId>`. */
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
    if (root !== "user" || !isKind(kind) || !ids[kind].has(id)) return null;
    return { type: types[kind], read: readers[kind](id) } satisfies Variable<Scope>;
  };
}

type Kind = "metrics" | "inventory" | "challenges" | "milestones";

const types: Readonly<Record<Kind, ValueType>> = {
  metrics: "number",
  inventory: "list",
  challenges: "string",
  milestones: "string",
};

const readers: Readonly<Record<Kind, (id: string) => Operand<Scope>>> = {
  metrics:
    id =>
    ({ user }) =>
      user.metric(id),
  inventory:
    id =>
    ({ user }) =>
      user.items(id),
  challenges:
    id =>
    ({ user }) =>
      user.challenge(id),
  milestones:
    id =>
    ({ user }) =>
      user.milestone(id),
};

function isKind(text: string): text is Kind {
  return Object.hasOwn(types, text);
}
