/**
 * Elements in batches: lists them, and creates, changes and publishes up to 500 in one atomic request.
 *
 * @module
 */

import { jsonPointer } from "../../errors/mod.ts";
import { isMap } from "../element_content.ts";
import type { CliContext } from "../frame/command.ts";
import type { ControlApi, Operation, ResourceObject, Write } from "../frame/control_api.ts";
import { CliError } from "../frame/errors.ts";

/** Attributes by name. */
export type Attributes = Readonly<Record<string, unknown>>;
/** Names an element by its id, or by the local id of one that is created in the same batch. */
export type ElementRef = { readonly id: string } | { readonly lid: string };

/** An element that is to be created. Its attributes name others as `{lid}`. */
export interface NewElement {
  readonly lid: string;
  readonly attributes: Attributes;
  readonly parent: ElementRef | null;
  readonly isPublished: boolean;
}

/** A change of an element. */
export interface ElementChange {
  readonly ref: ElementRef;
  readonly attributes?: Attributes;
  readonly parent?: ElementRef | null;
  readonly etag?: string;
}

/** Most operations and most characters of one request. */
const operationsMax = 500;
const charactersMax = 5_000_000;

/** Returns the elements of an event in their order. */
export async function listElements(api: ControlApi, eventId: string): Promise<readonly ResourceObject[]> {
  const { data } = await api.all(`/events/${encodeURIComponent(eventId)}/elements`);
  return data.toSorted((a, b) => Number(a.attributes.position) - Number(b.attributes.position));
}

/** Returns the operation that changes an element. */
export function changeOf({ ref, attributes, parent, etag }: ElementChange): Operation {
  const relationships = parent === undefined ? undefined : { parent: { data: parent && typed(parent) } };
  const data = { ...typed(ref), ...(attributes && { attributes }), ...(relationships && { relationships }) };
  return { op: "update", data, ...(etag === undefined ? {} : { meta: { if_match: etag } }) };
}

/** Operations that create elements, and those that publish the wrappers among them. */
export interface Creations {
  readonly operations: readonly Operation[];
  readonly wrappers: readonly Operation[];
}

/**
 * Returns the operations that create elements in their order. What names an element that comes later is written afterwards;
 * wrappers are published apart, as their children come first.
 */
export function creationsOf(eventId: string, elements: readonly NewElement[]): Creations {
  const created = new Set<string>();
  const isKnown = (ref: ElementRef): boolean => !("lid" in ref) || created.has(ref.lid);
  const wrappers = new Set(
    elements.map(({ parent }) => (parent !== null && "lid" in parent ? parent.lid : null)),
  );
  const later: Operation[] = [];
  const last: Operation[] = [];
  const additions = elements.map(({ lid, attributes, parent, isPublished }): Operation => {
    const isLate = (value: unknown): boolean => !refsIn(value).every(isKnown);
    const hasLate = Object.values(attributes).some(isLate);
    // An element with a timecode must be complete.
    const waits = ([name, value]: readonly [string, unknown]): boolean =>
      isLate(value) || (hasLate && name.startsWith("start_"));
    const entries = Object.entries(attributes);
    const publish = isPublished ? { action: "publish" } : {};
    const isWrapper = wrappers.has(lid);
    const isParentLate = parent !== null && !isKnown(parent);
    if (hasLate || isParentLate) {
      const put = { ...Object.fromEntries(entries.filter(waits)), ...(isWrapper ? {} : publish) };
      const change = { ...(hasLate ? { attributes: put } : {}), ...(isParentLate ? { parent } : {}) };
      later.push(changeOf({ ref: { lid }, ...change }));
    }
    if (isPublished && isWrapper) last.push(changeOf({ ref: { lid }, attributes: publish }));
    created.add(lid);
    const now = Object.fromEntries(entries.filter(entry => !waits(entry)));
    const relationships = {
      event: { data: { type: "events", id: eventId } },
      ...(parent === null || isParentLate ? {} : { parent: { data: typed(parent) } }),
    };
    const written = { ...now, ...(hasLate || isWrapper ? {} : publish) };
    return { op: "add", data: { type: "elements", lid, attributes: written, relationships } };
  });
  return { operations: [...additions, ...later], wrappers: last };
}

