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
 */

import {
  type Application,
  Checker,
  type Condition,
  type Constant,
  calculationOf,
  type Environment,
  type Failure,
  isConstant,
  item,
  type Operand,
  only,
  type Place,
  type Term,
  Terms,
  type Value,
  type ValueType,
} from "./_terms.ts";

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

/** A condition after its check: what decides it, and what explains the decision, made in one go. */
type Plan<S> =
  | { readonly kind: "every" | "some"; readonly holds: Condition<S>; readonly parts: readonly Plan<S>[] }
  | { readonly kind: "not"; readonly holds: Condition<S>; readonly part: Plan<S> }
  | Leaf<S>;

interface Leaf<S> {
  readonly kind: "leaf";
  readonly holds: Condition<S>;
  readonly pointer: string;
  readonly subject: Operand<S>;
  readonly others: readonly Operand<S>[];
  readonly expected: (others: readonly string[]) => string;
}

const listedConstantsMax = 10;

const conditionExpectation = "Give an object with one operator of the condition language";

/** Checks and compiles conditions. A faulty one becomes a condition that never holds. */
class Plans<S> {
  readonly terms: Terms<S>;
  readonly #checker: Checker;

  constructor(checker: Checker, environment: Environment<S>) {
    this.#checker = checker;
    this.terms = new Terms(checker, environment, (source, place) => this.of(source, place).holds);
  }

  of(source: unknown, place: Place): Plan<S> {
    if (!this.#checker.count(place.pointer) || !this.#checker.nests(place)) return broken;
    const application = this.#checker.application(source, place, conditionExpectation);
    if (application === null) return broken;
    const { operator, argument, place: inside } = application;
    switch (operator) {
      case "all":
        return this.#group("every", application);
      case "any":
        return this.#group("some", application);
      case "not": {
        const part = this.of(argument, only(inside));
        return { kind: "not", part, holds: scope => !part.holds(scope) };
      }
      case "exists":
        return this.#existence(application);
      case "in":
        return this.#membership(application);
    }
    const comparison = comparisons.get(operator);
    if (comparison !== undefined) return this.#comparison(comparison, application);
    this.#checker.report(inside.pointer, "Use an operator of the condition language");
    return broken;
  }

  #group(kind: "every" | "some", { argument, place }: Application): Plan<S> {
    if (!Array.isArray(argument) || argument.length === 0) {
      this.#checker.report(place.pointer, "Give a list of conditions");
      return broken;
    }
    const parts = argument.map((part, index) => this.of(part, item(place, index)));
    const conditions = parts.map(part => part.holds);
    return { kind, parts, holds: kind === "every" ? every(conditions) : some(conditions) };
  }

  #existence({ argument, place }: Application): Plan<S> {
    // A constant always exists, so one here is a mistake, such as a path without its {"var": …}.
    const isVariable = typeof argument === "object" && argument !== null && Object.hasOwn(argument, "var");
    if (!isVariable) {
      this.#checker.report(place.pointer, 'Give {"var": path}');
      return broken;
    }
    const { read } = this.terms.of(argument, only(place));
    return leaf({
      holds: scope => read(scope) !== undefined,
      pointer: place.pointer,
      subject: read,
      others: [],
      expected: () => "present",
    });
  }

  #membership({ argument, place }: Application): Plan<S> {
    const [candidate, list] = Array.isArray(argument) && argument.length === 2 ? argument : [];
    if (!Array.isArray(list)) {
      this.#checker.report(place.pointer, "Give a value and a list of constants");
      return broken;
    }
    const term = this.terms.of(candidate, item(place, 0));
    this.#demand(term, ["string", "number", "boolean"]);
    const constants = list.flatMap((source, index) =>
      this.#listed(source, item(item(place, 1), index), term),
    );
    const texts = constants.slice(0, listedConstantsMax).map(textOf);
    if (constants.length > texts.length) texts.push(`${constants.length - texts.length} more`);
    return leaf({
      holds: among(term.read, new Set(constants)),
      pointer: place.pointer,
      subject: term.read,
      others: [],
      expected: () => `one of ${texts.join(", ")}`,
    });
  }

  #listed(source: unknown, place: Place, candidate: Term<S>): Constant[] {
    if (!this.#checker.count(place.pointer)) return [];
    if (!isConstant(source)) {
      this.#checker.report(place.pointer, "List strings, numbers and booleans only");
      return [];
    }
    if (candidate.type !== "any" && candidate.type !== "list" && candidate.type !== typeof source) {
      this.#checker.report(place.pointer, `List only ${candidate.type}s here, as the first operand is one`);
    }
    return [source];
  }

  #comparison(comparison: Comparison, application: Application): Plan<S> {
    const terms = this.terms.list(application, comparison.accepts.length);
    if (terms === null) return broken;
    const { pointer } = application.place;
    const areAccepted = terms.map((term, index) => this.#demand(term, comparison.accepts[index] ?? []));
    const [left, right] = terms;
    if (left === undefined || right === undefined || areAccepted.includes(false)) return broken;
    if (comparison.isTyped && left.type !== right.type && left.type !== "any" && right.type !== "any") {
      const detail = `Compare values of one type, as a ${left.type} and a ${right.type} never do`;
      this.#checker.report(pointer, detail);
    }
    const swapped = comparisons.get(comparison.swapped ?? "");
    const isBackward = left.constant !== undefined && right.constant === undefined;
    return swapped !== undefined && isBackward
      ? compared(swapped, [right, left], pointer)
      : compared(comparison, terms, pointer);
  }

  #demand(term: Term<S>, types: readonly ValueType[]): boolean {
    if (term.type === "any" || types.includes(term.type)) return true;
    this.#checker.report(term.pointer, `Give a ${types.join(" or a ")}, as a ${term.type} never is one`);
    return false;
  }
}

