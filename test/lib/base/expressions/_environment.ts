/** An area's variables, as the tests of expressions use them. */

import type {
  Environment,
  Value,
  ValueType,
  VariableDeclaration,
} from "../../../../lib/base/expressions/mod.ts";

export type Scope = Readonly<Record<string, Value>>;

/** Variables whose type is declared; those under `data.` are of any type. */
export const declared: Readonly<Record<string, ValueType>> = {
  name: "string",
  points: "number",
  isMember: "boolean",
  badges: "list",
};

/** Declared variables by their names, and everything else of a scope under `data.`. */
export const environment: Environment<Scope> = {
  variable(path: string): VariableDeclaration<Scope> | null {
    const name = path.startsWith("data.") ? path.slice("data.".length) : path;
    const read = (scope: Scope): Value => (Object.hasOwn(scope, name) ? scope[name] : undefined);
    if (name !== path) return { type: "any", read };
    const type = Object.hasOwn(declared, name) ? declared[name] : undefined;
    return type === undefined ? null : { type, read };
  },
};
