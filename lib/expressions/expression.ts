/**
 * The condition language: JSON in, closures out.
 *
 * A condition is an object with one operator:
 *
 * - `{"all": [c, …]}`, `{"any": [c, …]}`, `{"not": c}`
 * - `{"eq": [a, b]}`, `{"ne": [a, b]}`: same type and value, or not
 * - `{"gt": [a, b]}`, `gte`, `lt`, `lte`: both numbers or both strings, else false
 * - `{"between": [a, low, high]}`: numbers, bounds included
 * - `{"in": [a, [v, …]]}`, `{"contains": [a, b]}`, `{"startsWith": [a, b]}`, `{"exists": {"var": path}}`
 *
 * An operand is a string, number, boolean or `{"var": path}`. There are no loops, no regular expressions and no
 * user code, so that evaluation ends after at most `nodesMax` steps; a condition is checked once, when compiled.
 * Closures are used because a walk over the JSON is several times slower and generated code is not allowed
 * everywhere.
 *
 * @module
 */

import { AppError, type FieldError } from "../errors/mod.ts";

/** Deepest nesting of a condition. */
export const depthMax = 16;
/** Most operators and operands in one condition. */
export const nodesMax = 512;

/** What operands evaluate to; undefined where a variable has no value. */
export type Value = string | number | boolean | undefined;

/** Evaluates to a value against a scope. */
export type Operand<S> = (scope: S) => Value;

/** Decides against a scope. */
export type Condition<S> = (scope: S) => boolean;

/** Finds the reader of a variable by its path, or null where there is no such variable. */
export type Variables<S> = (path: string) => Operand<S> | null;

/**
 * Compiles a condition.
 *
 * @param pointer JSON Pointer to the condition in its document, for errors.
 * @throws {AppError} `validation_failed`, with the pointer of the part at fault.
 */
export function compileCondition<S>(source: unknown, variables: Variables<S>, pointer = ""): Condition<S> {
  const compiler = new Compiler<S>(variables);
  return compiler.condition(source, pointer, 1);
}

/**
 * Compiles an operand.
 *
 * @throws {AppError} `validation_failed`, with the pointer of the part at fault.
 */
export function compileOperand<S>(source: unknown, variables: Variables<S>, pointer = ""): Operand<S> {
  return new Compiler<S>(variables).operand(source, pointer);
}

type Comparison = (a: Value, b: Value) => boolean;

const comparisons: Readonly<Record<string, Comparison>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  gt: (a, b) => order(a, b) > 0,
  gte: (a, b) => order(a, b) >= 0,
  lt: (a, b) => order(a, b) < 0,
  lte: (a, b) => order(a, b) <= 0,
  contains: (a, b) => typeof a === "string" && typeof b === "string" && a.includes(b),
  startsWith: (a, b) => typeof a === "string" && typeof b === "string" && a.startsWith(b),
};

/** Negative, zero or positive as a is below, equal to or above b; NaN, for which every comparison is false, otherwise. */
function order(a: Value, b: Value): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return Number.NaN;
}

class Compiler<S> {
  readonly #variables: Variables<S>;
  #nodes = 0;

  constructor(variables: Variables<S>) {
    this.#variables = variables;
  }

  condition(source: unknown, pointer: string, depth: number): Condition<S> {
    this.#count(pointer);
    if (depth > depthMax) throw fault(pointer, `nest conditions at most ${depthMax} deep`);
    const [operator, argument] = single(source, pointer);
    const at = `${pointer}/${escapeToken(operator)}`;
    if (operator === "all" || operator === "any") return this.#group(operator, argument, at, depth);
    if (operator === "not") {
      const inner = this.condition(argument, at, depth + 1);
      return scope => !inner(scope);
    }
    if (operator === "exists") {
      // A constant always exists, so one here is a mistake, such as a path without its {"var": …}.
      if (typeof argument !== "object") throw fault(at, 'give {"var": path}');
      const operand = this.operand(argument, at);
      return scope => operand(scope) !== undefined;
    }
    if (operator === "in") return this.#membership(argument, at);
    if (operator === "between") return this.#between(argument, at);
    const comparison = Object.hasOwn(comparisons, operator) ? comparisons[operator] : undefined;
    if (comparison === undefined) throw fault(at, "use an operator of the condition language");
    const [left, right] = this.#operands(argument, 2, at);
    return scope => comparison(left?.(scope), right?.(scope));
  }

