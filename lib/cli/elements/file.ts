/** Elements of an event as the items of a file, and what a file would change. */

import type { Attributes } from "../../authoring/table/element_batches.ts";
import { dataOf, type ElementContent } from "../../authoring/table/element_content.ts";
import type { FileElement } from "../../authoring/table/element_file.ts";
import { elementAttributes, withoutMarks } from "../../authoring/table/mod.ts";
import { eventName, mapTexts, replaceTokens, written } from "../../authoring/table/references.ts";
import { canonicalJson } from "../../http/requests/body.ts";
import { type ResourceObject, relation } from "../frame/resources.ts";

/** Returns the attributes of an element that a copy of it takes, without those that are at their default. */
export function copiedAttributes({ attributes }: ResourceObject): Attributes {
  const isWritten = ([name, value]: readonly [string, unknown]): boolean => {
    const definition = elementAttributes[name];
    if (definition === undefined || definition.write === "never" || name === "offset") return false;
    return canonicalJson(value) !== canonicalJson(definition.default ?? null);
  };
  return Object.fromEntries(Object.entries(withoutMarks(attributes)).filter(isWritten));
}

/** Returns a distinct name for each resource, by id: the wanted one, with a number where it is taken. */
export function namesOf(
  all: readonly ResourceObject[],
  wanted: (one: ResourceObject) => string,
): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  return new Map(
    all.map(one => {
      const base = wanted(one);
      let name = base;
      for (let nth = 2; taken.has(name); nth++) name = `${base}-${nth}`;
      taken.add(name);
      return [one.id, name];
    }),
  );
}

/** Writes the elements of an event as items of a file, in which distinct names stand for ids. */
export function itemsOf(eventId: string, elements: readonly ResourceObject[]): readonly Attributes[] {
  const own = namesOf(elements, ({ attributes: { name, content_type: type } }) => String(name || type));
  const isTaken = [...own.values()].includes(eventName);
  const names = new Map(isTaken ? own : [...own, [eventId, eventName]]);
  return elements.map(element => {
    const { content_type: type, name: _, question, custom_fields, ...others } = copiedAttributes(element);
    const children = elements.filter(each => relation(each, "parent") === element.id);
    const contents = dataOf({ question, custom_fields } as ElementContent);
    return {
      type,
      name: names.get(element.id),
      ...(mapTexts({ ...others, ...contents }, text => written(text, names)) as object),
      ...(children.length === 0 ? {} : { children: children.map(({ id }) => written(id, names)) }),
    };
  });
}

/**
 * Returns the attributes of an element of a file, in which ids stand for elements that exist, and the names of those that the
 * element of the same name has not; `parent` where its wrapper is another.
 */
export function compared(
  { name: own, attributes: given, parent }: FileElement,
  byName: ReadonlyMap<string, ResourceObject>,
  idOf: (name: string) => string,
): { readonly attributes: Attributes; readonly changed: readonly string[] } {
  const attributes = mapTexts(given, text => replaceTokens(text, idOf)) as Attributes;
  const remote = byName.get(own);
  if (remote === undefined) return { attributes, changed: [] };
  const changed = Object.keys(attributes).filter(name => {
    const value = attributes[name];
    return canonicalJson(joined(name, value, null)) !== canonicalJson(joined(name, value, remote));
  });
  const isMoved = parent !== undefined && idOf(parent) !== relation(remote, "parent");
  return { attributes, changed: isMoved ? [...changed, "parent"] : changed };
}

/** Returns a value by keys; of the remote element, the keys that the value of the file has. */
function joined(name: string, value: unknown, remote: ResourceObject | null): unknown {
  const other = remote === null ? value : remote.attributes[name];
  if (!["question", "custom_fields", "annotations"].includes(name)) return other;
  const map = (from: unknown): Attributes =>
    Array.isArray(from)
      ? Object.fromEntries(from.map(({ key, values }) => [key, values]))
      : ((from ?? {}) as Attributes);
  const mine = map(value);
  return Object.fromEntries(Object.keys(mine).map(key => [key, map(other)[key] ?? null]));
}
