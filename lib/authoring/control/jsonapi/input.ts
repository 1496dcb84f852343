/** Reads resource objects of bodies against the definitions of their resources. All faults are reported at once. */

import * as v from "valibot";
import { isUuid } from "../../../auth/crypto/mod.ts";
import { AppError, type FieldError, jsonPointer } from "../../../base/errors/mod.ts";
import { canonicalJson } from "../../../http/requests/body.ts";
import { fieldErrors, issueDetail } from "../../../http/requests/validate.ts";
import type { Attribute, Resource, ResourceType, Role } from "../../table/mod.ts";
import { isRoleAtLeast } from "../access/roles.ts";
import type { Attributes, Entity } from "../kind.ts";
import { type Doubt, type Input, unprocessable } from "../kind.ts";
import type { AuthorCall, Shown } from "./documents.ts";
import type { ResourceBody } from "./schemas.ts";

const faultsMax = 100;

/** A resource object of a body, whose shape is checked. */
export interface ResourceObject {
  readonly type: string;
  readonly id?: string | undefined;
  readonly lid?: string | undefined;
  readonly attributes?: Attributes | undefined;
  readonly relationships?: Readonly<Record<string, unknown>> | undefined;
}

export function objectOf(call: AuthorCall, type: ResourceType): ResourceObject {
  const { data } = call.body as v.InferOutput<typeof ResourceBody>;
  if (data.type !== type) throw mismatch("/data/type", `Expected the type ${type}`);
  return data;
}

export function newObjectOf(call: AuthorCall, type: ResourceType): ResourceObject {
  const object = objectOf(call, type);
  if (object.id === undefined) return object;
  throw new AppError("forbidden", "Cannot take an id of the client: leave it out", {
    fields: [{ pointer: "/data/id", detail: "Is set by the platform" }],
  });
}

export function mismatch(pointer: string, detail: string): AppError {
  return new AppError("conflict", "Cannot take the resource as it is another one than the address names", {
    fields: [{ pointer, detail }],
  });
}

interface InputOptions {
  readonly resource: Resource;
  readonly isNew: boolean;
  /** The caller's role where the record is. */
  readonly role: Role;
  /** Where the object is in the body. */
  readonly pointer: string;
}

/**
 * Returns what a resource object writes.
 *
 * @throws {AppError} `unprocessable` with all faults; `forbidden` with the attributes that the role may not write.
 */
export function readInput(object: ResourceObject, options: InputOptions): Input {
  const { resource, isNew, role, pointer } = options;
  const { action = null, ...given } = object.attributes ?? {};
  const faults: FieldError[] = [];
  const doubts: Doubt[] = [];
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const attribute = Object.hasOwn(resource.attributes, name) ? resource.attributes[name] : undefined;
    const at = `${pointer}/attributes${jsonPointer(name)}`;
    const own: FieldError[] = [];
    const fault = attribute && writeFault(attribute, isNew);
    if (attribute === undefined) faults.push({ pointer: at, detail: "Is not an attribute of the resource" });
    else if (fault != null) own.push({ pointer: at, detail: fault });
    else attributes[name] = readAttribute(attribute, value, at, own);
    const isRefused = attribute?.role !== undefined && !isRoleAtLeast(role, attribute.role);
    if (isRefused && own.length === 0) own.push({ pointer: at, detail: `Needs the role ${attribute.role}` });
    if (own.length === 0) continue;
    delete attributes[name];
    doubts.push({ member: "attributes", name, value, faults: own, isRefused });
  }
  if (isNew) faults.push(...missingAttributes(resource, given, pointer));
  const { refs, lists } = readRefs(object, options, faults, doubts);
  const actions = isNew ? (resource.createActions ?? []) : (resource.actions ?? []);
  if (action !== null && !actions.includes(action as string)) {
    const expected =
      actions.length === 0 ? "Is not an attribute of the resource" : `Expected one of ${actions.join(", ")}`;
    faults.push({ pointer: `${pointer}/attributes/action`, detail: expected });
  }
  // A client may save what it read, of which only what is there tells.
  if (isNew || faults.length > 0) requireFaultless(doubts, faults);
  const input = { attributes, refs, lists, action: action as string | null, pointer };
  return doubts.length === 0 ? input : { ...input, doubts };
}