  operand(source: unknown, pointer: string): Operand<S> {
    this.#count(pointer);
    if (typeof source === "string" || typeof source === "boolean") return () => source;
    if (typeof source === "number" && Number.isFinite(source)) return () => source;
    const [operator, path] = single(source, pointer);
    if (operator !== "var" || typeof path !== "string") {
      throw fault(pointer, 'give a string, a number, a boolean or {"var": path}');
    }
    const variable = this.#variables(path);
    if (variable === null) throw fault(`${pointer}/var`, "name a variable that exists here");
    return variable;
  }

  #group(operator: "all" | "any", argument: unknown, pointer: string, depth: number): Condition<S> {
    if (!Array.isArray(argument) || argument.length === 0) throw fault(pointer, "give a list of conditions");
    const parts = argument.map((part, index) => this.condition(part, `${pointer}/${index}`, depth + 1));
    const [first, second] = parts;
    if (first !== undefined && parts.length === 1) return first;
    if (first !== undefined && second !== undefined && parts.length === 2) {
      return operator === "all"
        ? scope => first(scope) && second(scope)
        : scope => first(scope) || second(scope);
    }
    return operator === "all"
      ? scope => parts.every(part => part(scope))
      : scope => parts.some(part => part(scope));
  }

  #membership(argument: unknown, pointer: string): Condition<S> {
    const [candidate, list] = Array.isArray(argument) ? argument : [];
    if (!Array.isArray(list) || (argument as unknown[]).length !== 2) {
      throw fault(pointer, "give a value and a list of constants");
    }
    const operand = this.operand(candidate, `${pointer}/0`);
    const constants = new Set(
      list.map((item: unknown, index) => {
        if (typeof item === "object") throw fault(`${pointer}/1/${index}`, "list constants only");
        return this.operand(item, `${pointer}/1/${index}`)({} as S);
      }),
    );
    return scope => constants.has(operand(scope));
  }

  #between(argument: unknown, pointer: string): Condition<S> {
    const [operand, low, high] = this.#operands(argument, 3, pointer);
    return scope => {
      const [value, from, to] = [operand?.(scope), low?.(scope), high?.(scope)];
      if (typeof value !== "number" || typeof from !== "number" || typeof to !== "number") return false;
      return value >= from && value <= to;
    };
  }

  #operands(argument: unknown, count: number, pointer: string): Operand<S>[] {
    if (!Array.isArray(argument) || argument.length !== count) throw fault(pointer, `give ${count} operands`);
    return argument.map((item, index) => this.operand(item, `${pointer}/${index}`));
  }

  #count(pointer: string): void {
    this.#nodes += 1;
    if (this.#nodes > nodesMax) throw fault(pointer, `use at most ${nodesMax} operators and operands`);
  }
}

function single(source: unknown, pointer: string): [operator: string, argument: unknown] {
  if (typeof source === "object" && source !== null && !Array.isArray(source)) {
    const [entry, ...others] = Object.entries(source);
    if (entry !== undefined && others.length === 0) return entry;
  }
  throw fault(pointer, "give an object with one operator");
}

/** A reference token of RFC 6901, cut where somebody wrote a novel for an operator. */
function escapeToken(token: string): string {
  return token.slice(0, 64).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");
}

function fault(pointer: string, detail: string): AppError {
  const fields: FieldError[] = [{ pointer, detail }];
  return new AppError("validation_failed", "Cannot use the condition as it is not well formed", { fields });
}
