import { type Application, type Checker, item, only, type Place } from "./_checker.ts";
import { among, every, never, some } from "./_closures.ts";
import { type Comparison, comparisons } from "./_comparisons.ts";
import { type Constant, isConstant, type Term, Terms } from "./_terms.ts";
import type { Condition, Environment, Operand, Value, ValueType } from "./types.ts";

/** A condition after its check: what decides it, and what explains the decision, made in one go. */
export type Plan<S> =
  | { readonly kind: "every" | "some"; readonly holds: Condition<S>; readonly parts: readonly Plan<S>[] }
  | { readonly kind: "not"; readonly holds: Condition<S>; readonly part: Plan<S> }
  | Leaf<S>;

/** A comparison after its check. */
export interface Leaf<S> {
  readonly kind: "leaf";
  readonly holds: Condition<S>;
  readonly pointer: string;
  /** The value that is compared. */
  readonly subject: Operand<S>;
  /** The operand that it is compared with. */
  readonly others: readonly Operand<S>[];
  /** Expected value, in words about the other operands. */
  readonly expected: (others: readonly string[]) => string;
}

/** Most constants that the explanation of `in` lists. */
const listedConstantsMax = 10;

const conditionExpectation = "Give an object with one operator of the condition language";

/** Checks and compiles conditions. A faulty one becomes a condition that never holds. */
export class Plans<S> {
  /** The operands of the conditions. */
  readonly terms: Terms<S>;
  readonly #checker: Checker;

  constructor(checker: Checker, environment: Environment<S>) {
    this.#checker = checker;
    this.terms = new Terms(checker, environment, (source, place) => this.of(source, place).holds);
  }

  /** Any condition. */
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

/** Formats a value for explanations. */
export function textOf(value: Value): string {
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
