/**
 * What definitions of resources are written with.
 *
 * @module
 */

import type * as v from "valibot";
import type { Attribute, Relationship, Resource, ResourceType } from "./resource.ts";
import { annotations, isoText, unixSeconds } from "./schemas.ts";

/** Checks a definition where it is written. */
export function resource<const R extends Resource>(definition: R): R {
  return definition;
}

/** Returns an attribute that may be written. */
export function attribute<const M extends Omit<Attribute, "schema" | "description">>(
  schema: v.GenericSchema,
  description: string,
  more?: M,
): Attribute {
  return { schema, description, ...more };
}

/** Returns an attribute that may be written, with its value where nothing was. */
export function withDefault(schema: v.GenericSchema, description: string, value: unknown): Attribute {
  return { schema, description, default: value };
}

/** Returns an attribute that is answered alone. */
export function readOnly(
  schema: v.GenericSchema,
  description: string,
  more: Omit<Attribute, "schema" | "description" | "write"> = {},
): Attribute {
  return { schema, description, write: "never", ...more };
}

/** Returns the relationship to the record under which a resource is created. */
export function owner(type: ResourceType, noun: string): Relationship {
  return { kind: "one", type, write: "create", required: true, description: `Its ${noun}` };
}

/** The relationship to the caller's role. */
export const myRole: Relationship = {
  kind: "one",
  type: "scope_roles",
  description: "The caller's role",
};

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
