import type { GenericSchema } from "valibot";

const names = new WeakMap<GenericSchema, string>();

/**
 * Names a schema: the OpenAPI document has it once under `components/schemas` and refers to it elsewhere.
 *
 * @example
 * ```ts
 * const EntrySchema = named("LeaderboardEntry", v.object({ rank: v.number(), userId: v.string() }));
 * ```
 */
export function named<S extends GenericSchema>(name: string, schema: S): S {
  names.set(schema, name);
  return schema;
}

/** Returns the name of a schema, or null for one without a name. */
export function nameOf(schema: GenericSchema): string | null {
  return names.get(schema) ?? null;
}