function textOf(value: Value): string {
  return value === undefined ? "(no value)" : JSON.stringify(value);
}

function compared<S>({ closure, expected }: Comparison, terms: readonly Term<S>[], pointer: string): Plan<S> {
  const [subject = never, ...others] = terms.map(term => term.read);
  return leaf({ holds: closure(terms), pointer, subject, others, expected });
}

function leaf<S>(facts: Omit<Leaf<S>, "kind">): Leaf<S> {
  return { kind: "leaf", ...facts };
}

/** Replaces a part with an error. It never runs, because an expression with an error is refused. */
const broken: Leaf<unknown> = leaf({
  holds: never,
  pointer: "",
  subject: never,
  others: [],
  expected: String,
});

// A condition runs millions of times a second: no closure allocates, and what a constant decides is decided when compiling.

/** Both have a value, of the same type and equal. Lists never are. */
function areEqual<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b, constant } = two(terms);
  if (constant !== undefined) return scope => a(scope) === constant;
  return scope => isSameValue(a(scope), b(scope));
}

function unequal<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b, constant } = two(terms);
  if (constant !== undefined) return scope => a(scope) !== constant;
  return scope => !isSameValue(a(scope), b(scope));
}

function greater<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) > 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value > constant;
  };
}

function atLeast<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) >= 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value >= constant;
  };
}

function less<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) < 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value < constant;
  };
}

function atMost<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b, constant } = two(terms);
  if (typeof constant !== "number") return scope => order(a(scope), b(scope)) <= 0;
  return scope => {
    const value = a(scope);
    return typeof value === "number" && value <= constant;
  };
}

function between<S>([value, low, high]: readonly Term<S>[]): Condition<S> {
  const [read, from, to] = [readOf(value), readOf(low), readOf(high)];
  return scope => {
    const number = read(scope);
    if (typeof number !== "number") return false;
    const least = from(scope);
    const most = to(scope);
    return typeof least === "number" && typeof most === "number" && number >= least && number <= most;
  };
}

function contains<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b } = two(terms);
  return scope => {
    const whole = a(scope);
    const part = b(scope);
    if (typeof part !== "string") return false;
    return typeof whole === "string" ? whole.includes(part) : isList(whole) && whole.includes(part);
  };
}

function startsWith<S>(terms: readonly Term<S>[]): Condition<S> {
  const { a, b } = two(terms);
  return scope => {
    const whole = a(scope);
    const start = b(scope);
    return typeof whole === "string" && typeof start === "string" && whole.startsWith(start);
  };
}

function among<S>(read: Operand<S>, constants: ReadonlySet<Value>): Condition<S> {
  return scope => constants.has(read(scope));
}

/** Returns every condition holds; later ones are not asked once one does not. */
function every<S>(parts: readonly Condition<S>[]): Condition<S> {
  const [a = never, b = never, c = never] = parts;
  if (parts.length === 1) return a;
  if (parts.length === 2) return scope => a(scope) && b(scope);
  if (parts.length === 3) return scope => a(scope) && b(scope) && c(scope);
  return scope => {
    for (const part of parts) if (!part(scope)) return false;
    return true;
  };
}

function some<S>(parts: readonly Condition<S>[]): Condition<S> {
  const [a = never, b = never, c = never] = parts;
  if (parts.length === 1) return a;
  if (parts.length === 2) return scope => a(scope) || b(scope);
  if (parts.length === 3) return scope => a(scope) || b(scope) || c(scope);
  return scope => {
    for (const part of parts) if (part(scope)) return true;
    return false;
  };
}

function never(): boolean {
  return false;
}

function two<S>([a, b]: readonly Term<S>[]): {
  a: Operand<S>;
  b: Operand<S>;
  constant: Constant | undefined;
} {
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

interface Comparison {
  readonly accepts: readonly (readonly ValueType[])[];
  /** True if values of different types never compare. */
  readonly isTyped: boolean;
  /** The operator that says the same of the swapped operands, where there is one. */
  readonly swapped?: string;
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
