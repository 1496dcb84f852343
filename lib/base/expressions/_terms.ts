import { AppError, type FieldError, jsonPointer } from "../errors/mod.ts";
import { addDecimals, roundDecimal } from "../text/mod.ts";
import { suggestion } from "../text/suggest.ts";

/** Evaluates to a number; NaN where there is none. */
type Calculation<S> = (scope: S) => number;

interface ArithmeticOperator {
  /** Fewest and most operands; a single one is given without a list. */
  readonly operands: readonly [min: number, max: number];
  calculation<S>(operands: readonly Calculation<S>[]): Calculation<S>;
}

/** Most operands of one operator; the bound on all parts of an expression is reached before. */
const unbounded = Number.POSITIVE_INFINITY;

export const arithmetic: ReadonlyMap<string, ArithmeticOperator> = new Map([
  ["add", folding(addDecimals, unbounded)],
  ["sub", folding((a, b) => addDecimals(a, -b), 2)],
  ["mul", folding((a, b) => roundDecimal(a * b), unbounded)],
  // No number divided by 0 is still no number.
  ["div0", folding((a, b) => (b === 0 && !Number.isNaN(a) ? 0 : roundDecimal(a / b)), 2)],
  ["min", folding((a, b) => Math.min(a, b), unbounded)],
  ["max", folding((a, b) => Math.max(a, b), unbounded)],
  ["floor", mapping(Math.floor)],
  ["round", mapping(Math.round)],
]);

export function calculationOf<S>(operand: Operand<S>): Calculation<S> {
  return scope => numberOf(operand(scope));
}

