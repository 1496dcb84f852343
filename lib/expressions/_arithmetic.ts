import type { Operand, Value } from "./types.ts";

/** Evaluates to a number; NaN where there is none. */
export type Calculation<S> = (scope: S) => number;

/** An operator of arithmetic. */
export interface ArithmeticOperator {
  /** Fewest and most operands; a single one is given without a list. */
  readonly operands: readonly [min: number, max: number];
  calculation<S>(operands: readonly Calculation<S>[]): Calculation<S>;
}

/** Most operands of one operator; the bound on all parts of an expression is reached before. */
const unbounded = Number.POSITIVE_INFINITY;

/** The operators of arithmetic by name. */
export const arithmetic: ReadonlyMap<string, ArithmeticOperator> = new Map([
  ["add", folding((a, b) => a + b, unbounded)],
  ["sub", folding((a, b) => a - b, 2)],
  ["mul", folding((a, b) => a * b, unbounded)],
  // No number divided by 0 is still no number.
  ["div0", folding((a, b) => (b === 0 && !Number.isNaN(a) ? 0 : a / b), 2)],
  ["min", folding((a, b) => Math.min(a, b), unbounded)],
  ["max", folding((a, b) => Math.max(a, b), unbounded)],
  ["floor", mapping(Math.floor)],
  ["round", mapping(Math.round)],
]);

/** Returns the calculation that an operand is. */
export function calculationOf<S>(operand: Operand<S>): Calculation<S> {
  return scope => numberOf(operand(scope));
}

/** Returns the operand that a calculation is: without a value where the result is no finite number. */
export function operandOf<S>(calculation: Calculation<S>): Operand<S> {
  return scope => {
    const result = calculation(scope);
    return Number.isFinite(result) ? result : undefined;
  };
}

function numberOf(value: Value): number {
  return typeof value === "number" ? value : Number.NaN;
}

function folding(step: (a: number, b: number) => number, max: number): ArithmeticOperator {
  return {
    operands: [2, max],
    calculation<S>([
      first = nothing,
      second = nothing,
      ...others
    ]: readonly Calculation<S>[]): Calculation<S> {
      const pair = (scope: S): number => step(first(scope), second(scope));
      return others.reduce<Calculation<S>>((left, right) => scope => step(left(scope), right(scope)), pair);
    },
  };
}

function mapping(step: (value: number) => number): ArithmeticOperator {
  return {
    operands: [1, 1],
    calculation<S>([operand = nothing]: readonly Calculation<S>[]): Calculation<S> {
      return scope => step(operand(scope));
    },
  };
}

function nothing(): number {
  return Number.NaN;
}
