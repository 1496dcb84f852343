/** Commands about elements. */

import { replaceIds } from "../../authoring/table/copies.ts";
import {
  type Attributes,
  type Change,
  creationsOf,
  type NewElement,
} from "../../authoring/table/element_batches.ts";
import { mapTexts, replaceReferences, tokenOf } from "../../authoring/table/references.ts";
import { isMembers, parsedJson } from "../../base/json/mod.ts";
import { id, pathOrText } from "../frame/checks.ts";
import type { CliContext, CliInput, CliResult, CommandSpec } from "../frame/command.ts";
import { exits, invalid, missingFile, wrongUsage } from "../frame/errors.ts";
import { eventFlag, idFlag, requiredId } from "../frame/flags.ts";
import { record, rows } from "../frame/output.ts";
import { pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import {
  applyElements,
  exportElements,
  isDraft,
  isTimed,
  localesFor,
  publishFlag,
  readFile,
  requireActive,
} from "./apply.ts";
import { listElements, sendChanges } from "./batches.ts";
import {
  type Item,
  listTemplates,
  showSchema,
  showTemplate,
  templateOf,
  typeOf,
  variablesIn,
} from "./types.ts";

const createElement: CommandSpec = {
  words: ["elements", "create"],
  summary: "Create an element from a template, a file and values",
  flags: {
    event: eventFlag,
    type: {
      value: "content type",
      description: "Its content type, such as poll; otherwise that of the file",
    },
    template: { description: "Begin with the template that the app of the project has for the type" },
    var: {
      value: "path=value",
      description:
        "Set a variable of the template, or a member such as fields.title; =@path reads a file, =@@ begins a text with @",
      repeated: true,
    },
    file: { value: "path", description: "YAML or JSON of the element; - reads stdin" },
  },
  changes: "Creates an element, as a draft",
  examples: [
    "elements create --event $EVENT --type message --var fields.body=Hello",
    "elements create --event $EVENT --type poll --template",
    "elements create --event $EVENT --file poll.yaml",
  ],
  output: record({ id: "text", type: "text", name: "text", state: "text" }),
  exits: { [exits.invalid]: "The element has errors, or a {{…}} is left" },
  async run(input, context) {
    const { event = "" } = input.flags;
    const written = await itemOf(input, context);
    const left = variablesIn(written);
    if (left.length > 0) {
      throw invalid(`Nothing is set for ${left.join(", ")}`, {
        hint: `Write \\{{ for braces, or set it with ${left.map(name => `--var ${name}=…`).join(" ")}`,
      });
    }
    const item = mapTexts(written, text => replaceReferences(text, () => ""));
    const { attributesOfItem } = await import("../../authoring/table/element_file.ts");
    const { attributes, faults } = attributesOfItem(item, "", await localesFor(item, event, context));
    if (faults.length > 0) {
      const details = faults.map(({ pointer, detail }) => `${pointer || "/"}: ${detail}`);
      throw invalid("The element has errors", { details });
    }
    const element = await (await context.api()).create("elements", attributes, { kind: "event", id: event });
    const { name, state, content_type: type } = element.attributes;
    return { data: { id: element.id, type, name, state } };
  },
};

async function itemOf({ flags, lists }: CliInput, context: CliContext): Promise<Item> {
  const { event = "", file: path, template } = flags;
  const given = path === undefined ? {} : (await readFile(context, path)).document;
  if (!isMembers(given)) throw invalid(`${path} has to be one element, as a map`);
  const type = flags.type ?? given.type;
  if (typeof type !== "string") throw wrongUsage("elements create needs --type, or a file with a type");
  let item: Item = given;
  if (template !== undefined) {
    const { data } = await (await context.api()).read({ kind: "event", id: event });
    item = merged(templateOf(await typeOf(context, type, relation(data, "project") ?? "")), given) as Item;
  }
  item = { ...item, type };
  for (const pair of lists.var ?? []) item = await withVariable(item, pair, context);
  return item;
}

/** Sets a variable where there is one of the name, else the member at a path. */
async function withVariable(item: Item, pair: string, { files }: CliContext): Promise<Item> {
  const [, name = "", given = ""] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
  if (name === "") throw wrongUsage("--var must be path=value");
  const read = pathOrText(given);
  const text = "path" in read ? await files.readText(read.path, 1_048_576) : read.text;
  if (text === null) throw missingFile(given.slice(1));
  const json = given.startsWith("@") ? undefined : parsedJson(text);
  const value = json === undefined ? text : json;
  if (!variablesIn(item).includes(name)) return withMember(item, name.split("."), value) as Item;
  const pattern = new RegExp(
    `(?<=(?<!\\\\)(?:\\\\\\\\)*)\\{\\{\\s*${name.replace(/[^\w-]/g, "\\$&")}\\s*\\}\\}`,
    "g",
  );
  return mapTexts(item, (part, _, isName) =>
    !isName && part !== "" && part.replace(pattern, "") === "" ? value : part.replace(pattern, () => text),
  ) as Item;
}

function withMember(target: unknown, [key = "", ...path]: readonly string[], value: unknown): unknown {
  const inner = (before: unknown): unknown => (path.length === 0 ? value : withMember(before, path, value));
  if (Array.isArray(target) && /^\d{1,3}$/.test(key) && Number(key) <= target.length) {
    return Number(key) === target.length
      ? [...target, inner(undefined)]
      : target.with(Number(key), inner(target[Number(key)]));
  }
  const map = isMembers(target) ? target : {};
  return { ...map, [key]: inner(Object.hasOwn(map, key) ? map[key] : undefined) };
}

const list: CommandSpec = {
  words: ["elements", "list"],
  summary: "List the elements of an event in their order",
  flags: { event: eventFlag },
  examples: ["elements list --event $EVENT"],
  output: rows({
    position: ["#", "whole"],
    id: "text",
    type: "text",
    name: "text",
    state: "text",
    start_offset: ["OFFSET", "whole?"],
    parent: "text?",
  }),
  async run({ flags: { event = "" } }, { api, terminal }) {
    const elements = await listElements(await api(), event);
    const data = elements.map(element => {
      const { position, content_type: type, name, state, start_offset: at } = element.attributes;
      const parent = relation(element, "parent");
      const offset = isTimed(element) ? Number(at) : null;
      return { position: Number(position), id: element.id, type, name, state, start_offset: offset, parent };
    });
    if (!terminal.isTerminal.stdout) return { data };
    const columns = ["#", "ID", "TYPE", "NAME", "STATE", "OFFSET", "PARENT"];
    const lines = data.map(({ position, id, type, name, state, start_offset: at, parent }) =>
      [position, id, type, parent === null ? name : `  ${name}`, state, at ?? "", parent ?? ""].map(String),
    );
    return { data, shown: { columns, rows: lines } };
  },
};

const publish: CommandSpec = {
  words: ["elements", "publish"],
  summary: "Publish an element, or all drafts of an event",
  args: [{ name: "id", description: "The element", optional: true, check: id }],
  flags: {
    event: idFlag("Publish all drafts of this event, children before wrappers"),
    "dry-run": { description: "Ask the server whether it would, and change nothing" },
  },
  changes: "Publishes elements, all or none of each 500",
  examples: ["elements publish --event $EVENT", "elements publish $DRAFT"],
  requests: 3,
  output: rows({ level: "whole", id: "text", type: "text", result: "text" }),
  exits: {
    [exits.ok]: "Published, or nothing to publish",
    [exits.conflict]: "The event is not running, or a child of the wrapper is not published",
  },
  async run({ args: [elementId], flags: { event, "dry-run": dry } }, context) {
    if ((elementId === undefined) === (event === undefined)) {
      throw wrongUsage("elements publish needs either an id or --event");
    }
    const isDryRun = dry !== undefined;
    return elementId === undefined
      ? await publishAll(context, event ?? "", isDryRun)
      : await publishOne(context, elementId, isDryRun);
  },
};

async function publishOne(context: CliContext, elementId: string, isDryRun: boolean): Promise<CliResult> {
  const api = await context.api();
  const within = { kind: "element", id: elementId } as const;
  const { data: element, included } = await api.read(within, { include: "event" });
  const { state } = element.attributes;
  if (!isDraft(element) && state !== "future") return { data: [rowOf(element, `already ${state}`)] };
  const event = included("events", relation(element, "event"));
  if (event !== undefined) requireActive(event);
  await api.change(within, { action: "publish" }, { isDryRun });
  return { data: [rowOf(element, isDryRun ? "would be published" : "published")] };
}

async function publishAll(context: CliContext, eventId: string, isDryRun: boolean): Promise<CliResult> {
  const api = await context.api();
  const within = { kind: "event", id: eventId } as const;
  const { data: event } = await api.read(within);
  const all = await listElements(api, eventId);
  const drafts = all.filter(isDraft);
  if (drafts.length > 0) requireActive(event);
  const isWaiting = (wrapper: ResourceObject): boolean =>
    all.some(child => relation(child, "parent") === wrapper.id && child.attributes.state === "future");
  const wrappers = new Set(all.map(child => relation(child, "parent")));
  const ready = drafts.filter(element => !isWaiting(element));
  const [first, last] = [false, true].map(isWrapper =>
    ready.filter(({ id }) => wrappers.has(id) === isWrapper),
  );
  const ordered = [...(first ?? []), ...(last ?? [])];
  const changes = ordered.map(({ id }): Change => ({ op: "update", id, attributes: { action: "publish" } }));
  const names = new Map(drafts.map(({ id, attributes }) => [id, `${attributes.name || "no name"} (${id})`]));
  await sendChanges(context, changes, {
    within,
    isDryRun,
    where: ({ id }, pointer) => `${names.get(id)}${pointer}`,
  });
  const waiting = drafts.filter(isWaiting);
  const data = [
    ...ordered.map(element => rowOf(element, isDryRun ? "would be published" : "published")),
    ...waiting.map(element => rowOf(element, "waits for scheduled children")),
  ];
  return { data, notes: data.length === 0 ? ["Nothing to publish"] : [] };
}

function rowOf(element: ResourceObject, result: string) {
  const { id, attributes } = element;
  const level = relation(element, "parent") === null ? 0 : 1;
  return { level, id, type: attributes.content_type, result };
}

function merged(below: unknown, above: unknown): unknown {
  if (!isMembers(below) || !isMembers(above)) return above;
  const names = Object.keys(above).map(name => [
    name,
    Object.hasOwn(below, name) ? merged(below[name], above[name]) : above[name],
  ]);
  return { ...below, ...Object.fromEntries(names) };
}

const output = rows({ source: "text", type: "text", id: ["NEW_ID", "text"] });
const copyExits = {
  [exits.conflict]: "The event is not running, so that nothing can be published",
  [exits.invalid]: "A content type is unknown, or the project of the event does not use it",
};
const changes = "Creates elements: all or none of each 500";

const cloneFrom: CommandSpec = {
  words: ["elements", "clone-from"],
  summary: "Copy the elements of an event into another one",
  flags: {
    "src-event": requiredId("The event that has them"),
    "dst-event": requiredId("The event that gets them"),
    include: { value: "types", description: "Only these content types, separated by commas" },
    exclude: { value: "types", description: "Not these content types, separated by commas" },
    publish: publishFlag,
  },
  changes,
  examples: [
    "elements clone-from --src-event $EVENT --dst-event $OTHER_EVENT",
    "elements clone-from --src-event $EVENT --dst-event $OTHER_EVENT --include poll,quiz",
  ],
  requests: 3,
  output,
  exits: copyExits,
  async run({ flags }, context) {
    const { "src-event": source = "", "dst-event": target = "" } = flags;
    const api = await context.api();
    const all = await listElements(api, source);
    const types = new Set(all.map(typeNameOf));
    const named = (flag: string): readonly string[] | undefined => flags[flag]?.split(",");
    const [include, exclude = []] = [named("include"), named("exclude")];
    const unknown = [...(include ?? []), ...exclude].filter(type => !types.has(type));
    if (unknown.length > 0) {
      throw invalid(`The event has no elements of ${unknown.join(", ")}`, {
        hint: `It has ${[...types].join(", ") || "none"}`,
      });
    }
    const chosen = all.filter(
      element => include?.includes(typeNameOf(element)) !== false && !exclude.includes(typeNameOf(element)),
    );
    return await copyInto(context, target, chosen, { publishes: "publish" in flags, all });
  },
};

const cloneGroup: CommandSpec = {
  words: ["elements", "clone-group"],
  summary: "Copy a wrapper with its children into an event",
  flags: {
    wrapper: requiredId("The wrapper"),
    "to-event": requiredId("The event that gets them; it may be that of the wrapper"),
    publish: publishFlag,
  },
  changes,
  examples: ["elements clone-group --wrapper $WRAPPER --to-event $OTHER_EVENT"],
  requests: 4,
  output,
  exits: copyExits,
  async run({ flags }, context) {
    const { wrapper: wrapperId = "", "to-event": target = "" } = flags;
    const api = await context.api();
    const within = { kind: "element", id: wrapperId } as const;
    const { data: wrapper, included } = await api.read(within, { include: "event" });
    const source = relation(wrapper, "event");
    const all = await listElements(api, source ?? "");
    const chosen = all.filter(
      element => element.id === wrapperId || relation(element, "parent") === wrapperId,
    );
    if (chosen.length === 1) {
      const event = included("events", source);
      const projectId = event === undefined ? "" : (relation(event, "project") ?? "");
      const type = encodeURIComponent(typeNameOf(wrapper));
      const { data } = await api.get(pathOf({ kind: "project", id: projectId }, "content_types", type));
      if (data.attributes.wrapper !== true)
        throw invalid(`${wrapperId} is a ${typeNameOf(wrapper)}, which is no wrapper`);
    }
    return await copyInto(context, target, chosen, { publishes: "publish" in flags, all });
  },
};

interface CopyOptions {
  readonly publishes: boolean;
  readonly all: readonly ResourceObject[];
}

async function copyInto(
  context: CliContext,
  eventId: string,
  chosen: readonly ResourceObject[],
  { publishes, all }: CopyOptions,
): Promise<CliResult> {
  const api = await context.api();
  const within = { kind: "event", id: eventId } as const;
  const { data: event, included } = await api.read(within, { include: "project" });
  if (publishes) requireActive(event);
  const project = included("projects", relation(event, "project"));
  const enabled = (project?.attributes.enabled_types ?? []) as readonly string[];
  const hasApp = project !== undefined && relation(project, "app") !== null;
  const missing = hasApp ? [...new Set(chosen.map(typeNameOf))].filter(type => !enabled.includes(type)) : [];
  if (missing.length > 0) {
    throw invalid(`The project of the event does not use ${missing.join(", ")}`, {
      hint: `It uses ${enabled.join(", ")}`,
    });
  }
  const { copiedAttributes } = await import("./file.ts");
  const ids = new Set(chosen.map(one => one.id));
  const source = chosen[0] === undefined ? null : relation(chosen[0], "event");
  const linked = (text: string): string =>
    replaceIds(text, one => (ids.has(one) ? tokenOf(one) : one === source ? eventId : undefined));
  const scheduled = new Set(chosen.map(one => (isTimed(one) ? relation(one, "parent") : null)));
  const copies = chosen.map((one): NewElement => {
    const parent = relation(one, "parent");
    return {
      id: tokenOf(one.id),
      attributes: mapTexts(copiedAttributes(one), linked) as Attributes,
      parent: parent !== null && ids.has(parent) ? tokenOf(parent) : null,
      isPublished: publishes && !isTimed(one) && !scheduled.has(one.id),
    };
  });
  const creations = creationsOf(eventId, copies);
  const made = await sendChanges(context, [...creations.changes, ...creations.wrappers], { within });
  const data = chosen.map(one => ({ source: one.id, type: typeNameOf(one), id: made.get(one.id) }));
  return { data, notes: notesOf(all, ids) };
}

function notesOf(all: readonly ResourceObject[], ids: ReadonlySet<string>): readonly string[] {
  return all.flatMap(child => {
    const parent = relation(child, "parent");
    if (parent === null || ids.has(child.id) === ids.has(parent)) return [];
    return [
      ids.has(child.id)
        ? `${child.id} is in no wrapper, as ${parent} was left out`
        : `The copy of ${parent} lacks ${child.id}, which was left out`,
    ];
  });
}

function typeNameOf({ attributes }: ResourceObject): string {
  return String(attributes.content_type);
}

export const commands: readonly CommandSpec[] = [
  applyElements,
  cloneFrom,
  cloneGroup,
  createElement,
  exportElements,
  list,
  publish,
  showSchema,
  showTemplate,
  listTemplates,
];
