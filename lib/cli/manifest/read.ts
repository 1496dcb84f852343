/** Reads manifests: checks them against the table of resources, and lists the entities that they want. */

import * as v from "valibot";
import { attributesOf, fieldsOf } from "../../authoring/table/element_content.ts";
import { type Attribute, resources } from "../../authoring/table/mod.ts";
import {
  type Fault,
  mapTexts,
  pathOfToken,
  referenceOf,
  replaceReferences,
  tokenOf,
} from "../../authoring/table/references.ts";
import { parsedJson } from "../../base/json/mod.ts";
import { present } from "../../base/text/present.ts";
import { fieldErrors, issueDetail } from "../../http/requests/validate.ts";
import type { CliContext } from "../frame/command.ts";
import { invalid, wrongUsage } from "../frame/errors.ts";

interface Entity {
  readonly kind: EntityKind;
  /** Its key behind those of the entities that it is in: `main/ep1/q1`. */
  readonly path: string;
  readonly formerPaths: readonly string[];
  readonly pointer: string;
}

/** An entity as a manifest wants it. In its values a token stands for the id of another entity. */
export interface Wanted extends Entity {
  readonly parent: Wanted | null;
  readonly id: string | null;
  /** The attributes that the manifest owns; null clears. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly app: string | null;
  /** Project: the content types that it is to use. */
  readonly enabledTypes: readonly string[] | null;
  /** Element: the paths of its children; null: the manifest does not say. */
  readonly children: readonly string[] | null;
  /** Element: true if it is to be published. */
  readonly isPublished: boolean;
}

export interface Manifest {
  /** Begins the annotations that mark its entities. */
  readonly id: string;
  readonly space: string | null;
  /** Entities in the order of the file, each behind what it is in. */
  readonly wanted: readonly Wanted[];
  readonly document: unknown;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly refusal: (faults: readonly Fault[]) => Error;
}

interface Node extends Entity {
  readonly key: string;
  readonly parent: Node | null;
  readonly raw: Readonly<Record<string, unknown>>;
}

/**
 * Reads a manifest, with the settings files beside it.
 *
 * @throws {CliError} There is no such file, or it has faults; all of them are named with line and column.
 */
export async function readManifest(
  path: string,
  context: Pick<CliContext, "files" | "variables">,
): Promise<Manifest> {
  const file = await context.files.read(path);
  if (file === null) throw wrongUsage(`There is no file ${path}`, { next: "grandstand plan --file <path>" });
  const folder = path.replace(/[^/]*$/, "");
  return await manifestOf(file.document, { ...context, folder, locate: file.locate });
}

/** Reads the document of a manifest; `locate` names positions in it. */
export async function manifestOf(
  document: unknown,
  {
    files,
    variables,
    folder,
    locate,
  }: Pick<CliContext, "files" | "variables"> & {
    readonly folder: string;
    readonly locate: (pointer: string) => string;
  },
): Promise<Manifest> {
  const refusal = (faults: readonly Fault[]) =>
    invalid("The manifest has faults: nothing was changed", {
      details: faults.map(({ pointer, detail }) => `${locate(pointer)}: ${detail}`),
    });
  const parsed = v.safeParse(ManifestSchema, document);
  if (!parsed.success) throw refusal(fieldErrors(parsed.issues));
  const manifest = parsed.output;
  const references = new References(manifest, variables);
  const nodes = nodesOf(manifest as unknown as Node["raw"]);
  const { faults } = references;
  faults.push(...duplicates(nodes));
  const wanted = new Map<Node, Wanted>();
  for (const node of nodes) {
    const read = readNode(node, nodes, references);
    const text = read.settingsFile && (await files.readText(folder + read.settingsFile, settingsBytesMax));
    if (read.settingsFile !== null) {
      const settings = settingsOf(text ?? null);
      if (typeof settings === "string")
        faults.push({ pointer: `${node.pointer}/settings_file`, detail: settings });
      else read.attributes.settings = settings;
    }
    const parent = node.parent === null ? null : (wanted.get(node.parent) ?? null);
    wanted.set(node, { ...node, ...read, parent });
  }
  const all = [...wanted.values()];
  faults.push(...wrapperFaults(all));
  const space = references.resolved(manifest.space ?? null, "/space") as string | null;
  if (faults.length > 0) throw refusal(faults);
  const listed = Object.fromEntries((manifest.env ?? []).map(name => [name, variables[name]]));
  return { id: manifest.id, space, wanted: all, document, variables: listed, refusal };
}

