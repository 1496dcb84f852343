import { type ConversionConfig, toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

/** An object of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a schema describes what is sent to us or what we answer. */
export type Direction = "input" | "output";

/** A schema as a JSON Schema document of its own: what may be sent. What JSON Schema cannot say stays unsaid. */
export function jsonSchemaOf(schema: GenericSchema): Json {
  return { ...toJsonSchema(schema, { target: "draft-2020-12", typeMode: "input", errorMode: "ignore" }) };
}

/** Collects the schemas of one document; parts of recursive schemas become components of it. */
export class SchemaBook {
  readonly schemas: Record<string, unknown> = {};

  /** Adds a component. */
  add(name: string, schema: Json): void {
    this.schemas[name] = schema;
  }

  /** Converts a schema; `name` makes the names of its components unique. */
  convert(schema: GenericSchema, name: string, direction: Direction): Json {
    const config: ConversionConfig = {
      target: "draft-2020-12",
      typeMode: direction,
      // What JSON Schema cannot say (a custom check, a date) stays unsaid rather than failing the document.
      errorMode: "ignore",
      overrideRef: ({ referenceId }) => `#/components/schemas/${name}${referenceId}`,
    };
    const { $schema: _dialect, $defs = {}, ...converted } = toJsonSchema(schema, config);
    for (const [id, part] of Object.entries($defs)) this.schemas[`${name}${id}`] = part;
    return converted;
  }
}
