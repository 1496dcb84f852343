/**
 * Elements in files: a list of maps with `type`, `name`, contents as people write them, and other attributes by their names.
 * `{{name}}` in a text stands for the id of another element, `{{event}}` for that of the event unless an element has the name, and
 * `\{{name}}` for that text. `parent`, or `children` of the wrapper, say what shows an element.
 */

import * as v from "valibot";
import { elementAttributes, withoutMarks } from "../../authoring/table/mod.ts";
import { jsonPointer } from "../../base/errors/mod.ts";
import { suggestion } from "../../base/text/suggest.ts";
import { canonicalJson } from "../../http/requests/body.ts";
import { issueDetail } from "../../http/requests/validate.ts";
import { attributesOf, dataOf, type ElementContent } from "../element_content.ts";
import { type ResourceObject, relation } from "../frame/resources.ts";
import { isMap } from "../frame/text.ts";
import type { Attributes } from "./batches.ts";
import {
  eventName,
  type Fault,
  mapTexts,
  referenceOf,
  replaceReferences,
  replaceTokens,
  tokenOf,
  written,
} from "./references.ts";

/** An element of a file. Its attributes are those of the API, and tokens of names stand for ids. */
export interface FileElement {
  readonly pointer: string;
  readonly name: string;
  readonly attributes: Attributes;
  /** Name of the wrapper; undefined where the file says none. */
  readonly parent: string | undefined;
}

const own = ["type", "name", "question", "options", "fields", "parent", "children"];
/** Attributes that files write by their names. `offset` is another name of `start_offset`. */
const plainNames = Object.keys(elementAttributes).filter(
  name =>
    elementAttributes[name]?.write !== "never" &&
    !["content_type", "name", "question", "custom_fields", "offset"].includes(name),
);
const known = [...own, ...plainNames];

export function attributesOfItem(
  item: unknown,
  pointer: string,
  locales: readonly string[],
): { readonly attributes: Attributes; readonly faults: readonly Fault[] } {
  const fault = (at: string, detail: string): Fault => ({ pointer: pointer + at, detail });
  if (!isMap(item)) return { attributes: {}, faults: [fault("", "Expected an element, as a map")] };
  const faults = Object.keys(item)
    .filter(name => !known.includes(name))
    .map(name => fault(jsonPointer(name), `There is no member ${name}.${suggestion(name, known)}`));
  if (item.options !== undefined && !Array.isArray(item.options)) {
    return { attributes: {}, faults: [...faults, fault("/options", "Expected a list")] };
  }
  const { type, name = "" } = item;
  const plain = plainNames.flatMap(each => (item[each] === undefined ? [] : [[each, item[each]] as const]));
  const attributes: Attributes = {
    content_type: type,
    name,
    ...Object.fromEntries(plain),
    ...attributesOf(item as Parameters<typeof attributesOf>[0], locales),
  };
  for (const [each, value] of Object.entries(attributes)) {
    const definition = elementAttributes[each];
    if (definition === undefined || (value === null && definition.nullable === true)) continue;
    const { issues = [] } = v.safeParse(definition.schema, value);
    for (const issue of issues) {
      const path = [each, ...(issue.path ?? []).map(({ key }) => String(key))];
      faults.push({
        pointer: filePointer(pointer, attributes, jsonPointer(...path)),
        detail: issueDetail(issue),
      });
    }
  }
  return { attributes, faults };
}

export function filePointer(pointer: string, attributes: Attributes, inAttributes: string): string {
  const [, name = "", ...path] = inAttributes.split("/");
  const { question, custom_fields: custom } = attributes as ElementContent;
  const keyOf = (fields: ElementContent["custom_fields"], index = ""): string =>
    jsonPointer(String(fields?.[Number(index)]?.key ?? ""));
  const [part, index = "", , inner] = path;
  if (name === "content_type") return `${pointer}/type`;
  if (name === "relationships") return `${pointer}/${part}`;
  if (name === "custom_fields") return `${pointer}/fields${keyOf(custom, part)}`;
  if (name !== "question") return pointer + inAttributes;
  if (part !== "options") return `${pointer}/question${keyOf(question?.fields, index)}`;
  const option = question?.options?.[Number(index)];
  return `${pointer}/options/${index}${inner === undefined ? "" : keyOf(option?.fields, inner)}`;
}

