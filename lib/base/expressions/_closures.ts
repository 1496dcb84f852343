/**
 * The closures behind comparisons. A condition runs them millions of times a second: none allocates, and what is known
 * when compiling, above all a constant, is decided then.
 *
 * @module
 */

import type { Condition, Constant, Operand, Term, Value, ValueType } from "./_terms.ts";

type Terms<S> = readonly Term<S>[];

/** Both have a value, of the same type and equal. Lists never are. */
function areEqual<S>(terms: Terms<S>): Condition<S> {
  const { a, b, constant } = two(terms);
  if (constant !== undefined) return scope => a(scope) === constant;
  return scope => isSameValue(a(scope), b(scope));
}

function unequal<S>(terms: Terms<S>): Condition<S> {
  const { a, b, constant } = two(terms);
  if (constant !== undefined) return scope => a(scope) !== constant;
  return scope => !isSameValue(a(scope), b(scope));
}

/** Both are numbers or both texts, and the first is greater. */
export function greater<S>(terms: Terms<S>): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) > 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value > constant;
  };
}

/** Both are numbers or both texts, and the first is not less. */
export function atLeast<S>(terms: Terms<S>): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) >= 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value >= constant;
  };
}

/** Both are numbers or both texts, and the first is less. */
export function less<S>(terms: Terms<S>): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) < 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value < constant;
  };
}

/** Both are numbers or both texts, and the first is not greater. */
export function atMost<S>(terms: Terms<S>): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) <= 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value <= constant;
  };
}

/** Returns a number between two others, both included. */
export function between<S>([value, low, high]: Terms<S>): Condition<S> {
  const [read, from, to] = [readOf(value), readOf(low), readOf(high)];
  return scope => {
    const number = read(scope);
    if (typeof number !== "number") return false;
    const least = from(scope);
    const most = to(scope);
    return typeof least === "number" && typeof most === "number" && number >= least && number <= most;
  };
}

export function contains<S>(terms: Terms<S>): Condition<S> {
  const { a, b } = two(terms);
  return scope => {
    const whole = a(scope);
    const part = b(scope);
    if (typeof part !== "string") return false;
    return typeof whole === "string" ? whole.includes(part) : isList(whole) && whole.includes(part);
  };
}

export function startsWith<S>(terms: Terms<S>): Condition<S> {
  const { a, b } = two(terms);
  return scope => {
    const whole = a(scope);
    const start = b(scope);
    return typeof whole === "string" && typeof start === "string" && whole.startsWith(start);
  };
}

export function among<S>(read: Operand<S>, constants: ReadonlySet<Value>): Condition<S> {
  return scope => constants.has(read(scope));
}

/** Returns every condition holds; later ones are not asked once one does not. */
export function every<S>(parts: readonly Condition<S>[]): Condition<S> {
  const [a = never, b = never, c = never] = parts;
  if (parts.length === 1) return a;
  if (parts.length === 2) return scope => a(scope) && b(scope);
  if (parts.length === 3) return scope => a(scope) && b(scope) && c(scope);
  return scope => {
    for (const part of parts) if (!part(scope)) return false;
    return true;
  };
}

/** At least one condition holds; later ones are not asked once one does. */
export function some<S>(parts: readonly Condition<S>[]): Condition<S> {
  const [a = never, b = never, c = never] = parts;
  if (parts.length === 1) return a;
  if (parts.length === 2) return scope => a(scope) || b(scope);
  if (parts.length === 3) return scope => a(scope) || b(scope) || c(scope);
  return scope => {
    for (const part of parts) if (part(scope)) return true;
    return false;
  };
}

/** Returns a condition that never holds. */
export function never(): boolean {
  return false;
}

function two<S>([a, b]: Terms<S>): { a: Operand<S>; b: Operand<S>; constant: Constant | undefined } {
  return { a: readOf(a), b: readOf(b), constant: b?.constant };
}

function readOf<S>(term: Term<S> | undefined): Operand<S> {
  return term === undefined ? () => undefined : term.read;
}

function isSameValue(a: Value, b: Value): boolean {
  return a === b && a !== undefined && typeof a !== "object";
}

/** Negative, zero or positive as a is below, equal to or above b; NaN, for which every comparison is false, otherwise. */
function order(a: Value, b: Value): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return Number.NaN;
}

function isList(value: Value): value is readonly string[] {
  return typeof value === "object";
}

export interface Comparison {
  /** The types that each operand may have. */
  readonly accepts: readonly (readonly ValueType[])[];
  /** True if values of different types never compare. */
  readonly isTyped: boolean;
  /** The operator that says the same of the swapped operands, where there is one. */
  readonly swapped?: string;
  /** The condition on operands in their order. */
  readonly closure: <S>(terms: readonly Term<S>[]) => Condition<S>;
  /** Expected first operand, in words about the others. */
  readonly expected: (others: readonly string[]) => string;
}

const scalars: readonly ValueType[] = ["string", "number", "boolean"];
const ordered: readonly ValueType[] = ["string", "number"];
const alike = { accepts: [scalars, scalars], isTyped: true };
const inOrder = { accepts: [ordered, ordered], isTyped: true };

export const comparisons: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ["eq", { ...alike, swapped: "eq", closure: areEqual, expected: ([b]) => `equal to ${b}` }],
  ["ne", { ...alike, swapped: "ne", closure: unequal, expected: ([b]) => `not equal to ${b}` }],
  ["gt", { ...inOrder, swapped: "lt", closure: greater, expected: ([b]) => `greater than ${b}` }],
  ["gte", { ...inOrder, swapped: "lte", closure: atLeast, expected: ([b]) => `at least ${b}` }],
  ["lt", { ...inOrder, swapped: "gt", closure: less, expected: ([b]) => `less than ${b}` }],
  ["lte", { ...inOrder, swapped: "gte", closure: atMost, expected: ([b]) => `at most ${b}` }],
  [
    "between",
    {
      accepts: [["number"], ["number"], ["number"]],
      isTyped: false,
      closure: between,
      expected: ([low, high]) => `from ${low} to ${high}`,
    },
  ],
  [
    "contains",
    {
      accepts: [["string", "list"], ["string"]],
      isTyped: false,
      closure: contains,
      expected: ([part]) => `containing ${part}`,
    },
  ],
  [
    "startsWith",
    {
      accepts: [["string"], ["string"]],
      isTyped: false,
      closure: startsWith,
      expected: ([start]) => `starting with ${start}`,
    },
  ],
]);
