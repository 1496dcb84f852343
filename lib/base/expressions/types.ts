/** Types of expressions, and of the variables that an area offers to them. */

/** Value of an operand; undefined if it has none. */
export type Value = string | number | boolean | readonly string[] | undefined;

/** Type of a variable's values: `any` if it is unknown in advance. Every variable may also have no value. */
export type ValueType = "string" | "number" | "boolean" | "list" | "any";

/** Evaluates to a value against a scope. */
export type Operand<S> = (scope: S) => Value;

/** Decides against a scope. */
export type Condition<S> = (scope: S) => boolean;

/** A variable or aggregate: the type of its values, and how a scope is asked for one. */
export interface VariableDeclaration<S> {
  readonly type: ValueType;
  readonly read: Operand<S>;
}

/** Operands that look back over a user's actions, which only areas that keep such counts can resolve. */
export type AggregateKind = "count" | "sum" | "streak" | "distinct";

/** Variables and functions that expressions of an area can name. */
export interface Environment<S> {
  /** Returns the variable of a path, or null if there is none. */
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
  /** JSON Pointer to the comparison in its document. */
  readonly path: string;
  /** Expected value, for people: `at least 10`. */
  readonly expected: string;
  /** Actual value; null if it has none. */
  readonly actual: Exclude<Value, undefined> | null;
}