/** Reads a file of elements. `others` are the names of elements that the event has already, `locales` those of its project. */
export function elementsOfFile(
  document: unknown,
  others: ReadonlySet<string>,
  locales: readonly string[],
): { readonly elements: readonly FileElement[]; readonly faults: readonly Fault[] } {
  if (!Array.isArray(document)) {
    return { elements: [], faults: [{ pointer: "", detail: "Expected a list of elements" }] };
  }
  const names = new Set<string>();
  const faults: Fault[] = [];
  for (const [index, item] of document.entries()) {
    const { name } = isMap(item) ? item : {};
    if (typeof name !== "string" || name === "") {
      if (isMap(item))
        faults.push({ pointer: `/${index}`, detail: "Expected a name, by which the element is known" });
    } else if (names.has(name)) {
      faults.push({ pointer: `/${index}/name`, detail: `Expected another name: ${name} is taken` });
    } else names.add(name);
  }
  const innerOf = (text: unknown): string => String(text).replace(/^\{\{(.*)\}\}$/s, "$1");
  const knownIn = (text: unknown): string | undefined =>
    [innerOf(text), innerOf(text).trim()].find(name => names.has(name) || others.has(name));
  /** A name in the text of a reference; what nobody has is a fault. */
  const find = (text: unknown, pointer: string, hint = ""): string | undefined => {
    const found = knownIn(text);
    if (found === undefined)
      faults.push({ pointer, detail: `No element is named ${innerOf(text).trim()}${hint}` });
    return found;
  };
  /** A name in contents, which may name the event too. */
  const named: FindName = (text, pointer) =>
    innerOf(text).trim() === eventName
      ? (knownIn(text) ?? eventName)
      : find(text, pointer, ". Write \\{{ for braces");
  const findInFile = (text: unknown, pointer: string): string | undefined => {
    const name = find(text, pointer);
    if (name === undefined || names.has(name)) return name;
    faults.push({ pointer, detail: `${name} is in the event alone: add it to the file` });
    return undefined;
  };
  const parents = parentsOf(document, { find, findInFile }, faults);
  const elements = document.map((item: unknown, index): FileElement => {
    const pointer = `/${index}`;
    const read = attributesOfItem(item, pointer, locales);
    faults.push(...read.faults);
    const { content_type, name: given, ...rest } = read.attributes;
    const linked = mapTexts(rest, (text, at) => {
      const place = filePointer(pointer, read.attributes, at);
      const token = (reference: string): string => tokenOf(named(reference, place) ?? "");
      // A name may have braces of its own.
      const isNamed = text.startsWith("{{") && text.endsWith("}}") && knownIn(text) !== undefined;
      if (isNamed || referenceOf(text) !== null) return token(text);
      return replaceReferences(text, name => token(`{{${name}}}`), [...names, ...others]);
    });
    const name = String(given);
    const attributes = { content_type, name: given, ...(linked as object) };
    return { pointer, name, attributes, parent: parents.get(name) };
  });
  return { elements, faults };
}

type FindName = (text: unknown, pointer: string) => string | undefined;

function parentsOf(
  items: readonly unknown[],
  { find, findInFile }: Readonly<Record<"find" | "findInFile", FindName>>,
  faults: Fault[],
): ReadonlyMap<string, string> {
  const parents = new Map<string, string>();
  const note = (child: string | undefined, parent: string | undefined, pointer: string): void => {
    if (child === undefined || parent === undefined) return;
    const before = parents.get(child);
    if (before !== undefined && before !== parent)
      faults.push({ pointer, detail: `${child} is a child of ${before} already` });
    else parents.set(child, parent);
  };
  for (const [index, item] of items.entries()) {
    if (!isMap(item)) continue;
    const { name, parent, children } = item;
    const at = `/${index}`;
    if (parent !== undefined) note(String(name), find(parent, `${at}/parent`), `${at}/parent`);
    if (children === undefined) continue;
    if (!Array.isArray(children))
      faults.push({ pointer: `${at}/children`, detail: "Expected a list of names" });
    else
      for (const [nth, child] of children.entries()) {
        const place = `${at}/children/${nth}`;
        note(findInFile(child, place), String(name), place);
      }
  }
  return parents;
}

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
