/**
 * Counts, sums and streaks over a user's actions, and limits of rules: what is kept for them, and under which key.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import * as v from "valibot";
import { AppError, type FieldError } from "../../errors/mod.ts";
import {
  type AggregateKind,
  type Condition,
  compileCondition,
  compileNumber,
  type Environment,
  type Variable,
} from "../../expressions/mod.ts";
import { type CounterWindow, toCounterWindow } from "./counter_window.ts";
import type { ActionDefinition } from "./document.ts";
import { aggregateSchemas } from "./expressions.ts";
import { fieldErrors } from "./issues.ts";
import { dataVariables, type Scope } from "./scope.ts";

/** A counter that an action moves. */
export interface CompiledAggregate {
  readonly key: string;
  readonly action: string;
  readonly window: CounterWindow;
  readonly when: Condition<Scope>;
  readonly amount: (scope: Scope) => number;
}

/** Length of a counter's key, in characters. */
const keyCharacters = 12;

/** The same for every configuration that defines the same. */
export function counterKey(definition: unknown): string {
  return bytesToHex(sha256(utf8ToBytes(canonical(definition)))).slice(0, keyCharacters);
}

/** The aggregates of a configuration, each kept once however often it is named. */
export class AggregateCompiler {
  readonly #actions: ReadonlyMap<string, ActionDefinition>;
  readonly #known = new Map<string, CompiledAggregate>();

  constructor(actions: ReadonlyMap<string, ActionDefinition>) {
    this.#actions = actions;
  }

  /** Every aggregate that was named so far. */
  get all(): readonly CompiledAggregate[] {
    return [...this.#known.values()];
  }

  /**
   * Resolves an aggregate operand.
   *
   * @throws {AppError} `validation_failed` with the pointers of what is wrong.
   */
  variable(kind: AggregateKind, definition: unknown, pointer: string): Variable<Scope> {
    const compiled = this.#compile(kind, definition, pointer);
    const key = counterKey({ kind, definition });
    if (!this.#known.has(key)) this.#known.set(key, { ...compiled, key });
    const { window } = compiled;
    return { type: "number", read: ({ user }) => user.counterValue(key, window) };
  }

  #compile(kind: AggregateKind, source: unknown, pointer: string): Omit<CompiledAggregate, "key"> {
    if (kind === "streak") {
      const streak = checked(aggregateSchemas.streak, source, pointer);
      return {
        ...this.#selection(streak, pointer),
        window: { kind: "streak", unit: streak.unit },
        amount: one,
      };
    }
    if (kind === "count") {
      const count = checked(aggregateSchemas.count, source, pointer);
      return { ...this.#selection(count, pointer), window: toCounterWindow(count.window), amount: one };
    }
    const sum = checked(aggregateSchemas.sum, source, pointer);
    return {
      ...this.#selection(sum, pointer),
      window: toCounterWindow(sum.window),
      amount: compileNumber(sum.of, this.#environment(sum.action), `${pointer}/of`),
    };
  }

  #selection(
    { action, where: condition }: { readonly action: string; readonly where?: unknown },
    pointer: string,
  ): Pick<CompiledAggregate, "action" | "when"> {
    if (!this.#actions.has(action)) {
      throw invalid([{ pointer: `${pointer}/action`, detail: "Expected an action listed under /actions" }]);
    }
    if (condition === undefined) return { action, when: always };
    return { action, when: compileCondition(condition, this.#environment(action), `${pointer}/where`) };
  }

  /** What is counted of an action is what the action says of itself. */
  #environment(action: string): Environment<Scope> {
    const definition = this.#actions.get(action) ?? { name: action, clientReportable: false };
    return { variable: dataVariables(definition) };
  }
}

function one(): number {
  return 1;
}

function always(): boolean {
  return true;
}

function checked<T>(schema: v.GenericSchema<unknown, T>, source: unknown, pointer: string): T {
  const parsed = v.safeParse(schema, source);
  if (!parsed.success) throw invalid(fieldErrors(parsed.issues, pointer));
  return parsed.output;
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot use the aggregate as it is not well formed", { fields });
}

/** JSON with the members of every object in one order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`);
  return `{${members.join(",")}}`;
}
