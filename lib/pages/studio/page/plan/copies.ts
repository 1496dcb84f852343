/** Elements made anew: what was deleted, and copies for another show. What they say of each other then means the new ones. */

import { replaceIds, withoutMarks } from "../../../../authoring/table/copies.ts";
import {
  Batches,
  type Change,
  creationsOf,
  type NewElement,
} from "../../../../authoring/table/element_batches.ts";
import { mapTexts, tokenOf } from "../../../../authoring/table/references.ts";
import { GrandstandError } from "../../../../client/mod.ts";
import { allOf, type Resource } from "../api.ts";
import type { Item, Rundown } from "../run/rundown.ts";
import { attributesToCopy, type Inverse, type Operation } from "../undo.ts";
import type { ViewContext } from "../view.ts";

/** Most operations of a batch. */
export const operationsMax = 500;

/** Operations that create elements, those of the elements themselves first and in their order. */
export interface Additions {
  readonly operations: readonly Operation[];
  /** What each operation is about: the id of the new element, as it was given. */
  readonly ids: readonly string[];
  /** Local ids of the new elements, in their order. */
  readonly lids: readonly string[];
}

/** @throws {GrandstandError} They do not fit into one batch. */
export async function additionsOf(eventId: string, elements: readonly NewElement[]): Promise<Additions> {
  const sent: Additions[] = [];
  const batches = new Batches<Change>(new Map(), async (operations, changes) => {
    const lids = operations.flatMap(({ op, data }) => (op === "add" ? [data.lid ?? ""] : []));
    sent.push({ operations, ids: changes.map(({ id }) => id), lids });
    return [];
  });
  for (const change of creationsOf(eventId, elements).changes) await batches.push(change, change);
  await batches.flush();
  const [additions = { operations: [], ids: [], lids: [] }, ...others] = sent;
  if (others.length > 0) throw tooMany();
  return additions;
}

function tooMany(): GrandstandError {
  const message = `Choose fewer: one step makes at most ${operationsMax} changes, and all of them or none.`;
  return new GrandstandError("unprocessable", message, { status: 422 });
}

/** Reads elements with all that they have, in the order of the show. */
async function readElements(
  { api, signal }: ViewContext,
  eventId: string,
  ids: ReadonlySet<string>,
): Promise<readonly Resource[]> {
  const query = { eventId, sort: "position", "page[count]": 100 } as const;
  const all = await allOf(api.control.listEventElements(query, { signal }));
  return all.filter(({ id }) => ids.has(id));
}

interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly parentOf: (id: string) => string | null;
}

/** Returns elements that are to be made like others. Ids of these become those of the new ones. */
function copiesOf(elements: readonly Resource[], { from, to, parentOf }: CopyOptions): readonly NewElement[] {
  const ids = new Set(elements.map(({ id }) => id));
  const idOf = (id: string): string | undefined => (ids.has(id) ? tokenOf(id) : id === from ? to : undefined);
  return elements.map(({ id, attributes }) => {
    const parent = parentOf(id);
    const isInside = parent !== null && (ids.has(parent) || from === to);
    return {
      id: tokenOf(id),
      attributes: mapTexts(attributesToCopy(attributes), text =>
        replaceIds(text, idOf),
      ) as Resource["attributes"],
      parent: !isInside ? null : ids.has(parent) ? tokenOf(parent) : parent,
      isPublished: false,
    };
  });
}

/** Returns what makes deleted elements again, at their places and with what was inside. Call it before they are deleted. */
export async function restoring(
  context: ViewContext,
  rundown: Rundown,
  ids: readonly string[],
): Promise<() => Promise<Inverse>> {
  const { eventId } = rundown;
  const removed = new Set(ids);
  const elements = await readElements(context, eventId, removed);
  const parentOf = (id: string): string | null => rundown.item(id)?.parent ?? null;
  const { operations, lids } = await additionsOf(
    eventId,
    copiesOf(elements, { from: eventId, to: eventId, parentOf }),
  );
  const inside = rundown.order().flatMap(id => {
    const parent = parentOf(id);
    return removed.has(id) || parent === null || !removed.has(parent) ? [] : [{ id, parent }];
  });
  if (operations.length + inside.length + 1 > operationsMax) throw tooMany();
  const before = rundown.order();
  const lidOf = new Map(elements.map(({ id }, index) => [id, lids[index] ?? ""]));
  return async () => {
    const query = { eventId, sort: "position", "page[count]": 100, "fields[elements]": "name" } as const;
    const order: { readonly type: "elements"; readonly id?: string; readonly lid?: string }[] = [];
    for await (const { id } of context.api.control.listEventElements(query))
      order.push({ type: "elements", id });
    const there = new Set(order.map(({ id }) => id));
    const back = inside.filter(({ id }) => there.has(id));
    for (const { id } of elements) {
      const known = before.slice(0, before.indexOf(id)).map(each => lidOf.get(each) ?? each);
      const at = order.findLastIndex(each => known.includes(each.id ?? each.lid ?? ""));
      order.splice(at + 1, 0, { type: "elements", lid: lidOf.get(id) ?? "" });
    }
    await rundown.readEvent();
    return withoutPassedTimes(rundown, [
      ...operations,
      ...back.map(({ id, parent }): Operation => {
        const relationships = { parent: { data: { type: "elements", lid: lidOf.get(parent) } } };
        return { op: "update", data: { type: "elements", id, relationships } };
      }),
      { op: "update", ref: { type: "events", id: eventId, relationship: "elements" }, data: order },
    ]);
  };
}

/** Returns operations that let no element go on air at once, as its time has passed: it is taken by hand instead. */
export function withoutPassedTimes(
  rundown: Pick<Rundown, "byHandIfPassed">,
  operations: readonly Operation[],
): Inverse {
  let count = 0;
  const changed = operations.map((operation): Operation => {
    const { attributes } = (operation.data ?? {}) as Partial<Item>;
    const timely = attributes === undefined ? attributes : rundown.byHandIfPassed(attributes);
    if (timely === attributes) return operation;
    count += 1;
    return { ...operation, data: { ...operation.data, attributes: timely } };
  });
  return {
    operations: changed,
    note: count === 0 ? "" : `By hand now, as its time has passed: ${count}.`,
  };
}

/** Returns operations as they fit the time at which they are sent. */
export function inTime(rundown: Rundown, operations: readonly Operation[]): () => Promise<Inverse> {
  return async () => {
    await rundown.readEvent();
    return withoutPassedTimes(rundown, operations);
  };
}

/** Returns what copies elements, with what is inside, into another event as drafts. @throws {GrandstandError} */
export async function copying(
  context: ViewContext,
  rundown: Rundown,
  { ids, event }: { readonly ids: readonly string[]; readonly event: Resource },
): Promise<Additions> {
  const chosen = new Set(ids);
  const inside = rundown.order().filter(id => chosen.has(rundown.item(id)?.parent ?? ""));
  const elements = await readElements(context, rundown.eventId, new Set([...ids, ...inside]));
  // A timecode of a show that runs may have passed: fans would see the copy at once.
  const isRunning = event.attributes.state === "current" || event.attributes.state === "on_demand";
  const drafts = elements.map(element => {
    const attributes = withoutMarks(element.attributes);
    return { ...element, attributes: isRunning ? { ...attributes, start_mode: "manual" } : attributes };
  });
  const parentOf = (id: string): Item["parent"] => rundown.item(id)?.parent ?? null;
  return await additionsOf(event.id, copiesOf(drafts, { from: rundown.eventId, to: event.id, parentOf }));
}