/** Options of {@linkcode sendOperations}. */
export interface SendOptions extends Omit<Write, "document"> {
  /** Names what an operation is about, for errors at a pointer into its data. @default its id and the pointer */
  readonly where?: (operation: Operation, pointer: string) => string | undefined;
}

/** Sends operations, all or none of each 500, and returns the ids of created elements by their local ids. */
export async function sendOperations(
  { api: open, done, progress }: CliContext,
  operations: readonly Operation[],
  { where = idAndPointer, ...write }: SendOptions,
): Promise<ReadonlyMap<string, string>> {
  const api = await open();
  const ids = new Map<string, string>();
  for (let start = 0; start < operations.length; ) {
    const batch = batchFrom(operations, start).map(operation => withIds(operation, ids) as Operation);
    const results = await api.operations(batch, write).catch((error: unknown) => {
      throw located(error, (index, pointer) => {
        const operation = operations[start + index];
        return operation === undefined ? undefined : where(operation, pointer);
      });
    });
    for (const [index, { op, data }] of batch.entries()) {
      const { lid } = (data ?? {}) as { readonly lid?: string };
      if (op === "add" && lid !== undefined) ids.set(lid, results[index]?.id ?? "");
    }
    start += batch.length;
    progress(`${start} of ${operations.length} operations`);
    if (write.isDryRun !== true) done(`${start} of ${operations.length} operations`);
  }
  return ids;
}

function idAndPointer({ data }: Operation, pointer: string): string {
  const { id, lid } = data as { readonly id?: string; readonly lid?: string };
  return `${id ?? lid}${pointer}`;
}

function batchFrom(operations: readonly Operation[], start: number): readonly Operation[] {
  let characters = 0;
  const all = operations.slice(start, start + operationsMax);
  const end = all.findIndex(operation => {
    characters += JSON.stringify(operation).length;
    return characters > charactersMax;
  });
  return end < 0 ? all : all.slice(0, Math.max(end, 1));
}

/** Replaces local ids of earlier batches. */
function withIds(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (ids.size === 0) return value;
  return mapTree(value, part => {
    const { lid, ...rest } = (part ?? {}) as { readonly lid?: unknown };
    const id = typeof lid === "string" ? ids.get(lid) : undefined;
    if (id === undefined) return undefined;
    return Object.keys(rest).length === 0 ? id : { ...(withIds(rest, ids) as object), id };
  });
}

/** Copies a value. What `replace` returns stands in the place of a part; undefined keeps the part. */
export function mapTree(
  value: unknown,
  replace: (part: unknown, pointer: string) => unknown,
  pointer = "",
): unknown {
  const replaced = replace(value, pointer);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(value)) return value.map((item, index) => mapTree(item, replace, `${pointer}/${index}`));
  if (!isMap(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(
    members.map(([key, member]) => [key, mapTree(member, replace, pointer + jsonPointer(key))]),
  );
}

/** Returns the local ids in the value of an attribute. */
export function refsIn(value: unknown): readonly { readonly lid: string }[] {
  if (typeof value !== "object" || value === null) return [];
  return isRef(value) ? [value] : Object.values(value).flatMap(refsIn);
}

/** True for `{lid}`, the reference to an element that is created in the same batch. */
export function isRef(value: unknown): value is { readonly lid: string } {
  return isMap(value) && typeof value.lid === "string" && Object.keys(value).length === 1;
}

function typed(ref: ElementRef) {
  return { type: "elements", ...ref };
}

/** Names the things that an error of a batch is about. */
function located(error: unknown, name: (index: number, pointer: string) => string | undefined): unknown {
  if (!(error instanceof CliError)) return error;
  const details = (error.options.details ?? []).map(line =>
    line.replace(
      /^\/atomic:operations\/(\d+)(?:\/data)?(?:\/attributes)?([^:\s]*)/,
      (whole, index, pointer) => name(Number(index), pointer) ?? whole,
    ),
  );
  return new CliError(error.exit, error.message, { ...error.options, details });
}
