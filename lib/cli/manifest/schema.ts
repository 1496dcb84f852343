/**
 * The form of manifests, which has the attributes of the table of resources.
 *
 * @module
 */

import * as v from "valibot";
import { type Attribute, resources } from "../../authoring/table/mod.ts";
import { jsonPointer } from "../../base/errors/mod.ts";
import { issueDetail } from "../../http/mod.ts";
import { fieldsOf } from "../element_content.ts";
import type { Fault } from "../elements/references.ts";

export const types = { app: "apps", project: "projects", event: "events", element: "elements" } as const;
export type EntityKind = keyof typeof types;

const keyText = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, "Expected at most 63 letters, digits, - and _"),
);
const own = { key: keyText, id: v.optional(v.string()), aliases: v.optional(v.array(keyText)) };
const ElementSchema = v.looseObject({
  ...own,
  type: v.string(),
  data: v.optional(
    v.strictObject({
      question: v.optional(v.unknown()),
      options: v.optional(v.array(v.unknown())),
      fields: v.optional(v.unknown()),
    }),
  ),
  options: v.optional(v.array(v.unknown())),
  children: v.optional(v.array(v.string())),
  publish: v.optional(v.boolean()),
});
const EventSchema = v.looseObject({ ...own, elements: v.optional(v.array(ElementSchema)) });
const ProjectSchema = v.looseObject({
  ...own,
  app: v.optional(v.string()),
  enabled_types: v.optional(v.array(v.string())),
  settings_file: v.optional(v.string()),
  events: v.optional(v.array(EventSchema)),
});
const AppSchema = v.strictObject({ key: keyText, id: v.optional(v.string()), spec_url: v.string() });
/** Validates the members that are no attributes. */
export const ManifestSchema = v.strictObject({
  version: v.literal(1),
  id: keyText,
  space: v.optional(v.string()),
  env: v.exactOptional(v.array(v.string())),
  vars: v.exactOptional(v.record(v.string(), v.unknown())),
  apps: v.optional(v.array(AppSchema)),
  projects: v.optional(v.array(ProjectSchema)),
});

/** Members of entities that are no attributes. */
export const members: Readonly<Record<EntityKind, readonly string[]>> = {
  app: ["key", "id"],
  project: ["key", "id", "aliases", "app", "enabled_types", "settings_file", "events"],
  event: ["key", "id", "aliases", "elements"],
  element: ["key", "id", "aliases", "type", "data", "question", "options", "fields", "children", "publish"],
};
export const unwritten: readonly string[] = ["content_type", "custom_fields", "offset"];

export const settingsBytesMax = 4 * 1_048_576;

export function faultOf(issue: v.BaseIssue<unknown>, at: string): Fault {
  const path = (issue.path ?? []).map(({ key }) => String(key));
  return { pointer: at + jsonPointer(...path), detail: issueDetail(issue) };
}

/** Fields may be a map, times a text. `locales` are those of the project. */
export function plainValue(
  kind: EntityKind,
  name: string,
  value: unknown,
  locales: readonly string[],
): unknown {
  if (name === "settings" && value !== null) return fieldsOf(value, "", locales);
  const isTime = kind === "event" && /^(start|end)_at$/.test(name) && typeof value === "string";
  return isTime && /(Z|[+-]\d\d:\d\d)$/i.test(value) ? Date.parse(value) / 1_000 : value;
}

export function attributeFaults(
  kind: EntityKind,
  name: string,
  attributes: Record<string, unknown>,
  pointer: string,
): readonly Fault[] {
  const table: Readonly<Record<string, Attribute>> = resources[types[kind]].attributes;
  const attribute = Object.hasOwn(table, name) ? table[name] : undefined;
  if (attribute === undefined || attribute.write === "never") return [strange(kind, pointer)];
  const value = attributes[name];
  if (value === null) {
    const isFixed = attribute.required === true || attribute.join !== undefined;
    return isFixed ? [{ pointer, detail: "Cannot be cleared" }] : [];
  }
  const isMerged = attribute.join === "merge" && typeof value === "object";
  const entries = isMerged ? Object.entries(value) : [];
  const cleared = entries.filter(([, member]) => member === null);
  const kept = isMerged ? Object.fromEntries(entries.filter(([, member]) => member !== null)) : value;
  const result = v.safeParse(attribute.schema, kept);
  if (!result.success) return result.issues.map(issue => faultOf(issue, pointer));
  attributes[name] = isMerged
    ? { ...(result.output as object), ...Object.fromEntries(cleared) }
    : result.output;
  return [];
}

/** Creates the fault of a member that does not exist. */
export function strange(kind: EntityKind, pointer: string): Fault {
  return { pointer, detail: `There is no such member of ${kind}s` };
}

export function settingsOf(text: string | null): unknown {
  if (text === null) return "There is no such file";
  try {
    const { settings }: Readonly<Record<string, Attribute>> = resources.projects.attributes;
    const result = v.safeParse(settings?.schema ?? v.never(), JSON.parse(text));
    return result.success ? result.output : `Its settings are wrong: ${issueDetail(result.issues[0])}`;
  } catch {
    return "It is no JSON";
  }
}
