/**
 * The condition language, read as its documentation says it and without closures, types or pointers of the product's:
 * what compiled conditions are compared with.
 */

import type { Value } from "../../../../lib/base/expressions/mod.ts";
import type { Scope } from "./_environment.ts";

type Source = Readonly<Record<string, unknown>>;

/** The value of an operand. */
export function naiveValue(source: unknown, scope: Scope): Value {
  if (typeof source !== "object") return source as Value;
  const [[operator, argument]] = Object.entries(source as Source) as [[string, unknown]];
  if (operator === "var") {
    const name = String(argument).replace(/^data\./, "");
    return Object.entries(scope).find(([key]) => key === name)?.[1];
  }
  if (operator === "if") {
    const [condition, a, b] = argument as [unknown, unknown, unknown];
    const value = naiveValue(naiveHolds(condition, scope) ? a : b, scope);
    return typeof value === "number" ? value : undefined;
  }
  const parts = Array.isArray(argument) ? argument : [argument];
  const values = parts.map(part => naiveValue(part, scope));
  if (!values.every(value => typeof value === "number")) return undefined;
  const result = naiveArithmetic(operator, values);
  return Number.isFinite(result) ? result : undefined;
}

function naiveArithmetic(operator: string, values: readonly number[]): number {
  const [a = 0, b = 0] = values;
  switch (operator) {
    case "add":
      return values.reduce((sum, value) => decimal(sum + value));
    case "sub":
      return decimal(a - b);
    case "mul":
      return values.reduce((product, value) => decimal(product * value));
    case "div0":
      return b === 0 ? 0 : decimal(a / b);
    case "min":
      return Math.min(...values);
    case "max":
      return Math.max(...values);
    case "floor":
      return Math.floor(a);
    case "round":
      return Math.round(a);
    default:
      throw new RangeError(`There is no ${operator}`);
  }
}

function decimal(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toFixed(9)) + 0;
}

/** Returns true if a condition holds when the comparisons at `flipped` have the opposite result. */
export function naiveHolds(
  source: unknown,
  scope: Scope,
  { pointer = "", flipped = new Set() }: { pointer?: string; flipped?: ReadonlySet<string> } = {},
): boolean {
  const [[operator, argument]] = Object.entries(source as Source) as [[string, unknown]];
  const at = `${pointer}/${operator}`;
  const part = (index: number): boolean =>
    naiveHolds((argument as unknown[])[index], scope, { pointer: `${at}/${index}`, flipped });
  if (operator === "not") return !naiveHolds(argument, scope, { pointer: at, flipped });
  const indexes = Array.isArray(argument) ? [...argument.keys()] : [];
  if (operator === "all") return indexes.filter(part).length === indexes.length;
  if (operator === "any") return indexes.filter(part).length > 0;
  return naiveComparison(operator, argument, scope) !== flipped.has(at);
}

function naiveComparison(operator: string, argument: unknown, scope: Scope): boolean {
  if (operator === "exists") return naiveValue(argument, scope) !== undefined;
  const [left, right, third] = argument as unknown[];
  const a = naiveValue(left, scope);
  if (operator === "in") return (right as unknown[]).some(constant => constant === a);
  const b = naiveValue(right, scope);
  const isScalar = a !== undefined && !Array.isArray(a);
  const areOrdered = typeof a === typeof b && (typeof a === "number" || typeof a === "string");
  switch (operator) {
    case "eq":
      return isScalar && a === b;
    case "ne":
      return !isScalar || a !== b;
    case "gt":
      return areOrdered && (a as number) > (b as number);
    case "gte":
      return areOrdered && (a as number) >= (b as number);
    case "lt":
      return areOrdered && (a as number) < (b as number);
    case "lte":
      return areOrdered && (a as number) <= (b as number);
    case "between": {
      const numbers = [b, a, naiveValue(third, scope)];
      return numbers.every((n, i) => typeof n === "number" && (i === 0 || n >= Number(numbers[i - 1])));
    }
    case "contains":
      return typeof b === "string" && (typeof a === "string" || Array.isArray(a)) && a.includes(b);
    case "startsWith":
      return typeof a === "string" && typeof b === "string" && a.slice(0, b.length) === b;
    default:
      throw new RangeError(`There is no ${operator}`);
  }
}
