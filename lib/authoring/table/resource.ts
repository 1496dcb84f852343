/**
 * The form of a resource definition, and what definitions are written with: everything that routes, validation, OpenAPI, role tests
 * and clients need to know.
 */

import type * as v from "valibot";
import type { HomeKind } from "../../fans/directory/records.ts";
import { annotations, isoText, unixSeconds } from "./schemas.ts";

/** Roles, each of which may do whatever an earlier one may. */
export const roles = ["none", "viewer", "creator", "admin"] as const;
/** The role of a user in an organisation, space or project. */
export type Role = (typeof roles)[number];

export interface Attribute {
  readonly schema: v.GenericSchema;
  readonly description: string;
  /**
   * When it may be written: `always`, at creation, while the resource was never published, or not at all.
   * @default "always"
   */
  readonly write?: "always" | "create" | "draft" | "never";
  /** True if creation needs it. @default false */
  readonly required?: boolean;
  /** True if null is accepted and clears it. @default false */
  readonly nullable?: boolean;
  /** Value of the attribute where nothing was written. @default null */
  readonly default?: unknown;
  /** Role that writing it needs, where that is more than the resource asks for. */
  readonly role?: Role;
  /** `byKey`: a list of fields changes field by field; `merge`: members are replaced one by one and null removes one. @default "replace" */
  readonly join?: "replace" | "byKey" | "merge";
  /** True if it is left out of lists, as it can be large. @default false */
  readonly heavy?: boolean;
}

/** A relationship to one resource, to many, or a link alone. */
interface Relationship<T extends string = string> {
  readonly kind: "one" | "many" | "link";
  readonly type: T;
  readonly description: string;
  /** When it may be written; `links`: related records are added and removed through a path of their own. @default "never" */
  readonly write?: "create" | "always" | "links" | "never";
  /** True if creation needs it. @default false */
  readonly required?: boolean;
}

export type Operation = "list" | "read" | "create" | "change" | "remove";

/** A resource whose relationships and lists name types of `T`. */
export interface Definition<T extends string = string> {
  readonly type: T;
  /** Name of one, in messages and operation ids. @default from the type: `event template` */
  readonly noun: string;
  readonly description: string;
  /** The owner whose role counts, and whose partition has the records; `account`: the caller's own; `platform`: the deployment's. */
  readonly home: HomeKind | "account" | "platform";
  readonly operations: readonly Operation[];
  /** Least role for reading. @default "viewer" */
  readonly read: Role;
  /** Least role for writing; `operator` for operators alone. */
  readonly write: Role | "operator";
  /** Beside these, resources that can be written have `created_at` and `updated_at`. */
  readonly attributes: Readonly<Record<string, Attribute>>;
  /** @default none */
  readonly relationships: Readonly<Record<string, Relationship<T>>>;
  /** Values of the attribute `action`. @default none */
  readonly actions?: readonly string[];
  /** Actions that creation accepts. @default none */
  readonly createActions?: readonly string[];
  /** The types under which it is listed; null for a list at the top. @default none */
  readonly under: readonly (T | null)[];
  /** The last segment of the path of its lists. @default its type */
  readonly path: string;
  /** True if it is created by a POST to its list under a parent. @default false */
  readonly isCreatedUnderParent?: boolean;
  /** Most records of a home, where one record of the store holds all of them. @default they have records of their own */
  readonly entriesMax?: number;
  /** Attributes of a creation and of a change, for the documentation. */
  readonly example?: Readonly<Record<string, unknown>>;
  readonly changeExample?: Readonly<Record<string, unknown>>;
  /** Schemas of the values of `filter[name]`. @default none */
  readonly filters?: Readonly<Record<string, v.GenericSchema<string, unknown>>>;
  /** True if lists take `page[number]`. @default false */
  readonly isPagedByNumber?: boolean;
  /** Attributes that `sort` takes. Without it a list has its own order. @default none */
  readonly sorts: readonly string[];
  /** Paths that `include` takes. @default none */
  readonly include?: readonly string[];
}

const defaults = { read: "viewer", relationships: {}, under: [], sorts: [] } as const;
type Given = keyof typeof defaults | "noun" | "path";
type Written = Omit<Definition, Given | "type"> & Partial<Pick<Definition, Given>>;

/** A definition as it is written, with what all definitions have. */
type Completed<T, D extends Written> = Omit<typeof defaults, keyof D> &
  Omit<D, "attributes" | Exclude<Given, keyof typeof defaults>> & {
    readonly type: T;
    readonly noun: string;
    readonly path: D extends { readonly path: infer P } ? P : T;
    readonly attributes: D["attributes"] & (IsWritable<D> extends true ? typeof timestamps : unknown);
  };
type IsWritable<D extends Written> =
  Extract<D["operations"][number], "create" | "change" | "remove"> extends never ? false : true;

export function define<const D extends Readonly<Record<string, Written>>>(
  definitions: D,
): { readonly [T in keyof D]: Completed<T, D[T]> } {
  const completed = Object.entries<Written>(definitions).map(([type, { attributes, ...own }]) => {
    const isWritable = own.operations.some(operation => operation !== "list" && operation !== "read");
    const all = { ...attributes, ...(isWritable ? timestamps : {}) };
    return [type, { ...defaults, type, noun: nounOf(type), path: type, ...own, attributes: all }];
  });
  return Object.fromEntries(completed);
}

/** `audit_entries` becomes `audit entry`. */
function nounOf(type: string): string {
  return type.replaceAll("_", " ").replace(/ies$/, "y").replace(/s$/, "");
}

/** An attribute with the type of its schema, and what else was said of it. */
type Typed<S extends v.GenericSchema, M> = { readonly schema: S; readonly description: string } & Readonly<M>;

type More = Omit<Attribute, "schema" | "description">;

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

export function readOnly<
  S extends v.GenericSchema,
  const M extends Omit<More, "write"> = Record<never, never>,
>(schema: S, description: string, more?: M): Typed<S, M & { write: "never" }> {
  return { schema, description, write: "never", ...more } as Typed<S, M & { write: "never" }>;
}

export function owner<const T extends string>(type: T) {
  return { kind: "one", type, write: "create", required: true, description: `Its ${nounOf(type)}` } as const;
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

const timestamps = {
  created_at: readOnly(unixSeconds, "When it was created, in Unix seconds"),
  created_at_iso: readOnly(isoText, "`created_at` as ISO 8601"),
  updated_at: readOnly(unixSeconds, "When it was last changed, in Unix seconds"),
  updated_at_iso: readOnly(isoText, "`updated_at` as ISO 8601"),
};
