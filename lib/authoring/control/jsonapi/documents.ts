/**
 * Resource objects and documents of JSON:API 1.1.
 *
 * Source: https://jsonapi.org/format/1.1/
 *
 * @module
 */

import { versionTag } from "../../../http/mod.ts";
import { memoize } from "../../../storage/background/mod.ts";
import type { Attribute, Relationship, Resource, ResourceType } from "../../table/mod.ts";
import type { Attributes, Entity } from "../entity.ts";
import type { Identifier, Presented } from "../kind.ts";

/** The relationships of a resource object that are no part of the JSON text. */
const unshown = Symbol("unshown");

/** A resource object of an answer. */
export interface ResourceObject {
  readonly type: ResourceType;
  readonly id: string;
  readonly attributes: Attributes;
  readonly relationships?: Readonly<Record<string, unknown>>;
  /** Relationships that the answer leaves out, where it leaves some out: what includes them follows them all the same. */
  readonly [unshown]?: Readonly<Record<string, unknown>>;
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

/** A record as an answer shows it, with all its attributes, shown or not. Heavy ones are in lists only where they are asked for. */
export interface Shown {
  readonly entity: Entity;
  readonly values: Attributes;
  readonly object: ResourceObject;
}

/** What showing a resource needs of its definition, found once. */
const formsOf = memoize(({ attributes, relationships }: Resource) => {
  const formOf = (entries: readonly (readonly [string, Attribute])[]) => ({
    // A copy of this is much faster than an object that grows attribute by attribute.
    empty: Object.fromEntries(entries.map(([name, { default: value = null }]) => [name, value])),
    /** `x_iso` is the time `x` as text. */
    isoNames: entries.flatMap(([name]) =>
      name.endsWith("_iso") ? [[name, name.slice(0, -4)] as const] : [],
    ),
  });
  const all = Object.entries<Attribute>(attributes);
  return {
    whole: formOf(all),
    listed: formOf(all.filter(([, { heavy }]) => heavy !== true)),
    related: Object.entries<Relationship>(relationships),
  };
});
type Form = ReturnType<typeof formsOf>["whole"];

/** Returns what an answer shows of a record. */
export function shownOf(
  resource: Resource,
  entity: Entity,
  presented: Presented,
  { base, fields, isListed }: ShownAs,
): Shown {
  const { type } = resource;
  const { id } = entity;
  const { whole, listed, related } = formsOf(resource);
  const wanted = fields.get(type);
  const values = valuesOf(wanted === undefined && isListed ? listed : whole, entity, presented);
  for (const [name, compute] of Object.entries(presented.lazy ?? {})) {
    if (wanted?.has(name) ?? name in values) values[name] = compute();
  }
  const names = wanted && Object.keys(values).filter(name => wanted.has(name));
  const attributes = names ? Object.fromEntries(names.map(name => [name, values[name]])) : values;
  const relationships: Record<string, unknown> = {};
  const left: Record<string, unknown> = {};
  const self = `${base}/${type}/${id}`;
  for (const [name, { kind, type: to }] of related) {
    const place = wanted?.has(name) === false ? left : relationships;
    if (kind === "link") {
      place[name] = { links: { related: `${self}/${name}` } };
      continue;
    }
    const ref = name === "my_role" ? id : entity.refs[name];
    const written = ref === undefined ? null : { type: to, id: ref };
    // Presented as null: there is none any more, whatever the record says.
    const presentedData = presented.related?.[name];
    place[name] = { data: presentedData === undefined ? written : presentedData };
  }
  const meta = { etag: entityTag(entity, presented), ...presented.meta };
  const object = { type, id, attributes, relationships, links: { self }, meta };
  return { entity, values, object: wanted === undefined ? object : { ...object, [unshown]: left } };
}

/** Returns the attributes of a form: computed ones, else written ones, else defaults. */
function valuesOf({ empty, isoNames }: Form, entity: Entity, presented: Presented): Record<string, unknown> {
  const values = { ...empty };
  const set = (name: string, value: unknown): void => {
    if (name in empty) values[name] = value ?? empty[name];
  };
  for (const name of Object.keys(entity.attributes)) set(name, entity.attributes[name]);
  set("created_at", entity.created);
  set("updated_at", entity.updated);
  for (const name of Object.keys(presented.attributes)) set(name, presented.attributes[name]);
  for (const [name, time] of isoNames) {
    const seconds = values[time];
    if (values[name] === null && typeof seconds === "number")
      values[name] = new Date(seconds * 1_000).toISOString();
  }
  return values;
}

/** Returns a relationship of a resource object, shown or not. */
export function linkageOf(object: ResourceObject, name: string): unknown {
  return object.relationships?.[name] ?? object[unshown]?.[name];
}

/** Returns the related records of a resource object under a name. */
export function relatedTo(object: ResourceObject, name: string): readonly Identifier[] {
  const { data } = (linkageOf(object, name) ?? {}) as {
    readonly data?: Identifier | readonly Identifier[] | null;
  };
  if (data === undefined || data === null) return [];
  return Array.isArray(data) ? data : [data as Identifier];
}