/** @throws {AppError} `forbidden` or `unprocessable`, unless there is nothing wrong. */
function requireFaultless(doubts: readonly Doubt[], others: readonly FieldError[] = []): void {
  const refused = doubts.filter(({ isRefused }) => isRefused).flatMap(({ faults }) => faults);
  if (refused.length > 0)
    throw new AppError("forbidden", "Cannot write attributes that need another role", { fields: refused });
  const faults = [...others, ...doubts.flatMap(doubt => doubt.faults)];
  if (faults.length > 0) throw unprocessable(...faults.slice(0, faultsMax));
}

/** Returns the names of attributes and relationships that an input with doubts names. */
export function namesIn({ attributes, refs, doubts = [] }: Input): ReadonlySet<string> {
  return new Set([...Object.keys(attributes), ...Object.keys(refs), ...doubts.map(({ name }) => name)]);
}

/**
 * Returns the input of a client that saves what it read: without what is as it is shown.
 *
 * @throws {AppError} `forbidden` or `unprocessable`: it changes what it may not.
 */
export function withoutEchoes(input: Input, { object, values }: Pick<Shown, "object" | "values">): Input {
  const { attributes, refs, doubts = [], ...rest } = input;
  const related = (name: string): unknown => object.relationships?.[name] ?? null;
  requireFaultless(
    doubts.filter(({ member, name, value }) =>
      member === "attributes" ? !isSame(value, values[name]) : !isLinkedSame(value, related(name)),
    ),
  );
  const isLinked = (name: string, id: string | null): boolean =>
    isSame(id, ((related(name) as Linked | null)?.data as { readonly id?: string } | null)?.id ?? null);
  return {
    ...rest,
    attributes: filtered(attributes, ([name, value]) => !isSame(value, values[name])),
    refs: filtered(refs, ([name, id]) => !isLinked(name, id)),
  };
}

function filtered<T>(
  record: Readonly<Record<string, T>>,
  keep: (entry: readonly [string, T]) => boolean,
): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).filter(keep));
}

interface Linked {
  readonly data?: unknown;
}

function isSame(sent: unknown, shown: unknown): boolean {
  return canonicalJson(sent ?? null) === canonicalJson(shown ?? null);
}

/** What a client got beside the linkage, such as links, says nothing. */
function isLinkedSame(sent: unknown, shown: unknown): boolean {
  const [mine, there] = [sent, shown].map(value => (value as Linked | null)?.data);
  return mine === undefined ? isSame(sent, shown) : isSame(mine, there);
}

/** Joins what is written with what is there. A value that leaves an attribute as it was is no change. */
export function joinAttributes(
  resource: Resource,
  { attributes: old }: Entity,
  { attributes, pointer }: Input,
): Attributes {
  const joined: Record<string, unknown> = { ...old };
  const faults: FieldError[] = [];
  for (const [name, value] of Object.entries(attributes)) {
    const attribute = resource.attributes[name];
    const join = attribute?.join ?? "replace";
    if (join === "replace" || value === null) joined[name] = value;
    else if (join === "byKey") joined[name] = joinFields(old[name], value);
    else {
      joined[name] = joinMembers(old[name], value);
      const result = v.safeParse(attribute?.schema ?? v.unknown(), joined[name]);
      if (!result.success)
        faults.push({ pointer: `${pointer}/attributes/${name}`, detail: issueDetail(result.issues[0]) });
    }
  }
  if (faults.length > 0) throw unprocessable(...faults);
  return joined;
}

/** Says why an attribute cannot be written, or returns null. Whether an element was published is not known here. */
function writeFault({ write = "always" }: Attribute, isNew: boolean): string | null {
  if (write === "never") return "Cannot be written: the platform sets it";
  return write === "create" && !isNew ? "Cannot be changed after the creation" : null;
}

function readAttribute(attribute: Attribute, value: unknown, pointer: string, faults: FieldError[]): unknown {
  if (value === null && attribute.nullable === true) return null;
  const { kept, removed } = attribute.join === "merge" ? splitPatch(value) : { kept: value, removed: {} };
  const result = v.safeParse(attribute.schema, kept);
  if (!result.success) {
    faults.push(...fieldErrors(result.issues, pointer));
    return null;
  }
  return attribute.join === "merge" ? { ...(result.output as object), ...removed } : result.output;
}

