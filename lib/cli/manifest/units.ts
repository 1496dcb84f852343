/**
 * The entries of an entity that a manifest may own: attributes, and the members of those that are joined by key. They are compared,
 * changed and remembered one by one.
 *
 * @module
 */

import { type Attribute, answerField, resources } from "../../authoring/table/mod.ts";
import { documentDigest } from "../../fans/directory/mod.ts";
import { canonicalJson } from "../../http/mod.ts";
import type { ResourceObject } from "../frame/resources.ts";
import type { Wanted } from "./read.ts";
import { types } from "./schema.ts";

/** Most entries whose digests are kept in an annotation. */
const appliedMax = 600;

/** The two names of the right option. They are sent together, so that the server compares them. */
const answerUnits = ["correct_option", `custom_fields.${answerField}`];

/** Splits attributes into the entries that a change may name. */
export function unitsOf(kind: Wanted["kind"], attributes: Wanted["attributes"]): Map<string, unknown> {
  const table: Readonly<Record<string, Attribute>> = resources[types[kind]].attributes;
  const entries = Object.entries(attributes).flatMap(([name, value]): (readonly [string, unknown])[] => {
    const { join, default: otherwise = null } = table[name] ?? {};
    if (join === "byKey")
      return ((value ?? []) as readonly { key: string; values: unknown }[]).map(({ key, values }) => [
        `${name}.${key}`,
        values,
      ]);
    if (join === "merge") return Object.entries(value ?? {}).map(([key, each]) => [`${name}.${key}`, each]);
    return [[name, value ?? otherwise]];
  });
  return new Map(entries);
}

/** Picks what changes out of the attributes of a manifest. */
export function patchOf(
  { kind, attributes, enabledTypes }: Wanted,
  fields: readonly string[],
  remote: ResourceObject | null,
): Readonly<Record<string, unknown>> {
  const table: Readonly<Record<string, Attribute>> = resources[types[kind]].attributes;
  const changed = fields.some(field => answerUnits.includes(field)) ? [...fields, ...answerUnits] : fields;
  const isChanged = (name: string): boolean => changed.includes(name);
  const entries = Object.entries(attributes).flatMap(([name, value]): (readonly [string, unknown])[] => {
    const { join, nullable = false, default: otherwise = null } = table[name] ?? {};
    if (remote === null) return value === null ? [] : [[name, value]];
    if (join === "byKey") {
      const list = (value as readonly { key: string }[]).filter(({ key }) => isChanged(`${name}.${key}`));
      return list.length === 0 ? [] : [[name, list]];
    }
    if (join === "merge") {
      const members = Object.entries(value as object).filter(([key]) => isChanged(`${name}.${key}`));
      return members.length === 0 ? [] : [[name, Object.fromEntries(members)]];
    }
    return isChanged(name) ? [[name, value ?? (nullable ? null : otherwise)]] : [];
  });
  const hidden =
    remote !== null && enabledTypes !== null && isChanged("enabled_types") && !isChanged("app")
      ? { hidden_elements: typesOf(remote).filter(type => !enabledTypes.includes(type)) }
      : {};
  return { ...Object.fromEntries(entries), ...hidden };
}

/** Returns the content types of a project's app, used or not. */
export function typesOf({ attributes }: ResourceObject): readonly string[] {
  return [attributes.enabled_types, attributes.hidden_elements].flat() as readonly string[];
}

/** Equal values have equal texts; an empty list is like none. */
export function textOf(value: unknown): string {
  return value === undefined || (Array.isArray(value) && value.length === 0) ? "null" : canonicalJson(value);
}

function short(text: string): string {
  return documentDigest(text).slice(7, 13);
}

/** Digests of names and values, with which edits of others are found. */
export function digestsOf(units: ReadonlyMap<string, unknown>): string {
  const all = [...units].slice(0, appliedMax);
  return all.map(([name, value]) => short(name) + short(textOf(value))).join("");
}

/** Returns true if an entry is not what the digests say. */
export function isChangedElsewhere(applied: string, name: string, value: unknown): boolean {
  const known = applied.match(/.{12}/g)?.find(each => each.startsWith(short(name)));
  return known !== undefined && known.slice(6) !== short(textOf(value));
}
