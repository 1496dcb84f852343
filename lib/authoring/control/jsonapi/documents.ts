/**
 * Resource objects and documents of JSON:API 1.1.
 *
 * Source: https://jsonapi.org/format/1.1/
 */

import * as v from "valibot";
import { isUuid } from "../../../auth/crypto/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import type { Call, Reply } from "../../../http/mod.ts";
import { versionTag } from "../../../http/replies/byte_reply.ts";
import { jsonApiMediaType } from "../../../http/requests/body.ts";
import { memoize } from "../../../storage/background/mod.ts";
import {
  type Attribute,
  definitionOf,
  type Relationship,
  type Resource,
  type ResourceType,
} from "../../table/mod.ts";
import type { Author } from "../access/authors.ts";
import type { Attributes, Circumstances, Entity, Identifier, Input, Kind, Presented } from "../kind.ts";
import type { ControlServices } from "../services.ts";
import type { Derived, Transaction } from "../transaction.ts";
import type { ListView, NameOf, ParameterOf, Pascal, Query, View } from "./types.ts";

/** The relationships of a resource object that are no part of the JSON text. */
const unshown = Symbol("unshown");

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

export interface Document {
  readonly data: ResourceObject | readonly ResourceObject[];
  readonly included?: readonly ResourceObject[];
  readonly links?: Readonly<Record<string, string | null>>;
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface ShownAs {
  /** Address of the control API, without a slash at its end. */
  readonly base: string;
  /** Names by type; absent: all. */
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
  /** True in lists, which leave heavy attributes out unless they are asked for. */
  readonly isListed: boolean;
}

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

export function linkageOf(object: ResourceObject, name: string): unknown {
  return object.relationships?.[name] ?? object[unshown]?.[name];
}

export function relatedTo(object: ResourceObject, name: string): readonly Identifier[] {
  const { data } = (linkageOf(object, name) ?? {}) as {
    readonly data?: Identifier | readonly Identifier[] | null;
  };
  if (data === undefined || data === null) return [];
  return Array.isArray(data) ? data : [data as Identifier];
}

/** Returns the keys that reading and changing a record surely need. */
export function keysOf({ records, wants }: Kind, id: string, written?: Input["refs"]): readonly string[] {
  return [...records.keys(id), ...(wants?.(id, written) ?? [])];
}

interface LastShown extends Pick<ShownAs, "base" | "isListed"> {
  readonly kind: Kind;
  readonly now: number;
  readonly derived: Derived<Shown>;
}
const lastShown = new WeakMap<Entity, LastShown>();

/**
 * Returns a record of a transaction, or null if there is none. Within a second it is the same object while the records behind it do not
 * change, and the object keeps its text: a list that is asked for often costs a third.
 */
export function show(
  kind: Kind,
  id: string,
  tx: Transaction,
  { now }: Circumstances,
  shown: ShownAs,
): Shown | null {
  const entity = kind.records.get(tx, id);
  if (entity === null) return null;
  const { base, fields, isListed } = shown;
  const make = (): Shown =>
    shownOf(
      kind.resource,
      entity,
      kind.present?.(entity, tx, { now, isListed }) ?? { attributes: {} },
      shown,
    );
  if (fields.size > 0) return make();
  const last = lastShown.get(entity);
  const isAlike = last?.kind === kind && last.now === now && last.base === base && last.isListed === isListed;
  if (isAlike && tx.isCurrent(last.derived)) return last.derived.made;
  const derived = tx.derive(make);
  lastShown.set(entity, { kind, now, base, isListed, derived });
  return derived.made;
}

/**
 * Reads the view of a query.
 *
 * @throws {AppError} `validation_failed` with the parameter.
 */
export function viewOf(resource: Resource, query: Query): View {
  const { include: paths = [] } = resource;
  const include = split(query.include);
  const unknown = include.find(
    path => !paths.includes(path) && !paths.some(known => known.startsWith(`${path}.`)),
  );
  if (unknown !== undefined) {
    const expected =
      paths.length === 0 ? "Nothing can be included here" : `Expected paths among ${paths.join(", ")}`;
    throw invalidField("Cannot include what is asked for", "include", expected);
  }
  const fields = new Map<string, ReadonlySet<string>>();
  for (const [name, value] of Object.entries(query)) {
    const type = /^fields\[(\w+)\]$/.exec(name)?.[1] as Resource["type"] | undefined;
    if (type === undefined || value === undefined) continue;
    const names = split(value);
    const { attributes = {}, relationships = {} } = definitionOf(type) ?? {};
    const stray = names.find(each => !Object.hasOwn(attributes, each) && !Object.hasOwn(relationships, each));
    if (stray !== undefined)
      throw invalidField(
        "Cannot show what is asked for",
        name,
        `Expected attributes and relationships of ${type}`,
      );
    fields.set(type, new Set(names));
  }
  return { include, fields };
}

export function listViewOf(resource: Resource, query: Query): ListView {
  const { sorts, filters = {} } = resource;
  const sort = String(query.sort ?? "");
  const by = sort.replace(/^-/, "");
  if (query.sort !== undefined && !sorts.includes(by)) {
    throw invalidField("Cannot order the list as asked for", "sort", `Expected one of ${sorts.join(", ")}`);
  }
  const number = query["page[number]"] as number | undefined;
  if (number !== undefined && query["page[cursor]"] !== undefined)
    throw invalidField("Cannot find the page", "page[number]", "Expected a number or a cursor, not both");
  const given = Object.keys(filters).filter(name => query[`filter[${name}]`] !== undefined);
  return {
    ...viewOf(resource, query),
    sort: query.sort === undefined ? null : { by, descending: sort.startsWith("-") },
    filters: Object.fromEntries(given.map(name => [name, query[`filter[${name}]`]])),
    count: query["page[count]"] as number,
    cursor: query["page[cursor]"] as string | undefined,
    ...(number === undefined ? {} : { number }),
  };
}

function split(value: unknown): readonly string[] {
  return value === undefined || value === "" ? [] : String(value).split(",");
}

/** Attributes that filters of other names select by. */
const filtered: Readonly<Record<string, string>> = {
  include_in_latest_results: "include_in_latest_results_feed",
  scope: "availability",
};

/** `annotation` is `key` or `key=value`; of other filters the value is one of a list. */
export function isWanted({ entity, values }: Shown, filters: ListView["filters"]): boolean {
  return Object.entries(filters).every(([name, value]) => {
    const text = String(value);
    if (name === "annotation") {
      const [key = "", ...rest] = text.split("=");
      const annotation = (values.annotations as Readonly<Record<string, string>> | undefined)?.[key];
      return rest.length === 0 ? annotation !== undefined : annotation === rest.join("=");
    }
    if (name === "before") return Number(values.start_at ?? entity.created) * 1_000 < Date.parse(text);
    if (name === "only_listings") return true;
    return [values[filtered[name] ?? name]].flat().some(value => text.split(",").includes(String(value)));
  });
}

export function arranged(found: readonly Shown[], { sort, filters }: ListView): readonly string[] {
  const wanted = found.filter(each => isWanted(each, filters));
  if (sort === null) return wanted.map(({ object }) => object.id);
  const keyOf = ({ entity, values }: Shown): string | number => {
    const value = values[sort.by] ?? entity.created;
    return typeof value === "number" ? value : String(value);
  };
  const sign = sort.descending ? -1 : 1;
  const keyed = wanted.map(each => ({ key: keyOf(each), id: each.object.id }));
  keyed.sort((a, b) => (a.key === b.key ? (a.id < b.id ? -sign : sign) : a.key < b.key ? -sign : sign));
  return keyed.map(({ id }) => id);
}

export function pageOf(all: readonly string[], { count }: ListView, after: string | undefined) {
  const start = after === undefined ? 0 : all.indexOf(after) + 1;
  const ids = all.slice(start, start + count);
  const next = start + ids.length < all.length ? (ids.at(-1) ?? null) : null;
  return { ids, next, total: all.length };
}

export type AuthorCall = Call<Author, unknown, unknown, unknown>;

/** Answers in the media type that the client accepts: JSON, or JSON:API as the route has it. */
export function answer(
  { request }: Pick<AuthorCall, "request">,
  document: Document,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
  mediaType = jsonApiMediaType,
): Reply {
  const accept = request.headers.get("accept");
  const type = acceptedType(accept, mediaType);
  const fields = { ...headers, vary: "accept", "content-type": type };
  if (!Array.isArray(document.data)) return { status, json: document, headers: fields };
  return { status, text: listText(document), headers: fields };
}

const textOf = memoize((object: ResourceObject) => JSON.stringify(object));

/** The last list that began with an object, and its text. */
const listTexts = new WeakMap<
  ResourceObject,
  { readonly objects: readonly ResourceObject[]; readonly text: string }
>();

function textOfList(objects: readonly ResourceObject[]): string {
  const [first] = objects;
  if (first === undefined) return "[]";
  const last = listTexts.get(first);
  const isSame =
    last?.objects.length === objects.length && last.objects.every((each, at) => each === objects[at]);
  if (isSame) return last.text;
  const text = `[${objects.map(textOf).join()}]`;
  listTexts.set(first, { objects, text });
  return text;
}

function listText({ data, included, ...others }: Document): string {
  const members = [`"data":${textOfList([data].flat())}`, JSON.stringify(others).slice(1, -1)];
  if (included !== undefined) members.push(`"included":${JSON.stringify(included)}`);
  return `{${members.filter(text => text !== "").join()}}`;
}

/** @throws {AppError} `not_acceptable`: JSON:API is asked for with other parameters alone, which it forbids. */
function acceptedType(accept: string | null, mediaType: string): string {
  const extension = mediaType.slice(jsonApiMediaType.length);
  const types = (accept ?? "").split(",").map(each => each.trim().toLowerCase());
  const named = types.filter(each => each.split(";", 1)[0] === jsonApiMediaType);
  const isPlain = (each: string): boolean =>
    !/;\s*(?!q=|profile=)/.test(each.replace(/;\s+/g, ";").replace(extension, ""));
  if (named.some(isPlain)) return mediaType;
  if (types.some(each => each.startsWith("application/json"))) return "application/json";
  if (named.length > 0 && !types.some(each => each.startsWith("*/*") || each.startsWith("application/*"))) {
    throw new AppError(
      "not_acceptable",
      `Cannot answer as asked: accept ${mediaType} without other parameters`,
    );
  }
  return mediaType;
}

export function selfOf({ base }: ControlServices, { request }: AuthorCall): string {
  const { pathname, search } = new URL(request.url, "http://localhost");
  return base + pathname.slice(pathname.indexOf("/api/v2") + "/api/v2".length) + search;
}

/** Returns the id in the path of a request, whose place the type names. */
export function idOf(call: AuthorCall, type: ResourceType): string {
  const id = (call.params as Readonly<Record<string, string>>)[parameterOf(type)] ?? "";
  if (!isUuid(id))
    throw invalidField("Cannot find the resource by this id", parameterOf(type), "Expected a UUID");
  return id.toLowerCase();
}

export function idParams(type: ResourceType) {
  return v.object({ [parameterOf(type)]: v.pipe(v.string(), v.description(`Id of the ${nounOf(type)}`)) });
}

/** `event_templates` becomes `eventTemplateId`. */
export function parameterOf<const T extends ResourceType>(type: T): ParameterOf<T> {
  const name: string = nameOf(type);
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}Id` as ParameterOf<T>;
}

/** `event_templates` becomes `EventTemplate`. */
export function nameOf<const T extends ResourceType>(type: T): NameOf<T> {
  return pascal<string>(type).replace(/ies$/, "y").replace(/s$/, "") as NameOf<T>;
}

/** `event_templates` becomes `EventTemplates`. */
export function pascal<const T extends string>(type: T): Pascal<T> {
  return type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()) as Pascal<T>;
}

export function pathUnder(resource: Resource, under: ResourceType | null): `/${string}` {
  const parent = under === null ? "" : `/${under}/:${parameterOf(under)}`;
  return `/api/v2${parent}/${pathOf(resource, under)}`;
}

/** Returns the last segment of the path of a list; what is created at the top has its type there. */
export function pathOf({ path, type }: Resource, under: ResourceType | null): string {
  return under === null ? type : path;
}

/** `event_templates` becomes `event templates`. */
export function words(type: ResourceType): string {
  return type.replaceAll("_", " ");
}

export function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

export function nounOf(type: ResourceType): string {
  return definitionOf(type)?.noun ?? words(type);
}

interface NumberedPage {
  /** From 1. */
  readonly number: number;
  readonly size: number;
  readonly total: number;
}

export function pageLinks(
  self: string,
  next: string | null,
  numbered?: NumberedPage,
): Readonly<Record<string, string | null>> {
  if (numbered !== undefined) {
    const { number, size, total } = numbered;
    const at = (other: number): string => withParameter(self, "page[number]", String(other));
    return {
      self,
      first: at(1),
      prev: number > 1 ? at(number - 1) : null,
      next: number * size < total ? at(number + 1) : null,
    };
  }
  return {
    self,
    first: withParameter(self, "page[cursor]", null),
    prev: null,
    next: next === null ? null : withParameter(self, "page[cursor]", next),
  };
}

function withParameter(self: string, name: string, value: string | null): string {
  const url = new URL(self);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url.href;
}

/** Errors of every route that writes. */
export const writeErrors = [
  "not_found",
  "forbidden",
  "conflict",
  "project_archived",
  "precondition_failed",
  "unprocessable",
  "not_acceptable",
] as const;

export function created(call: AuthorCall, { data }: { readonly data: ResourceObject }): Reply {
  if (isDryRun(call)) return answer(call, { data, meta: { dry_run: true } });
  const headers = { etag: String(data.meta?.etag), location: data.links?.self ?? "" };
  return answer(call, { data }, headers, 201);
}

export function isDryRun({ query }: AuthorCall): boolean {
  return (query as Query).dry_run === "true";
}