/** Returns the operand that a calculation is: without a value where the result is no finite number. */
function operandOf<S>(calculation: Calculation<S>): Operand<S> {
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

export type Constant = string | number | boolean;

export interface Term<S> {
  readonly pointer: string;
  readonly type: ValueType;
  readonly read: Operand<S>;
  readonly constant?: Constant;
}

const aggregateKinds: readonly string[] = ["count", "sum", "streak", "distinct"] satisfies AggregateKind[];
const operandExpectation =
  'Give a string, a number, a boolean, {"var": path}, arithmetic such as {"add": [a, b]}, or an aggregate';

type CompileInner<S> = (source: unknown, place: Place) => Condition<S>;

/** Checks and compiles operands. A faulty one becomes a term of any type, which causes no further faults. */
export class Terms<S> {
  readonly #checker: Checker;
  readonly #environment: Environment<S>;
  readonly #condition: CompileInner<S>;

  constructor(checker: Checker, environment: Environment<S>, condition: CompileInner<S>) {
    this.#checker = checker;
    this.#environment = environment;
    this.#condition = condition;
  }

  of(source: unknown, place: Place): Term<S> {
    const { pointer } = place;
    if (!this.#checker.count(pointer)) return broken(pointer);
    if (isConstant(source)) return constant(source, pointer);
    const application = this.#checker.application(source, place, operandExpectation);
    if (application === null) return broken(pointer);
    const { operator } = application;
    const operation = arithmetic.get(operator);
    if (operation !== undefined) {
      return this.#checker.nests(place) ? this.#arithmetic(operation, application, pointer) : broken(pointer);
    }
    if (operator === "if") {
      return this.#checker.nests(place) ? this.#choice(application, pointer) : broken(pointer);
    }
    if (aggregateKinds.includes(operator)) return this.#aggregate(application, pointer);
    if (operator === "var") return this.#variable(application, pointer);
    this.#checker.report(pointer, operandExpectation);
    return broken(pointer);
  }

  list({ argument, place }: Application, count: number): readonly Term<S>[] | null {
    if (!Array.isArray(argument) || argument.length !== count) {
      this.#checker.report(place.pointer, `Give a list of ${count} operands`);
      return null;
    }
    return argument.map((source, index) => this.of(source, item(place, index)));
  }

  /** Returns an operand that has to be a number. */
  number(source: unknown, place: Place): Term<S> {
    const term = this.of(source, place);
    if (term.type === "number" || term.type === "any") return term;
    this.#checker.report(term.pointer, `Give a number, as a ${term.type} never is one`);
    return broken(term.pointer);
  }

  #variable({ argument, place }: Application, pointer: string): Term<S> {
    if (typeof argument !== "string") {
      this.#checker.report(place.pointer, "Give the path of a variable, as a string");
      return broken(pointer);
    }
    const found = this.#environment.variable(argument);
    if (found === null) {
      this.#checker.report(place.pointer, unknownVariable(argument, this.#environment.names?.() ?? []));
    }
    return termOf(found, pointer);
  }

  #aggregate({ operator, argument, place }: Application, pointer: string): Term<S> {
    if (!this.#checker.count(place.pointer, partsOf(argument))) return broken(pointer);
    const found = this.#checker.attempt(() => {
      const kind = operator as AggregateKind;
      const variable = this.#environment.aggregate?.(kind, argument, place.pointer) ?? null;
      if (variable === null) this.#checker.report(pointer, `Leave out ${operator}, which has no place here`);
      return variable;
    });
    return termOf(found, pointer);
  }

  #choice({ argument, place }: Application, pointer: string): Term<S> {
    if (!Array.isArray(argument) || argument.length !== 3) {
      this.#checker.report(place.pointer, "Give a condition and two numbers");
      return broken(pointer);
    }
    const holds = this.#condition(argument[0], item(place, 0));
    const chosen = calculationOf(this.number(argument[1], item(place, 1)).read);
    const other = calculationOf(this.number(argument[2], item(place, 2)).read);
    const read = operandOf<S>(scope => (holds(scope) ? chosen(scope) : other(scope)));
    return { pointer, type: "number", read };
  }

  #arithmetic(operation: ArithmeticOperator, { argument, place }: Application, pointer: string): Term<S> {
    const [min, max] = operation.operands;
    const parts: readonly unknown[] = max === 1 ? [argument] : Array.isArray(argument) ? argument : [];
    if (parts.length < min || parts.length > max) {
      const wanted = min === max ? `${min} operands` : `${min} or more operands`;
      this.#checker.report(place.pointer, `Give a list of ${wanted}`);
      return broken(pointer);
    }
    const terms = parts.map((part, index) => this.number(part, max === 1 ? only(place) : item(place, index)));
    const read = operandOf(operation.calculation(terms.map(term => calculationOf(term.read))));
    return { pointer, type: "number", read };
  }
}

export function isConstant(source: unknown): source is Constant {
  return typeof source === "string" || typeof source === "boolean" || Number.isFinite(source);
}

function constant<S>(value: Constant, pointer: string): Term<S> {
  return { pointer, type: typeof value as ValueType, read: () => value, constant: value };
}

const namesMax = 20;

export function unknownVariable(path: string, names: readonly string[]): string {
  const detail = "Name a variable that exists here";
  if (names.length === 0) return detail;
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : "";
  return `${detail}: ${names.slice(0, namesMax).join(", ")}${more}.${suggestion(path, names)}`;
}

function termOf<S>(variable: VariableDeclaration<S> | null, pointer: string): Term<S> {
  return variable === null ? broken(pointer) : { pointer, ...variable };
}

function broken<S>(pointer: string): Term<S> {
  return { pointer, type: "any", read: () => undefined };
}

/** Counts the values of a definition, up to the bound. It does not recurse, which deep nesting would break. */
function partsOf(definition: unknown): number {
  const parts: unknown[] = [definition];
  for (const part of parts) {
    if (parts.length > nodesMax) break;
    if (typeof part === "object" && part !== null) for (const inner of Object.values(part)) parts.push(inner);
  }
  return parts.length;
}

/** Types of expressions, and of the variables that an area offers to them. */

/** Value of an operand; undefined if it has none. */
export type Value = string | number | boolean | readonly string[] | undefined;

/** Type of a variable's values: `any` if it is unknown in advance. Every variable may also have no value. */
export type ValueType = "string" | "number" | "boolean" | "list" | "any";