function nodesOf(document: Node["raw"]): readonly Node[] {
  const below = (kind: EntityKind, list: string, owner: Node["raw"], parent: Node | null): readonly Node[] =>
    ((owner[list] ?? []) as readonly Node["raw"][]).flatMap((raw, index) => {
      const key = String(raw.key);
      const owners = parent === null ? [""] : [parent.path, ...parent.formerPaths].map(path => `${path}/`);
      const keys = [key, ...((raw.aliases ?? []) as readonly string[])];
      const [path = key, ...formerPaths] = owners.flatMap(start => keys.map(each => start + each));
      const pointer = `${parent?.pointer ?? ""}/${list}/${index}`;
      const node: Node = { kind, key, path, formerPaths, parent, pointer, raw };
      if (kind === "project") return [node, ...below("event", "events", raw, node)];
      return kind === "event" ? [node, ...below("element", "elements", raw, node)] : [node];
    });
  return [...below("app", "apps", document, null), ...below("project", "projects", document, null)];
}

function duplicates(nodes: readonly Node[]): readonly Fault[] {
  const seen = new Set<string>();
  return nodes.flatMap(({ kind, path, formerPaths, pointer, raw }) => {
    const keys = [...new Set([path, ...formerPaths])].map(
      each => `${kind === "app" ? "app" : "key"} ${each}`,
    );
    const names = [...keys, ...(raw.id === undefined ? [] : [`id ${raw.id}`])];
    const taken = names.filter(name => seen.size === seen.add(name).size);
    return taken.map(name => ({ pointer, detail: `Another entity has the ${name}` }));
  });
}

/** Nearest first: the entities that a node may name by key, those in it included. */
function scopesOf(node: Node, nodes: readonly Node[]): readonly (readonly Node[])[] {
  const owners: (Node | null)[] = [];
  for (let owner: Node | null = node; owner !== null; owner = owner.parent) owners.push(owner);
  return [...owners, null].map(owner => nodes.filter(({ parent }) => parent === owner));
}

