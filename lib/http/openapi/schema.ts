/**
 * Schemas of the OpenAPI document. Each schema of a body, answer, path or query is converted once under a name; named
 * schemas inside of others become references.
 */

import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { nameOf } from "../requests/validate.ts";

/** An object of the document. */
export type Json = Readonly<Record<string, unknown>>;

type Direction = "input" | "output";

export function jsonSchemaOf(schema: GenericSchema): Json {
  return { ...toJsonSchema(schema, { target: "draft-2020-12", typeMode: "input", errorMode: "ignore" }) };
}

/** Schemas of one direction by name, in the order in which they were asked for. */
class Collection {
  readonly byName: Record<string, GenericSchema> = {};
  readonly #names = new Map<GenericSchema, string>();
  readonly #seen = new Set<unknown>();

  add(schema: GenericSchema, fallback: string): string {
    this.#collectNamed(schema);
    const existing = this.#names.get(schema);
    if (existing !== undefined) return existing;
    return this.#put(nameOf(schema) ?? fallback, schema);
  }

  /** Gives equal names of different schemas a number, so that nothing is lost; a test asks for unique names. */
  #put(name: string, schema: GenericSchema): string {
    let unique = name;
    for (let count = 2; unique in this.byName; count++) unique = `${name}${count}`;
    this.byName[unique] = schema;
    this.#names.set(schema, unique);
    return unique;
  }

  #collectNamed(part: unknown): void {
    if (typeof part !== "object" || part === null || this.#seen.has(part)) return;
    this.#seen.add(part);
    if (Array.isArray(part)) {
      for (const item of part) this.#collectNamed(item);
      return;
    }
    if (isSchema(part)) {
      const name = nameOf(part);
      if (name !== null && !this.#names.has(part)) this.#put(name, part);
    }
    for (const member of nestedMembers) {
      if (member in part) this.#collectNamed((part as Json)[member]);
    }
    if ("entries" in part && typeof part.entries === "object") {
      for (const entry of Object.values(part.entries ?? {})) this.#collectNamed(entry);
    }
    if ("getter" in part && typeof part.getter === "function") this.#collectNamed(part.getter(undefined));
  }
}

const nestedMembers = ["wrapped", "item", "items", "options", "rest", "key", "value", "pipe"] as const;

function isSchema(part: object): part is GenericSchema {
  return "kind" in part && part.kind === "schema";
}

/** A reference whose target is final once all schemas are known. */
interface Reference {
  $ref: string;
}

/** Collects the schemas of one document, then converts all of them at once. */
export class SchemaBook {
  readonly #collections = { input: new Collection(), output: new Collection() };
  readonly #inputReferences: { readonly name: string; readonly reference: Reference }[] = [];

  /** Adds a schema of a body or an answer, by its own name or else by `fallback`, and returns a reference to it. */
  refer(schema: GenericSchema, fallback: string, direction: Direction): Json {
    const name = this.#collections[direction].add(schema, fallback);
    const reference: Reference = { $ref: referenceTo(name) };
    if (direction === "input") this.#inputReferences.push({ name, reference });
    return reference as unknown as Json;
  }

  parametersOf(schema: GenericSchema): Json {
    const { $schema: _dialect, $defs: _none, ...converted } = toJsonSchema(schema, configOf("input"));
    return converted;
  }

  /** Returns the components. A schema that is sent in another form than it is answered is two: `Name` and `NameInput`. */
  components(): Readonly<Record<string, Json>> {
    const { input, output } = this.#collections;
    const answers = convert(output, "output", name => name);
    const renamed = new Set<string>();
    for (;;) {
      const rename = (name: string): string => (renamed.has(name) ? `${name}Input` : name);
      const bodies = convert(input, "input", rename);
      const differing = Object.keys(bodies).filter(
        name => name in answers && JSON.stringify(answers[name]) !== JSON.stringify(bodies[name]),
      );
      if (differing.length > 0) {
        for (const name of differing) renamed.add(name);
        continue;
      }
      for (const { name, reference } of this.#inputReferences) reference.$ref = referenceTo(rename(name));
      return { ...bodies, ...answers };
    }
  }
}

function convert(
  { byName }: Collection,
  direction: Direction,
  rename: (name: string) => string,
): Readonly<Record<string, Json>> {
  const overrideRef: ConversionConfig["overrideRef"] = ({ referenceId }) =>
    referenceTo(partName(rename(referenceId)));
  const converted = toJsonSchemaDefs(byName, { ...configOf(direction), overrideRef });
  return Object.fromEntries(
    Object.entries(converted).map(([name, schema]) => [partName(rename(name)), { ...schema }]),
  );

  /** Parts of recursive schemas without a name have a number for one. */
  function partName(name: string): string {
    return /^\d/.test(name) ? `${direction === "input" ? "Body" : "Answer"}Part${name}` : name;
  }
}

function configOf(direction: Direction): ConversionConfig {
  // What JSON Schema cannot say (a custom check, a date) stays unsaid rather than failing the document.
  return { target: "draft-2020-12", typeMode: direction, errorMode: "ignore" };
}

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}
