/**
 * Conditions on the data of an action, which decide whether it counts on a board.
 *
 * @module
 */

import { type Condition, compileCondition, type Environment } from "../../../base/expressions/mod.ts";

/** The variables of an action that a condition can read. */
export interface ScoredAction {
  readonly data: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Compiles the `when` of a board; without one every action counts.
 *
 * @param pointer JSON Pointer to the condition in its document, for errors.
 * @throws {AppError} `validation_failed`, with the pointer of the part at fault.
 */
export function compileScoreCondition(when: unknown, pointer = ""): Condition<ScoredAction> {
  return when === undefined ? () => true : compileCondition(when, environment, pointer);
}

/** `data.<name>`, own properties only. */
const environment: Environment<ScoredAction> = {
  names: () => ["data.<name>"],
  variable(path) {
    if (!path.startsWith("data.")) return null;
    const name = path.slice("data.".length);
    return {
      type: "any",
      read: ({ data }) => (Object.hasOwn(data, name) ? data[name] : undefined),
    };
  },
};
