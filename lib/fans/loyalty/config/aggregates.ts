/**
 * Compilation of counts, sums, streaks and distinct values over the actions of a user into counters.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import * as v from "valibot";
import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import {
  type AggregateKind,
  type Condition,
  compileCondition,
  compileNumber,
  type Environment,
  unknownVariable,
  type VariableDeclaration,
} from "../../../base/expressions/mod.ts";
import { suggestion } from "../../../base/text/suggest.ts";
import { canonicalJson } from "../../../http/mod.ts";
import type { ActionDefinition } from "./document.ts";
import { aggregateSchemas } from "./expression_fields.ts";
import { fieldErrors } from "./fields.ts";
import {
  type ActionValue,
  type CounterWindow,
  countedUnit,
  dataNames,
  dataVariables,
  type Scope,
  toCounterWindow,
  type WeekStart,
} from "./scope.ts";

/** A counter that an action adds to. */
export interface CompiledAggregate {
  readonly key: string;
  readonly action: string;
  readonly window: CounterWindow;
  readonly when: Condition<Scope>;
  readonly amount: (scope: Scope) => number;
  /** Counts the actions of each value for themselves. @default counts all together */
  readonly by?: ActionValue;
}

const keyCharacters = 12;

/** Returns the key of a counter, which is the same for equal definitions in every configuration. */
export function counterKey(definition: unknown): string {
  const json = canonicalJson(JSON.parse(JSON.stringify(definition)));
  return bytesToHex(sha256(utf8ToBytes(json))).slice(0, keyCharacters);
}

/** Compiles the aggregates of a configuration. Equal ones share a counter. */
export class AggregateCompiler {
  readonly #actions: ReadonlyMap<string, ActionDefinition>;
  readonly #weekStartsOn: WeekStart;
  readonly #compiled = new Map<string, CompiledAggregate>();

  constructor(actions: ReadonlyMap<string, ActionDefinition>, weekStartsOn: WeekStart) {
    this.#actions = actions;
    this.#weekStartsOn = weekStartsOn;
  }

  /** All aggregates that were compiled so far. */
  get all(): readonly CompiledAggregate[] {
    return [...this.#compiled.values()];
  }

  /**
   * Compiles an aggregate operand to a variable that reads its counter.
   *
   * @throws {AppError} `validation_failed` with the pointers of the errors.
   */
  variable(kind: AggregateKind, definition: unknown, pointer: string): VariableDeclaration<Scope> {
    const compiled = this.#compile(kind, definition, pointer);
    const key = counterKey({ kind, definition });
    if (!this.#compiled.has(key)) this.#compiled.set(key, { ...compiled, key });
    const { window, by } = compiled;
    if (by !== undefined) {
      return { type: "number", read: ({ user }) => user.distinctValues(key, window) };
    }
    return { type: "number", read: ({ user }) => user.counterValue(key, window) };
  }

  #compile(kind: AggregateKind, source: unknown, pointer: string): Omit<CompiledAggregate, "key"> {
    if (kind === "streak") {
      const streak = parse(aggregateSchemas.streak, source, pointer);
      return {
        ...this.#selection(streak, pointer),
        window: { kind: "streak", unit: countedUnit(streak.unit, this.#weekStartsOn) },
        amount: one,
      };
    }
    if (kind === "count") {
      const count = parse(aggregateSchemas.count, source, pointer);
      return {
        ...this.#selection(count, pointer),
        window: toCounterWindow(count.window, this.#weekStartsOn),
        amount: one,
      };
    }
    if (kind === "distinct") {
      const distinct = parse(aggregateSchemas.distinct, source, pointer);
      const { action, of } = distinct;
      return {
        ...this.#selection(distinct, pointer),
        window: toCounterWindow(distinct.window, this.#weekStartsOn),
        amount: one,
        by: compileValue(this.#actions.get(action), of.var, `${pointer}/of`),
      };
    }
    const sum = parse(aggregateSchemas.sum, source, pointer);
    return {
      ...this.#selection(sum, pointer),
      window: toCounterWindow(sum.window, this.#weekStartsOn),
      amount: compileNumber(sum.of, this.#environment(sum.action), `${pointer}/of`),
    };
  }

  #selection(
    { action, where: condition }: { readonly action: string; readonly where?: unknown },
    pointer: string,
  ): Pick<CompiledAggregate, "action" | "when"> {
    if (!this.#actions.has(action)) {
      const detail = `Expected an action listed under /actions.${suggestion(action, [...this.#actions.keys()])}`;
      throw invalid([{ pointer: `${pointer}/action`, detail }]);
    }
    if (condition === undefined) return { action, when: always };
    return { action, when: compileCondition(condition, this.#environment(action), `${pointer}/where`) };
  }

  /** The properties of the action alone, so that a count does not depend on the state of the user. */
  #environment(action: string): Environment<Scope> {
    const definition = this.#actions.get(action) ?? { name: action, clientReportable: false };
    return { variable: dataVariables(definition), names: () => dataNames(definition) };
  }
}

/**
 * Compiles a property of an action to the keys of its values. `1` and `"1"` are different values.
 *
 * @throws {AppError} `validation_failed` where the action declares no such property.
 */
export function compileValue(
  action: ActionDefinition | undefined,
  path: string,
  pointer: string,
): ActionValue {
  const variable = action === undefined ? null : dataVariables(action)(path);
  if (variable === null) {
    const detail =
      action === undefined
        ? "Expected a property of the action, such as data.matchId"
        : unknownVariable(path, dataNames(action));
    throw invalid([{ pointer: `${pointer}/var`, detail }]);
  }
  return scope => {
    const value = variable.read(scope);
    return value === undefined ? null : counterKey(value);
  };
}

function one(): number {
  return 1;
}

function always(): boolean {
  return true;
}

function parse<T>(schema: v.GenericSchema<unknown, T>, source: unknown, pointer: string): T {
  const parsed = v.safeParse(schema, source);
  if (!parsed.success) throw invalid(fieldErrors(parsed.issues, pointer));
  return parsed.output;
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot use the aggregate as it is not well formed", { fields });
}
