/** Commands about annotations, and about where a resource belongs. */

import { pathOrText } from "./frame/checks.ts";
import type { CliContext, CommandSpec } from "./frame/command.ts";
import type { Document } from "./frame/control_api.ts";
import { exits, missingFile, notFound, wrongUsage } from "./frame/errors.ts";
import { record, rows } from "./frame/output.ts";
import {
  documentOf,
  type Kind,
  kinds,
  pathOf,
  type ResourceObject,
  relation,
  type Target,
} from "./frame/resources.ts";
import { targetArgs, targetOf } from "./scope.ts";

const textBytesMax = 65_536;

async function read(
  target: Target,
  { api }: CliContext,
): Promise<ReadonlyMap<string, string> & { etag?: string }> {
  const { data, etag } = await (await api()).get(pathOf(target, "annotations"));
  const found = new Map(Object.entries(data.attributes.annotations as Readonly<Record<string, string>>));
  return Object.assign(found, etag === null ? {} : { etag });
}

async function change(
  target: Target,
  annotations: Readonly<Record<string, string | null>>,
  etag: string | undefined,
  { api }: CliContext,
): Promise<void> {
  const document = documentOf(kinds[target.kind].path, { annotations }, { id: target.id });
  const write = { within: target, document, ifMatch: etag ?? null };
  await (await api()).write("PATCH", pathOf(target, "annotations"), write);
}

const deleteAnnotation: CommandSpec = {
  words: ["annotations", "delete"],
  summary: "Remove an annotation",
  args: [...targetArgs, { name: "key", description: "Its key" }],
  changes: "Removes one annotation",
  examples: ["annotations delete project $PROJECT note"],
  requests: 2,
  output: record({ key: "text", old: "text?" }),
  async run({ args }, context) {
    const [target, key = ""] = [targetOf(args), args[2]];
    const found = await read(target, context);
    const old = found.get(key);
    if (old === undefined) return { data: { key, old: null }, notes: [`There is no annotation ${key}`] };
    await change(target, { [key]: null }, found.etag, context);
    return { data: { key, old } };
  },
};

const getAnnotations: CommandSpec = {
  words: ["annotations", "get"],
  summary: "Print the annotations of a resource, or the value of one of them",
  args: targetArgs,
  flags: { key: { value: "key", description: "The one whose value is printed as it is" } },
  examples: ["annotations get project $PROJECT", "annotations get event $EVENT --key context"],
  output: rows({ key: "text", value: "text" }),
  exits: { [exits.notFound]: "There is no annotation --key" },
  async run({ args, flags: { key } }, context) {
    const all = [...(await read(targetOf(args), context))].map(([name, value]) => ({ key: name, value }));
    if (key === undefined) return { data: all };
    const [found] = all.filter(one => one.key === key);
    if (found !== undefined) return { data: [found], shown: `${found.value}\n` };
    const next = `grandstand annotations get ${args.join(" ")}`;
    throw notFound(`There is no annotation ${key}`, { next });
  },
};

const setAnnotations: CommandSpec = {
  words: ["annotations", "set"],
  summary: "Set annotations of a resource; others stay",
  args: [
    ...targetArgs,
    {
      name: "pairs",
      description: "key=value, key=@file for the text of a file, key=@@text for a text that begins with @",
      repeated: true,
    },
  ],
  changes: "Sets the named annotations",
  examples: ['annotations set project $PROJECT note=Rain "context=Friday show"'],
  requests: 2,
  output: rows({ key: "text", old: "text?", new: "text" }),
  async run({ args }, context) {
    const target = targetOf(args);
    const pairs = await Promise.all(args.slice(2).map(pair => pairOf(pair, context)));
    const wanted = new Map(pairs);
    if (wanted.size < pairs.length) throw wrongUsage("annotations set takes each key once");
    const found = await read(target, context);
    const data = pairs.map(([key, value]) => ({ key, old: found.get(key) ?? null, new: value }));
    const changed = data.filter(one => one.old !== one.new);
    if (changed.length === 0) return { data, notes: ["No change"] };
    await change(target, Object.fromEntries(changed.map(one => [one.key, one.new])), found.etag, context);
    return { data };
  },
};

/** Reads a pair. @throws {CliError} It is none, or names no file. */
async function pairOf(pair: string, { files }: CliContext): Promise<readonly [key: string, value: string]> {
  const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
  if (key === "") throw wrongUsage(`${pair} must be key=value`);
  const given = pathOrText(value);
  if ("text" in given) return [key, given.text];
  const text = await files.readText(given.path, textBytesMax);
  if (text !== null) return [key, text];
  throw missingFile(given.path);
}

/** Kinds in which roles are given; below, the role is that of the project. */
const scopes: readonly Kind[] = ["project", "space", "organisation"];

const context: CommandSpec = {
  words: ["context"],
  summary: "Show what a resource is and what it belongs to, with your role and the annotation context",
  args: targetArgs,
  flags: { "only-target": { description: "Leave out what it belongs to" } },
  examples: ["context event $EVENT", "context element $ELEMENT --only-target"],
  output: rows({ kind: "text", id: "text", name: "text?", state: "text?", role: "text?", context: "text?" }),
  async run({ args, flags }, { api }) {
    const target = targetOf(args);
    const levels = kinds[target.kind].above.split(".").filter(name => name !== "") as Kind[];
    const paths = levels.map((_, index) => levels.slice(0, index + 1).join("."));
    const roles = ["", ...paths].filter((_, index) =>
      scopes.includes([target.kind, ...levels][index] ?? target.kind),
    );
    const include = [...paths, ...roles.map(path => (path === "" ? "my_role" : `${path}.my_role`))];
    const document = await (await api()).get(pathOf(target), { include: include.join(",") });
    const chain: (readonly [Kind, ResourceObject])[] = [[target.kind, document.data]];
    for (const kind of levels) {
      const above = document.included(kinds[kind].path, relation(chain.at(-1)?.[1] ?? document.data, kind));
      if (above === undefined) break;
      chain.push([kind, above]);
    }
    const role = roleOf(chain.find(([kind]) => scopes.includes(kind))?.[1], document);
    const data = chain.map(([kind, one]) => ({
      kind,
      id: one.id,
      name: one.attributes.name ?? null,
      state: stateOf(one),
      role: scopes.includes(kind) ? roleOf(one, document) : role,
      context: (one.attributes.annotations as Readonly<Record<string, string>>)?.context ?? null,
    }));
    return { data: flags["only-target"] === undefined ? data : data.slice(0, 1) };
  },
};

function roleOf(one: ResourceObject | undefined, { included }: Document): unknown {
  return one === undefined
    ? null
    : (included("scope_roles", relation(one, "my_role"))?.attributes.role ?? "none");
}

function stateOf({ attributes }: ResourceObject): unknown {
  return attributes.archived === true ? "archived" : (attributes.state ?? attributes.environment ?? null);
}

export const commands: readonly CommandSpec[] = [deleteAnnotation, getAnnotations, setAnnotations, context];