export type Operand<S> = (scope: S) => Value;

export type Condition<S> = (scope: S) => boolean;

/** A variable or aggregate: the type of its values, and how a scope is asked for one. */
export interface VariableDeclaration<S> {
  readonly type: ValueType;
  readonly read: Operand<S>;
}

/** Operands that look back over a user's actions, which only areas that keep such counts can resolve. */
export type AggregateKind = "count" | "sum" | "streak" | "distinct";

export interface Environment<S> {
  variable(path: string): VariableDeclaration<S> | null;
  /** Lists the variables for the message about one that does not exist; `<name>` stands for any name. @default unlisted */
  names?(): readonly string[];
  /**
   * The aggregate of a definition, or null if aggregates have no place.
   *
   * @param pointer JSON Pointer to the definition in its document.
   * @throws {AppError} `validation_failed`, with the pointer of each part at fault.
   */
  aggregate?(kind: AggregateKind, definition: unknown, pointer: string): VariableDeclaration<S> | null;
}

/** A comparison that makes a condition false. */
export interface Failure {
  readonly path: string;
  /** Expected value, for people: `at least 10`. */
  readonly expected: string;
  /** Actual value; null if it has none. */
  readonly actual: Exclude<Value, undefined> | null;
}

export const depthMax = 16;
/** Most operators and operands in one expression, definitions of aggregates included with all their parts. */
export const nodesMax = 512;

/** Location of a part: its JSON Pointer, and the number of operators around it, itself included. */
export interface Place {
  readonly pointer: string;
  readonly depth: number;
}

export interface Application {
  readonly operator: string;
  readonly argument: unknown;
  readonly place: Place;
}

/** Counts the parts of one expression and collects its errors, so that all of them are reported at once. */
export class Checker {
  readonly #faults: FieldError[] = [];
  #nodes = 0;

  report(pointer: string, detail: string): void {
    this.#faults.push({ pointer, detail });
  }

  /** Runs what may be refused with faults of its own; those become faults of this expression. Null then. */
  attempt<T>(task: () => T): T | null {
    try {
      return task();
    } catch (error) {
      if (!(error instanceof AppError) || error.fields === undefined) throw error;
      this.#faults.push(...error.fields);
      return null;
    }
  }

  /** Counts parts; false, with a fault the first time, where they are too many to go on. */
  count(pointer: string, parts = 1): boolean {
    const before = this.#nodes;
    this.#nodes += parts;
    if (this.#nodes <= nodesMax) return true;
    if (before <= nodesMax) this.report(pointer, `Use at most ${nodesMax} operators and operands`);
    return false;
  }

  /** Returns true if an operator may stand at this depth; a fault where it may not. */
  nests({ pointer, depth }: Place): boolean {
    if (depth <= depthMax) return true;
    this.report(pointer, `Nest operators at most ${depthMax} deep`);
    return false;
  }

  /** Reads an object with one operator; null, with a fault, where it is none. */
  application(source: unknown, { pointer, depth }: Place, expectation: string): Application | null {
    const entries = typeof source === "object" && source !== null ? Object.entries(source) : [];
    const [entry] = entries;
    if (entry === undefined || entries.length > 1 || Array.isArray(source)) {
      this.report(pointer, expectation);
      return null;
    }
    const [operator, argument] = entry;
    return { operator, argument, place: { pointer: pointer + jsonPointer(operator), depth } };
  }

  /** @throws {AppError} `validation_failed` with every fault, where there are any. */
  assertFaultless(): void {
    if (this.#faults.length === 0) return;
    throw new AppError("validation_failed", "Cannot use the expression as it is not well formed", {
      fields: this.#faults,
    });
  }
}

export function item({ pointer, depth }: Place, index: number): Place {
  return { pointer: `${pointer}/${index}`, depth: depth + 1 };
}

/** Returns the place of the only operand or condition that an operator is applied to. */
export function only({ pointer, depth }: Place): Place {
  return { pointer, depth: depth + 1 };
}