/** Splits a merge patch (RFC 7396, one level deep) into members that are set and members that are removed. */
function splitPatch(value: unknown): { readonly kept: unknown; readonly removed: Attributes } {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { kept: value, removed: {} };
  const entries = Object.entries(value);
  return {
    kept: Object.fromEntries(entries.filter(([, member]) => member !== null)),
    removed: Object.fromEntries(entries.filter(([, member]) => member === null)),
  };
}

function joinMembers(old: unknown, patch: unknown): unknown {
  const joined = { ...(typeof old === "object" ? old : {}), ...(patch as object) };
  return Object.fromEntries(Object.entries(joined).filter(([, member]) => member !== null));
}

interface Keyed {
  readonly key: string;
}

function joinFields(old: unknown, written: unknown): readonly Keyed[] {
  const before = Array.isArray(old) ? (old as readonly Keyed[]) : [];
  const after = written as readonly Keyed[];
  const kept = before.map(field => after.find(({ key }) => key === field.key) ?? field);
  return [...kept, ...after.filter(({ key }) => !before.some(field => field.key === key))];
}

function missingAttributes(resource: Resource, given: Attributes, pointer: string): FieldError[] {
  return Object.entries(resource.attributes)
    .filter(([name, { required }]) => required === true && given[name] === undefined)
    .map(([name]) => ({ pointer: `${pointer}/attributes/${name}`, detail: "Is required" }));
}

function readRefs(
  { relationships = {} }: ResourceObject,
  { resource, isNew, pointer }: InputOptions,
  faults: FieldError[],
  doubts: Doubt[],
): Required<Pick<Input, "refs" | "lists">> {
  const refs: Record<string, string | null> = {};
  const lists: Record<string, readonly string[]> = {};
  for (const [name, value] of Object.entries(relationships)) {
    const relationship = Object.hasOwn(resource.relationships, name)
      ? resource.relationships[name]
      : undefined;
    const at = `${pointer}/relationships${jsonPointer(name)}`;
    const doubt = (pointerTo: string, detail: string): void => {
      const own = [{ pointer: pointerTo, detail }];
      doubts.push({ member: "relationships", name, value, faults: own, isRefused: false });
    };
    const write = relationship?.write ?? "never";
    if (relationship === undefined) {
      faults.push({ pointer: at, detail: "Is not a relationship of the resource" });
      continue;
    }
    if (write === "never" || write === "links" || (write === "create" && !isNew)) {
      doubt(at, "Cannot be written here");
      continue;
    }
    const schema = relationship.kind === "one" ? OneSchema : ManySchema;
    const parsed = v.safeParse(schema, value);
    const data = parsed.success ? parsed.output.data : undefined;
    const linked = Array.isArray(data) ? data : [data ?? []].flat();
    if (data === undefined || linked.some(({ type }) => type !== relationship.type)) {
      const one = `with the type ${relationship.type} and an id`;
      const detail =
        relationship.kind === "one"
          ? `Expected null or an object ${one}`
          : `Expected an array of objects, each ${one}`;
      doubt(`${at}/data`, detail);
    } else if (linked.some(({ id }) => !isUuid(id))) {
      doubt(`${at}/data`, "Expected UUIDs as ids");
    } else if (relationship.kind === "one") refs[name] = linked[0]?.id.toLowerCase() ?? null;
    else lists[name] = linked.map(({ id }) => id.toLowerCase());
  }
  for (const [name, { required }] of Object.entries(resource.relationships)) {
    const isFaulty = doubts.some(({ member, name: named }) => member === "relationships" && named === name);
    if (isNew && required === true && (refs[name] ?? null) === null && !isFaulty) {
      faults.push({ pointer: `${pointer}/relationships/${name}`, detail: "Is required" });
    }
  }
  return { refs, lists };
}

const IdentifierSchema = v.object({ type: v.string(), id: v.string() });
const OneSchema = v.object({ data: v.nullable(IdentifierSchema) });
const ManySchema = v.object({ data: v.pipe(v.array(IdentifierSchema), v.maxLength(1_000)) });
