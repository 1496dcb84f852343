/** Random conditions that are well formed and well typed, and random scopes for them. */

import type { Random } from "../../../../adapters/conformance/random.ts";
import type { Value, ValueType } from "../../../../lib/base/expressions/mod.ts";
import type { Scope } from "./_environment.ts";

const texts = ["", "a", "ab", "b", "é"];
const numbers = [-1, 0, 0.5, 1, 2, 1e308];
const variables: Readonly<Record<ValueType, readonly string[]>> = {
  string: ["name"],
  number: ["points"],
  boolean: ["isMember"],
  list: ["badges"],
  any: ["data.p", "data.q", "data.missing"],
};

/** A condition, nested at most so deep. */
export function randomCondition(random: Random, depth: number): object {
  if (depth === 0 || random.chance(0.3)) return randomComparison(random);
  const count = 1 + random.integer(4);
  const parts = (): object[] => Array.from({ length: count }, () => randomCondition(random, depth - 1));
  return random.pick([
    () => ({ all: parts() }),
    () => ({ any: parts() }),
    () => ({ not: randomCondition(random, depth - 1) }),
  ])();
}

/** A scope in which declared variables have values of their type or none, and others any. */
export function randomScope(random: Random): Scope {
  const entries: [string, () => Value][] = [
    ["name", () => random.pick(texts)],
    ["points", () => random.pick(numbers)],
    ["isMember", () => random.chance(0.5)],
    ["badges", () => texts.filter(() => random.chance(0.4))],
    ["p", () => anyValue(random)],
    ["q", () => anyValue(random)],
  ];
  const present = entries.filter(() => random.chance(0.8));
  return Object.fromEntries(present.map(([name, value]) => [name, value()]));
}

function randomComparison(random: Random): object {
  const type = random.pick(["string", "number", "boolean"] as const);
  const ordered = random.pick(["string", "number"] as const);
  const number = (): unknown => operand(random, "number");
  return random.pick([
    () => ({ [random.pick(["eq", "ne"])]: [operand(random, type), operand(random, type)] }),
    () => ({
      [random.pick(["gt", "gte", "lt", "lte"])]: [operand(random, ordered), operand(random, ordered)],
    }),
    () => ({ between: [number(), number(), number()] }),
    () => ({
      in: [operand(random, type), Array.from({ length: random.integer(4) }, () => constant(random, type))],
    }),
    () => ({ contains: [operand(random, random.pick(["string", "list"])), operand(random, "string")] }),
    () => ({ startsWith: [operand(random, "string"), operand(random, "string")] }),
    () => ({ exists: { var: random.pick(Object.values(variables).flat()) } }),
  ])();
}

function operand(random: Random, type: Exclude<ValueType, "any">, depth = 2): unknown {
  if (random.chance(0.2)) return { var: random.pick(variables.any) };
  if (type === "list" || random.chance(0.4)) return { var: random.pick(variables[type]) };
  if (type === "number" && depth > 0 && random.chance(0.5)) return arithmetic(random, depth);
  return constant(random, type);
}

function arithmetic(random: Random, depth: number): object {
  const part = (): unknown => operand(random, "number", depth - 1);
  const parts = (count: number): unknown[] => Array.from({ length: count }, part);
  return random.pick([
    () => ({ [random.pick(["add", "mul", "min", "max"])]: parts(2 + random.integer(3)) }),
    () => ({ [random.pick(["sub", "div0"])]: parts(2) }),
    () => ({ [random.pick(["floor", "round"])]: part() }),
    () => ({ if: [randomCondition(random, 1), part(), part()] }),
  ])();
}

function constant(random: Random, type: "string" | "number" | "boolean"): Value {
  if (type === "boolean") return random.chance(0.5);
  return type === "string" ? random.pick(texts) : random.pick(numbers);
}

function anyValue(random: Random): Value {
  return constant(random, random.pick(["string", "number", "boolean"] as const));
}
