/**
 * The condition language: JSON in, closures out.
 *
 * A condition is an object with one operator:
 *
 * - `{"all": [c, …]}`, `{"any": [c, …]}`, `{"not": c}`
 * - `{"eq": [a, b]}`: both have a value, of the same type and equal; `{"ne": [a, b]}`: its opposite
 * - `{"gt": [a, b]}`, `gte`, `lt`, `lte`: numbers, or strings by UTF-16 code units
 * - `{"between": [a, low, high]}`: numbers, bounds included
 * - `{"in": [a, [v, …]]}`: one of the constants
 * - `{"contains": [a, b]}`: a string in a string or in a list; `{"startsWith": [a, b]}`
 * - `{"exists": {"var": path}}`: the variable has a value
 *
 * An operand is a string, a number, a boolean, a variable `{"var": path}`, arithmetic or an aggregate:
 *
 * - `{"add": [a, b, …]}`, `mul`, `min`, `max`; `{"sub": [a, b]}`; `{"div0": [a, b]}`: 0 where the divisor is 0
 * - `{"floor": a}`, `{"round": a}`: halves up
 * - `{"if": [condition, a, b]}`: the number a where the condition holds, else b
 * - `{"count": …}`, `{"sum": …}`, `{"streak": …}`, as the area defines them
 *
 * Arithmetic on what is not a number, or with a result that is not finite, has no value; comparisons with no value
 * are false, except for `ne`. Types are checked when compiling: what could never compare is refused.
 *
 * There are no loops, no regular expressions and no user code, so that evaluation ends after at most `nodesMax`
 * steps. Closures are used because a walk over the JSON is several times slower and generated code is not allowed
 * everywhere. The explanation of a condition walks what compiling left, and asks the same closures.
 *
 * @module
 */

import { Checker } from "./_checker.ts";
import { type Plan, Plans, textOf } from "./_plans.ts";
import { calculationOf } from "./_terms.ts";
import type { Condition, Environment, Failure } from "./types.ts";

/**
 * Compiles a condition.
 *
 * @param pointer JSON Pointer to the condition in its document, for errors.
 * @throws {AppError} `validation_failed`, with the pointer of every part at fault.
 */
export function compileCondition<S>(
  source: unknown,
  environment: Environment<S>,
  pointer = "",
): Condition<S> {
  return planOf(source, environment, pointer).holds;
}

/**
 * Compiles an operand that is a number, such as the amount of an effect; 0 where it has no value.
 *
 * @param pointer JSON Pointer to the operand in its document, for errors.
 * @throws {AppError} `validation_failed`, with the pointer of every part at fault.
 */
export function compileNumber<S>(
  source: unknown,
  environment: Environment<S>,
  pointer = "",
): (scope: S) => number {
  const checker = new Checker();
  const { read } = new Plans(checker, environment).terms.number(source, { pointer, depth: 1 });
  checker.assertFaultless();
  const calculation = calculationOf(read);
  return scope => {
    const result = calculation(scope);
    // Adding 0 turns -0 into 0.
    return Number.isFinite(result) ? result + 0 : 0;
  };
}

/**
 * Compiles a condition into the reasons why it is false: the comparisons that would have to turn out differently. They
 * are empty exactly where the condition holds.
 *
 * @param pointer JSON Pointer to the condition in its document, for errors and failures.
 * @throws {AppError} `validation_failed`, with the pointer of every part at fault.
 */
export function compileExplanation<S>(
  source: unknown,
  environment: Environment<S>,
  pointer = "",
): (scope: S) => readonly Failure[] {
  const plan = planOf(source, environment, pointer);
  return scope => failuresOf(plan, scope, true);
}

function planOf<S>(source: unknown, environment: Environment<S>, pointer: string): Plan<S> {
  const checker = new Checker();
  const plan = new Plans(checker, environment).of(source, { pointer, depth: 1 });
  checker.assertFaultless();
  return plan;
}

/** Returns the comparisons because of which a condition does not hold, or, where it is not wanted, because of which it does. */
function failuresOf<S>(plan: Plan<S>, scope: S, isWanted: boolean): readonly Failure[] {
  if (plan.holds(scope) === isWanted) return [];
  if (plan.kind === "not") return failuresOf(plan.part, scope, !isWanted);
  if (plan.kind !== "leaf") return plan.parts.flatMap(part => failuresOf(part, scope, isWanted));
  const expected = plan.expected(plan.others.map(other => textOf(other(scope))));
  const actual = plan.subject(scope) ?? null;
  return [{ path: plan.pointer, expected: isWanted ? expected : oppositeOf(expected), actual }];
}

function oppositeOf(expected: string): string {
  return expected.startsWith("not ") ? expected.slice("not ".length) : `not ${expected}`;
}
