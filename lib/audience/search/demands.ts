/**
 * What a filter demands of single values, whatever else it says: it tells which part of an index holds all users that fit.
 *
 * @module
 */

import { variableName } from "./columns.ts";

/** Values from `min` to `max`, both included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** What every user that fits has. */
export interface Demands {
  /** By the name of the column. */
  readonly bounds: ReadonlyMap<string, Bounds>;
  /** The only users that may fit; null: any. */
  readonly userIds: readonly string[] | null;
}

interface Found {
  readonly bounds: Map<string, Bounds>;
  userIds: ReadonlySet<string> | null;
}

/** What conditions that compile demand together. */
export function demandsOf(conditions: readonly unknown[]): Demands {
  const found: Found = { bounds: new Map(), userIds: null };
  for (const condition of conditions) collect(condition, found);
  const { bounds, userIds } = found;
  return { bounds, userIds: userIds === null ? null : [...userIds].sort() };
}

/** Only what stands under `all` is demanded of everybody. */
function collect(condition: unknown, found: Found): void {
  const [operator, argument] = Object.entries(condition as Readonly<Record<string, unknown>>)[0] ?? [];
  if (!Array.isArray(argument)) return;
  if (operator === "all") {
    for (const part of argument) collect(part, found);
    return;
  }
  const [first, second, third]: readonly unknown[] = argument;
  const name = nameOf(first);
  if (name === null) {
    const swapped = nameOf(second) === null ? undefined : mirrored.get(operator ?? "");
    if (swapped !== undefined) collect({ [swapped]: [second, first] }, found);
    return;
  }
  if (name === "userId") {
    if (operator === "eq" && typeof second === "string") keepUsers(found, [second]);
    if (operator === "in" && Array.isArray(second)) keepUsers(found, second);
    return;
  }
  if (operator === "between") {
    narrow(found, name, { min: lowest(second), max: highest(third) });
    return;
  }
  if (typeof second !== "number") return;
  const bounds = boundsOf(operator ?? "", second);
  if (bounds !== null) narrow(found, name, bounds);
}

const mirrored: ReadonlyMap<string, string> = new Map([
  ["eq", "eq"],
  ["gt", "lt"],
  ["gte", "lte"],
  ["lt", "gt"],
  ["lte", "gte"],
]);

function boundsOf(operator: string, value: number): Bounds | null {
  if (operator === "eq") return { min: value, max: value };
  if (operator === "gt" || operator === "gte") return { min: value, max: Number.POSITIVE_INFINITY };
  if (operator === "lt" || operator === "lte") return { min: Number.NEGATIVE_INFINITY, max: value };
  return null;
}

function narrow({ bounds }: Found, name: string, { min, max }: Bounds): void {
  const known = bounds.get(name);
  bounds.set(name, {
    min: Math.max(min, known?.min ?? min),
    max: Math.min(max, known?.max ?? max),
  });
}

function keepUsers(found: Found, userIds: readonly unknown[]): void {
  const texts = userIds.filter(userId => typeof userId === "string");
  const { userIds: known } = found;
  found.userIds = new Set(texts.filter(userId => known === null || known.has(userId)));
}

function nameOf(operand: unknown): string | null {
  if (typeof operand !== "object" || operand === null || !("var" in operand)) return null;
  return typeof operand.var === "string" ? variableName(operand.var) : null;
}

function lowest(operand: unknown): number {
  return typeof operand === "number" ? operand : Number.NEGATIVE_INFINITY;
}

function highest(operand: unknown): number {
  return typeof operand === "number" ? operand : Number.POSITIVE_INFINITY;
}
