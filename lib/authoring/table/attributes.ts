/**
 * What definitions of resources are written with.
 *
 * @module
 */

import type * as v from "valibot";
import type { Attribute, Resource, ResourceType } from "./resource.ts";
import { annotations, isoText, unixSeconds } from "./schemas.ts";

/** Checks a definition where it is written. */
export function resource<const R extends Resource>(definition: R): R {
  return definition;
}

/** An attribute with the type of its schema, and what else was said of it. */
type Typed<S extends v.GenericSchema, M> = { readonly schema: S; readonly description: string } & Readonly<M>;

type More = Omit<Attribute, "schema" | "description">;

/** Returns an attribute that may be written. */
export function attribute<S extends v.GenericSchema, const M extends More = Record<never, never>>(
  schema: S,
  description: string,
  more?: M,
): Typed<S, M> {
  return { schema, description, ...more } as Typed<S, M>;
}

/** Returns an attribute that may be written, with its value where nothing was. */
export function withDefault<S extends v.GenericSchema>(
  schema: S,
  description: string,
  value: unknown,
): Typed<S, { default: unknown }> {
  return { schema, description, default: value };
}

/** Returns an attribute that is answered alone. */
export function readOnly<
  S extends v.GenericSchema,
  const M extends Omit<More, "write"> = Record<never, never>,
>(schema: S, description: string, more?: M): Typed<S, M & { write: "never" }> {
  return { schema, description, write: "never", ...more } as Typed<S, M & { write: "never" }>;
}

/** Returns the relationship to the record under which a resource is created. */
export function owner<const T extends ResourceType>(type: T, noun: string) {
  return { kind: "one", type, write: "create", required: true, description: `Its ${noun}` } as const;
}

export const myRole = {
  kind: "one",
  type: "scope_roles",
  description: "The caller's role",
} as const;

/** Texts by key, for tools. */
export const annotated = attribute(
  annotations,
  "Texts by key; a PATCH replaces the listed ones, null removes one",
  { default: {}, join: "merge" },
);

/** Attributes that every kept resource has. */
export const timestamps = {
  created_at: readOnly(unixSeconds, "When it was created, in Unix seconds"),
  created_at_iso: readOnly(isoText, "`created_at` as ISO 8601"),
  updated_at: readOnly(unixSeconds, "When it was last changed, in Unix seconds"),
  updated_at_iso: readOnly(isoText, "`updated_at` as ISO 8601"),
};
