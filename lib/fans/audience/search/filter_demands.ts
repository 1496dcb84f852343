/** The values that a filter demands of every matching user: they tell which part of an index holds all matches. */

import { foldName, textScore, type UserRange } from "../../users/mod.ts";
import { fieldScore } from "../profile/field_index.ts";
import { fieldPrefix, foldedName, variableName } from "./columns.ts";

/** Values from `min` to `max`, both included. */
export type ValueRange = Omit<UserRange, "key">;

export interface FilterDemands {
  readonly ranges: ReadonlyMap<string, ValueRange>;
  /** The only users that may match; null for any. */
  readonly userIds: readonly string[] | null;
}

export function demandsOf(conditions: readonly unknown[]): FilterDemands {
  const ranges = new Map<string, ValueRange>();
  const users: { ids: ReadonlySet<string> | null } = { ids: null };

  function narrow(name: string, { min, max }: ValueRange): void {
    const earlier = ranges.get(name);
    ranges.set(name, { min: Math.max(min, earlier?.min ?? min), max: Math.min(max, earlier?.max ?? max) });
  }
  function keepUsers(values: readonly unknown[]): void {
    const { ids: earlier } = users;
    const texts = values.filter(value => typeof value === "string");
    users.ids = new Set(texts.filter(userId => earlier === null || earlier.has(userId)));
  }
  /** Only conditions under `all` must hold for every match. */
  function collect(condition: unknown): void {
    const [operator = "", argument] = Object.entries(condition as Readonly<Record<string, unknown>>)[0] ?? [];
    if (!Array.isArray(argument)) return;
    if (operator === "all") {
      for (const part of argument) collect(part);
      return;
    }
    const [first, second, third]: readonly unknown[] = argument;
    const name = variableOf(first);
    if (name === null) {
      const swapped = variableOf(second) === null ? undefined : mirrored.get(operator);
      if (swapped !== undefined) collect({ [swapped]: [second, first] });
      return;
    }
    if (name === "userId") {
      if (operator === "eq" && typeof second === "string") keepUsers([second]);
      if (operator === "in" && Array.isArray(second)) keepUsers(second);
      return;
    }
    if (name === "username" || name === foldedName) {
      if (operator !== "eq" || typeof second !== "string") return;
      const score = textScore(foldName(second));
      narrow(foldedName, { min: score, max: score });
      return;
    }
    if (name.startsWith(fieldPrefix) && (typeof second === "string" || typeof second === "boolean")) {
      if (operator === "eq") narrow(name, { min: fieldScore(second), max: fieldScore(second) });
      return;
    }
    const range = rangeOf(operator, second, third);
    if (range !== null) narrow(name, range);
  }

  for (const condition of conditions) collect(condition);
  return { ranges, userIds: users.ids === null ? null : [...users.ids].sort() };
}

/** Operators with their operands swapped. */
const mirrored: ReadonlyMap<string, string> = new Map([
  ["eq", "eq"],
  ["gt", "lt"],
  ["gte", "lte"],
  ["lt", "gt"],
  ["lte", "gte"],
]);

function rangeOf(operator: string, value: unknown, upper: unknown): ValueRange | null {
  const [lowest, highest] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  if (operator === "between") {
    return {
      min: typeof value === "number" ? value : lowest,
      max: typeof upper === "number" ? upper : highest,
    };
  }
  if (typeof value !== "number") return null;
  if (operator === "eq") return { min: value, max: value };
  if (operator === "gt" || operator === "gte") return { min: value, max: highest };
  if (operator === "lt" || operator === "lte") return { min: lowest, max: value };
  return null;
}

function variableOf(operand: unknown): string | null {
  if (typeof operand !== "object" || operand === null || !("var" in operand)) return null;
  return typeof operand.var === "string" ? variableName(operand.var) : null;
}
