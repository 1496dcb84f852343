/**
 * Resource objects and documents of JSON:API 1.1.
 *
 * Source: https://jsonapi.org/format/1.1/
 *
 * @module
 */

import type { Resource, ResourceType } from "../../authoring/mod.ts";
import { versionTag } from "../../http/mod.ts";
import type { Attributes, Entity } from "../entity.ts";
import type { Identifier, Presented } from "../kind.ts";

/** A resource object of an answer. */
export interface ResourceObject {
  readonly type: ResourceType;
  readonly id: string;
  readonly attributes: Attributes;
  readonly relationships?: Readonly<Record<string, unknown>>;
  readonly links?: { readonly self: string };
  readonly meta?: Attributes;
}

/** A document of an answer. */
export interface Document {
  readonly data: ResourceObject | readonly ResourceObject[];
  readonly included?: readonly ResourceObject[];
  readonly links?: Readonly<Record<string, string | null>>;
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** What of a resource is shown. */
export interface ShownAs {
  /** Address of the control API, without a slash at its end. */
  readonly base: string;
  /** Names by type; absent: all. */
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
  /** True in lists, which leave heavy attributes out unless they are asked for. */
  readonly isListed: boolean;
}

/** Returns the entity tag of a record. */
export function entityTag({ rev }: Entity, { tag }: Presented): string {
  return tag === undefined ? versionTag(rev) : `"v${rev}.${tag}"`;
}

/** Returns all attributes of a record, shown or not, and what else `present` computed. */
export function attributesOf(resource: Resource, entity: Entity, presented: Presented): Attributes {
  const { created: created_at, updated: updated_at } = entity;
  const values: Record<string, unknown> = {
    ...entity.attributes,
    ...{ created_at, updated_at },
    ...presented.attributes,
  };
  for (const [name, { default: fallback = null }] of Object.entries(resource.attributes)) {
    values[name] ??= isoOf(name, values) ?? fallback;
  }
  return values;
}

/** Returns a record as a resource object. `presented` has all attributes. */
export function resourceObject(
  resource: Resource,
  entity: Entity,
  presented: Presented,
  { base, fields, isListed }: ShownAs,
): ResourceObject {
  const { type } = resource;
  const wanted = fields.get(type);
  const isShown = (name: string, heavy?: boolean): boolean =>
    wanted === undefined ? !(isListed && heavy === true) : wanted.has(name);
  const attributes: Record<string, unknown> = {};
  for (const [name, { heavy }] of Object.entries(resource.attributes)) {
    if (!isShown(name, heavy)) continue;
    attributes[name] = presented.lazy?.[name]?.() ?? presented.attributes[name];
  }
  const relationships: Record<string, unknown> = {};
  const self = `${base}/${type}/${entity.id}`;
  for (const [name, { kind, type: to }] of Object.entries(resource.relationships)) {
    if (!isShown(name)) continue;
    const links = kind === "link" ? { links: { related: `${self}/${name}` } } : {};
    const id = name === "my_role" ? entity.id : entity.refs[name];
    const data = presented.related?.[name] ?? (id === undefined ? null : { type: to, id });
    relationships[name] = kind === "link" ? links : { data };
  }
  return {
    type,
    id: entity.id,
    attributes,
    relationships,
    links: { self },
    meta: { etag: entityTag(entity, presented), ...presented.meta },
  };
}

/** `x_iso` is the time `x` as text. */
function isoOf(name: string, values: Attributes): string | null {
  if (!name.endsWith("_iso")) return null;
  const time = values[name.slice(0, -4)];
  return typeof time === "number" ? new Date(time * 1_000).toISOString() : null;
}

/** Returns the related records of a resource object under a name. */
export function relatedTo(object: ResourceObject, name: string): readonly Identifier[] {
  const { data } = (object.relationships?.[name] ?? {}) as {
    readonly data?: Identifier | readonly Identifier[] | null;
  };
  if (data === undefined || data === null) return [];
  return Array.isArray(data) ? data : [data as Identifier];
}