function readNode(node: Node, nodes: readonly Node[], references: References) {
  const { kind, pointer, raw } = node;
  const { faults } = references;
  const scopes = scopesOf(node, nodes);
  const lookupOf =
    (isWanted: (found: Node) => boolean): Lookup =>
    (key, part) => {
      const scope = scopes.find(each => each.some(found => found.key === key && isWanted(found))) ?? [];
      const [found, another] = scope.filter(each => each.key === key && isWanted(each));
      if (found === undefined) return "There is nothing with this key";
      if (another !== undefined) return `It may be ${found.pointer} or ${another.pointer}`;
      if (part === "id") return { value: tokenOf(found.path) };
      const member = part === "url" ? found.raw.spec_url : part === "name" ? found.raw.name : undefined;
      if (member === undefined) return `The manifest has no ${part} of it`;
      return { value: references.resolved(member, `${found.pointer}/${part === "url" ? "spec_url" : part}`) };
    };
  const resolved = (name: string, isWanted: (found: Node) => boolean = () => true): unknown =>
    raw[name] === undefined
      ? undefined
      : references.resolved(raw[name], `${pointer}/${name}`, lookupOf(isWanted));
  const locales = localesOf(node);
  const given = Object.keys(raw).filter(name => !members[kind].includes(name));
  const own: Record<string, unknown> =
    kind === "element" ? { content_type: resolved("type"), ...contentOf(resolved, locales) } : {};
  for (const name of given) {
    if (name in own || unwritten.includes(name)) faults.push(strange(kind, `${pointer}/${name}`));
    else own[name] = plainValue(kind, name, resolved(name), locales);
  }
  for (const name of Object.keys(own))
    faults.push(...attributeFaults(kind, name, own, given.includes(name) ? `${pointer}/${name}` : pointer));
  if (own.start_mode === undefined && typeof own.start_at === "number") own.start_mode = "clock";
  if (own.end_at !== undefined && own.end_mode !== "scheduled")
    faults.push({ pointer: `${pointer}/end_at`, detail: "Needs end_mode: scheduled" });
  if (own.hidden_elements !== undefined && raw.enabled_types !== undefined)
    faults.push({ pointer: `${pointer}/hidden_elements`, detail: "Give either this or enabled_types" });
  const ofProject = (name: string): unknown => (kind === "project" ? (resolved(name) ?? null) : null);
  const isSibling = (found: Node): boolean => found.kind === "element" && found.parent === node.parent;
  const children = kind === "element" ? resolved("children", isSibling) : undefined;
  const childPaths = children === undefined ? null : (children as readonly unknown[]).map(pathOfToken);
  if (childPaths?.includes(null) && faults.length === 0)
    faults.push({ pointer: `${pointer}/children`, detail: "Expected references such as {{q1}}" });
  return {
    attributes: own,
    id: (resolved("id") ?? null) as string | null,
    app: (resolved("app", found => found.kind === "app") ?? null) as string | null,
    enabledTypes: ofProject("enabled_types") as readonly string[] | null,
    settingsFile: ofProject("settings_file") as string | null,
    children: childPaths?.filter(path => path !== null) ?? null,
    isPublished: raw.publish === true,
  };
}

function localesOf({ kind, raw, parent }: Node): readonly string[] {
  if (kind !== "project") return parent === null ? [] : localesOf(parent);
  return Array.isArray(raw.locales) ? raw.locales : [];
}

/** The contents of an element stand under `data` or beside its other members. */
function contentOf(resolved: (name: string) => unknown, locales: readonly string[]) {
  const data = (resolved("data") ?? {}) as Parameters<typeof attributesOf>[0];
  const [question, options, fields] = ["question", "options", "fields"].map(name => resolved(name));
  const beside = present({ question, options: options as readonly unknown[] | undefined, fields });
  return attributesOf({ ...data, ...beside }, locales);
}

/** An element is in one wrapper at most, and a wrapper in none. */
function wrapperFaults(wanted: readonly Wanted[]): readonly Fault[] {
  const wrapperOf = new Map<string, Wanted>();
  return wanted.flatMap(wrapper =>
    (wrapper.children ?? []).flatMap(path => {
      const other = wrapperOf.get(path);
      wrapperOf.set(path, wrapper);
      const child = wanted.find(each => each.kind === "element" && each.path === path);
      const isWrapper = child?.children != null || path === wrapper.path;
      const pointer = `${wrapper.pointer}/children`;
      if (other !== undefined) return [{ pointer, detail: `${path} is in ${other.path} already` }];
      return isWrapper ? [{ pointer, detail: `A wrapper is in no wrapper: ${wrapper.path} → ${path}` }] : [];
    }),
  );
}

/** Returns the value of `{{key}}`, `{{key.name}}` or `{{key.url}}`; a text is what is wrong with it. */
type Lookup = (key: string, part: string) => { readonly value: unknown } | string;

class References {
  readonly faults: Fault[] = [];
  readonly #vars: Readonly<Record<string, unknown>>;
  readonly #env: readonly string[];
  readonly #variables: Readonly<Record<string, string | undefined>>;

  /** Only the variables of the environment that `env` lists may be read. */
  constructor(
    {
      vars = {},
      env = [],
    }: { readonly vars?: Readonly<Record<string, unknown>>; readonly env?: readonly string[] },
    variables: Readonly<Record<string, string | undefined>>,
  ) {
    this.#env = env;
    this.#variables = variables;
    this.#vars = {};
    // Variables may be made of the environment, not of each other.
    this.#vars = this.resolved(vars, "/vars") as Readonly<Record<string, unknown>>;
  }

