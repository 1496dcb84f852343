/**
 * References in manifests. `{{key}}` is the id of an entity, which may not exist yet; `{{key.name}}`, `{{vars.x}}` and `{{env.X}}`
 * are values. All may stand inside a text. A backslash before the braces makes them text.
 *
 * @module
 */

import { type Fault, mapTexts, referenceOf, replaceReferences } from "../elements/references.ts";

/** Returns the value of `{{key}}`, `{{key.name}}` or `{{key.url}}`; a text is what is wrong with it. */
export type Lookup = (key: string, part: string) => { readonly value: unknown } | string;

/** Replaces references by values, and collects the faults that it finds. */
export class References {
  readonly faults: Fault[] = [];
  readonly #vars: Readonly<Record<string, unknown>>;
  readonly #env: readonly string[];
  readonly #variables: Readonly<Record<string, string | undefined>>;

  /** Only the variables of the environment that `env` lists may be read. */
  constructor(
    {
      vars = {},
      env = [],
    }: { readonly vars?: Readonly<Record<string, unknown>>; readonly env?: readonly string[] },
    variables: Readonly<Record<string, string | undefined>>,
  ) {
    this.#env = env;
    this.#variables = variables;
    this.#vars = {};
    // Variables may be made of the environment, not of each other.
    this.#vars = this.resolved(vars, "/vars") as Readonly<Record<string, unknown>>;
  }

  /** Returns a value without references. Without `lookup` it may name no entity. */
  resolved(value: unknown, pointer: string, lookup: Lookup | null = null): unknown {
    return mapTexts(
      value,
      (text, at) => {
        const name = referenceOf(text);
        if (name !== null) return this.#valueOf(name, at, lookup);
        return replaceReferences(text, part => String(this.#valueOf(part, at, lookup)));
      },
      pointer,
    );
  }

  #valueOf(name: string, pointer: string, lookup: Lookup | null) {
    const refused = "Only {{vars.…}} and {{env.…}} may stand here";
    const [, key = "", part = "id"] = /^([^.]*)(?:\.(.*))?$/s.exec(name) ?? [];
    const found = this.#known(key, part) ?? lookup?.(key, part) ?? refused;
    if (typeof found !== "string") return found.value;
    this.faults.push({ pointer, detail: `{{${name}}}: ${found}` });
    return "";
  }

  /** Null: it is neither a variable of the manifest nor one of the environment. */
  #known(key: string, part: string): ReturnType<Lookup> | null {
    if (key === "vars") {
      return Object.hasOwn(this.#vars, part) ? { value: this.#vars[part] } : `There is no ${part} in vars`;
    }
    if (key !== "env") return null;
    if (!this.#env.includes(part)) return `List ${part} under env to read it`;
    const value = this.#variables[part];
    return value === undefined ? `The environment has no ${part}` : { value };
  }
}
