/**
 * Elements in files: a list of maps with `type`, `name`, contents as people write them, and other attributes by their names.
 * `{{name}}` in a text stands for the id of another element, `{{event}}` for that of the event unless an element has the name, and
 * `\{{name}}` for that text. `parent`, or `children` of the wrapper, say what shows an element.
 */

import * as v from "valibot";
import { jsonPointer } from "../../base/errors/mod.ts";
import { isMembers } from "../../base/json/mod.ts";
import { suggestion } from "../../base/text/suggest.ts";
import { fieldErrors } from "../../http/requests/validate.ts";
import type { Attributes } from "./element_batches.ts";
import { attributesOf, type ElementContent } from "./element_content.ts";
import { eventName, type Fault, mapTexts, referenceOf, replaceReferences, tokenOf } from "./references.ts";
import { elementAttributes } from "./table.ts";

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
  if (!isMembers(item)) return { attributes: {}, faults: [fault("", "Expected an element, as a map")] };
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
    for (const error of fieldErrors(v.safeParse(definition.schema, value).issues, jsonPointer(each))) {
      faults.push({ pointer: filePointer(pointer, attributes, error.pointer), detail: error.detail });
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
    const { name } = isMembers(item) ? item : {};
    if (typeof name !== "string" || name === "") {
      if (isMembers(item))
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
    if (!isMembers(item)) continue;
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
