import {
  areEqual,
  atLeast,
  atMost,
  between,
  contains,
  greater,
  less,
  startsWith,
  unequal,
} from "./_closures.ts";
import type { Term } from "./_terms.ts";
import type { Condition, ValueType } from "./types.ts";

/** An operator that compares operands. */
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

/** The operators that compare operands, by name. */
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