  /** Returns a value without references. Without `lookup` it may name no entity. */
  resolved(value: unknown, pointer: string, lookup: Lookup | null = null): unknown {
    return mapTexts(
      value,
      (text, at) => {
        const name = referenceOf(text);
        if (name !== null) return this.#valueOf(name, at, lookup);
        return replaceReferences(text, part => String(this.#valueOf(part, at, lookup)));
      },
      pointer,
    );
  }

  #valueOf(name: string, pointer: string, lookup: Lookup | null) {
    const refused = "Only {{vars.…}} and {{env.…}} may stand here";
    const [, key = "", part = "id"] = /^([^.]*)(?:\.(.*))?$/s.exec(name) ?? [];
    const found = this.#known(key, part) ?? lookup?.(key, part) ?? refused;
    if (typeof found !== "string") return found.value;
    this.faults.push({ pointer, detail: `{{${name}}}: ${found}` });
    return "";
  }

  /** Null: it is neither a variable of the manifest nor one of the environment. */
  #known(key: string, part: string): ReturnType<Lookup> | null {
    if (key === "vars") {
      return Object.hasOwn(this.#vars, part) ? { value: this.#vars[part] } : `There is no ${part} in vars`;
    }
    if (key !== "env") return null;
    if (!this.#env.includes(part)) return `List ${part} under env to read it`;
    const value = this.#variables[part];
    return value === undefined ? `The environment has no ${part}` : { value };
  }
}

export const types = { app: "apps", project: "projects", event: "events", element: "elements" } as const;

export function attributesTable(kind: EntityKind): Readonly<Record<string, Attribute>> {
  return resources[types[kind]].attributes;
}

type EntityKind = keyof typeof types;

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
const ManifestSchema = v.strictObject({
  version: v.literal(1),
  id: keyText,
  space: v.optional(v.string()),
  env: v.exactOptional(v.array(v.string())),
  vars: v.exactOptional(v.record(v.string(), v.unknown())),
  apps: v.optional(v.array(AppSchema)),
  projects: v.optional(v.array(ProjectSchema)),
});

/** Members of entities that are no attributes. */
const members: Readonly<Record<EntityKind, readonly string[]>> = {
  app: ["key", "id"],
  project: ["key", "id", "aliases", "app", "enabled_types", "settings_file", "events"],
  event: ["key", "id", "aliases", "elements"],
  element: ["key", "id", "aliases", "type", "data", "question", "options", "fields", "children", "publish"],
};
const unwritten: readonly string[] = ["content_type", "custom_fields", "offset"];

const settingsBytesMax = 4 * 1_048_576;

/** Fields may be a map, times a text. `locales` are those of the project. */
function plainValue(kind: EntityKind, name: string, value: unknown, locales: readonly string[]): unknown {
  if (name === "settings" && value !== null) return fieldsOf(value, "", locales);
  const isTime = kind === "event" && /^(start|end)_at$/.test(name) && typeof value === "string";
  return isTime && /(Z|[+-]\d\d:\d\d)$/i.test(value) ? Date.parse(value) / 1_000 : value;
}

function attributeFaults(
  kind: EntityKind,
  name: string,
  attributes: Record<string, unknown>,
  pointer: string,
): readonly Fault[] {
  const table = attributesTable(kind);
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
  if (!result.success) return fieldErrors(result.issues, pointer);
  attributes[name] = isMerged
    ? { ...(result.output as object), ...Object.fromEntries(cleared) }
    : result.output;
  return [];
}

function strange(kind: EntityKind, pointer: string): Fault {
  return { pointer, detail: `There is no such member of ${kind}s` };
}

function settingsOf(text: string | null): unknown {
  if (text === null) return "There is no such file";
  const value = parsedJson(text);
  if (value === undefined) return "It is no JSON";
  const { settings } = attributesTable("project");
  const result = v.safeParse(settings?.schema ?? v.never(), value);
  return result.success ? result.output : `Its settings are wrong: ${issueDetail(result.issues[0])}`;
}
