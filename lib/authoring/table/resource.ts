/**
 * The form of a resource definition: everything that routes, validation, OpenAPI, role tests, tables and clients need to know.
 *
 * @module
 */

import type * as v from "valibot";
import type { HomeKind } from "../../fans/directory/records.ts";

/** Roles, each of which may do whatever an earlier one may. */
export const roles = ["none", "viewer", "creator", "admin"] as const;
/** The role of a user in an organisation, space or project. */
export type Role = (typeof roles)[number];

/** Returns true if a role may do what `needed` may. */
export function isRoleAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

export type ResourceType =
  | "organisations"
  | "spaces"
  | "projects"
  | "apps"
  | "content_types"
  | "events"
  | "event_templates"
  | "elements"
  | "assets"
  | "tags"
  | "scope_roles"
  | "users"
  | "access_tokens"
  | "sessions"
  | "stats"
  | "workflows"
  | "audit_entries"
  | "spec_checks";

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
export interface Relationship {
  readonly kind: "one" | "many" | "link";
  readonly type: ResourceType;
  readonly description: string;
  /** When it may be written; `links`: related records are added and removed through a path of their own. @default "never" */
  readonly write?: "create" | "always" | "links" | "never";
  /** True if creation needs it. @default false */
  readonly required?: boolean;
}

export type Operation = "list" | "read" | "create" | "change" | "remove";

/** A list of resources under another one. */
export interface List {
  /** Type of the parent, or null for a list at the top. */
  readonly under: ResourceType | null;
  /** The last segment of the path. */
  readonly path: string;
}

export interface Resource {
  readonly type: ResourceType;
  /** Name of one, in messages and operation ids: `event template`. */
  readonly noun: string;
  readonly description: string;
  /** The owner whose role counts, and whose partition has the records; `account`: the caller's own; `platform`: the deployment's. */
  readonly home: HomeKind | "account" | "platform";
  readonly operations: readonly Operation[];
  /** Least role for reading. */
  readonly read: Role;
  /** Least role for writing; `operator` for operators alone. */
  readonly write: Role | "operator";
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly relationships: Readonly<Record<string, Relationship>>;
  /** Values of the attribute `action`. @default none */
  readonly actions?: readonly string[];
  /** Actions that creation accepts. @default none */
  readonly createActions?: readonly string[];
  readonly lists: readonly List[];
  /** True if it is created by a POST to its list under a parent. @default false */
  readonly isCreatedUnderParent?: boolean;
  /** Attributes of a creation and of a change, for the documentation. */
  readonly example?: Readonly<Record<string, unknown>>;
  readonly changeExample?: Readonly<Record<string, unknown>>;
  /** Schemas of the values of `filter[name]`. @default none */
  readonly filters?: Readonly<Record<string, v.GenericSchema<string, unknown>>>;
  /** True if lists take `page[number]`. @default false */
  readonly isPagedByNumber?: boolean;
  /** Attributes that `sort` takes. Without it a list has its own order. */
  readonly sorts: readonly string[];
  /** Paths that `include` takes. @default none */
  readonly include?: readonly string[];
  readonly columns: readonly string[];
}
