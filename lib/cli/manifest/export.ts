/**
 * Writes a project as a manifest. Ids stand beside the keys, so that a plan right after finds everything as it should be.
 */

import { dataOf, type ElementContent, plainOf } from "../../authoring/table/element_content.ts";
import { resources } from "../../authoring/table/mod.ts";
import { mapTexts, written } from "../../authoring/table/references.ts";
import { mapConcurrent } from "../../storage/background/mod.ts";
import { namesOf } from "../elements/file.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import { attributesTable } from "./read.ts";
import { annotationOf, keyAnnotation } from "./remote.ts";

type Plain = Record<string, unknown>;

interface Exported {
  readonly document: Plain;
  readonly settings: readonly unknown[];
  readonly events: number;
  readonly elements: number;
}

const readsMax = 6;
const special = [
  "annotations",
  "settings",
  "hidden_elements",
  "content_type",
  "question",
  "custom_fields",
  "offset",
];

/** Reads a project with its events and elements. Revoked elements are left out. */
export async function exportProject(id: string, api: ControlApi): Promise<Exported> {
  const target = { kind: "project", id } as const;
  const { data: project, included } = await api.read(target, { include: "app" });
  const events = (await api.all(pathOf(target, "events"), { sort: "start_at", "fields[events]": fieldsOf() }))
    .data;
  const elements = await mapConcurrent(events, readsMax, async event => {
    const list = await api.all(pathOf({ kind: "event", id: event.id }, "elements"), { sort: "position" });
    return list.data.filter(({ attributes }) => attributes.state !== "revoked");
  });
  const manifestId =
    annotationOf(project, keyAnnotation)?.split("/")[0] ?? slug(project.attributes.name, "show");
  const key = keysOf([project], manifestId, "project").get(project.id) ?? "project";
  const eventKeys = keysOf(events, manifestId, "event");
  const app = included("apps", relation(project, "app"));
  const appKey = slug(app?.attributes.name, "app");
  const hidden = project.attributes.hidden_elements as readonly string[];
  const document = {
    version: 1,
    id: manifestId,
    space: relation(project, "space"),
    ...(app === undefined
      ? {}
      : { apps: [{ key: appKey, id: app.id, spec_url: written(String(app.attributes.spec_url)) }] }),
    projects: [
      {
        key,
        id,
        ...(app === undefined ? {} : { app: `{{${appKey}}}` }),
        ...(hidden.length === 0 ? {} : { enabled_types: project.attributes.enabled_types }),
        ...plainAttributes("project", project, eventKeys),
        events: events.map((event, index) => {
          const own = elements[index] ?? [];
          const keys = keysOf(own, manifestId, "element");
          // The nearest key counts.
          const taken = new Set(keys.values());
          const names = new Map([...eventKeys].filter(([, name]) => !taken.has(name)).concat([...keys]));
          return {
            key: eventKeys.get(event.id),
            id: event.id,
            ...plainAttributes("event", event, names),
            elements: plainElements(own, keys, names),
          };
        }),
      },
    ],
  };
  const settings = project.attributes.settings as readonly unknown[];
  return { document, settings, events: events.length, elements: elements.flat().length };
}

/** Names all attributes of events, large ones too. */
function fieldsOf(): string {
  return [...Object.keys(resources.events.attributes), "project"].join(",");
}

function plainElements(
  elements: readonly ResourceObject[],
  keys: ReadonlyMap<string, string>,
  names: ReadonlyMap<string, string>,
): readonly Plain[] {
  return elements.map(element => {
    const { content_type: type, published_at } = element.attributes;
    const children = elements.filter(each => relation(each, "parent") === element.id);
    const data = dataOf(element.attributes as ElementContent);
    return {
      key: keys.get(element.id),
      id: element.id,
      type,
      ...plainAttributes("element", element, names),
      ...(typeof published_at === "number" ? { publish: true } : {}),
      ...(Object.keys(data).length === 0 ? {} : { data: withReferences(data, names) }),
      ...(children.length === 0 ? {} : { children: children.map(({ id }) => `{{${keys.get(id)}}}`) }),
    };
  });
}

function withReferences(value: unknown, keys: ReadonlyMap<string, string>): unknown {
  return mapTexts(value, text => written(text, keys));
}

/** Returns the attributes that somebody wrote: those that are not what they would be anyway. */
function plainAttributes(
  kind: "project" | "event" | "element",
  { attributes }: ResourceObject,
  names: ReadonlyMap<string, string>,
): Plain {
  const table = attributesTable(kind);
  const { state, start_mode, end_mode } = attributes;
  const isOver = state === "on_demand" || state === "past";
  const isLeftOut = (name: string): boolean =>
    special.includes(name) ||
    (kind === "event" && name === "start_at" && start_mode !== "clock") ||
    (name === "end_at" && (end_mode !== "scheduled" || isOver));
  const written = Object.entries(table).filter(([name, { write, default: otherwise = null }]) => {
    const value = attributes[name] ?? null;
    return write !== "never" && !isLeftOut(name) && JSON.stringify(value) !== JSON.stringify(otherwise);
  });
  const plain = Object.fromEntries(
    written.map(([name]) => [
      name,
      /^(start|end)_at$/.test(name) ? isoOf(attributes[name]) : attributes[name],
    ]),
  );
  const notes = Object.entries((attributes.annotations ?? {}) as Plain).filter(
    ([key]) => !key.startsWith("manifest/"),
  );
  const settings = kind === "event" ? (attributes.settings as Parameters<typeof plainOf>[0]) : [];
  return withReferences(
    {
      ...plain,
      ...(settings.length === 0 ? {} : { settings: plainOf(settings) }),
      ...(notes.length === 0 ? {} : { annotations: Object.fromEntries(notes) }),
    },
    names,
  ) as Plain;
}

function isoOf(seconds: unknown): string {
  return new Date(Number(seconds) * 1_000).toISOString().replace(".000Z", "Z");
}

/** Returns a key for each entity: that of the manifest which made it, else one made of its name. */
function keysOf(
  entities: readonly ResourceObject[],
  manifestId: string,
  otherwise: string,
): ReadonlyMap<string, string> {
  return namesOf(entities, one => {
    const mark = annotationOf(one, keyAnnotation) ?? "";
    const marked = mark.startsWith(`${manifestId}/`) ? mark.split("/").at(-1) : undefined;
    const { name, content_type: type = otherwise } = one.attributes;
    return marked ?? slug(name, String(type));
  });
}

function slug(text: unknown, otherwise: string): string {
  const words = [text ?? "", otherwise, "one"].map(each => String(each).normalize("NFKD").toLowerCase());
  const keys = words.map(each =>
    each
      .replace(/[^a-z0-9]+/g, "-")
      .slice(0, 40)
      .replace(/^-+|-+$/g, ""),
  );
  return keys.find(key => key !== "") ?? otherwise;
}
