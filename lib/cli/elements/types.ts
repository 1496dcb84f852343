/** Content types and their templates: `elements schema`, `template` and `templates`. */

import { dataOf } from "../../authoring/table/element_content.ts";
import type { ContentType } from "../../authoring/table/mod.ts";
import { mapTexts, replaceReferences } from "../../authoring/table/references.ts";
import { present } from "../../base/text/present.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { exits, invalid } from "../frame/errors.ts";
import { idArgument, idFlag } from "../frame/flags.ts";
import { json, rows } from "../frame/output.ts";
import { pathOf, type ResourceObject } from "../frame/resources.ts";
import { yamlText } from "../frame/text.ts";

type Property = NonNullable<NonNullable<ContentType["question"]>>[number];
export type Item = Readonly<Record<string, unknown>>;

const appFlag = {
  project: idFlag("A project, whose app is asked in place of the catalogue"),
};
const typeExits = { [exits.invalid]: "There is no such content type" };

export const showSchema: CommandSpec = {
  words: ["elements", "schema"],
  summary: "Show the fields of a content type",
  args: [
    idArgument("project-id", "The project"),
    { name: "content-type", description: "The content type, such as poll" },
  ],
  examples: ["elements schema $PROJECT poll"],
  output: rows({
    field: "text",
    type: "text",
    required: "flag",
    limits: "text",
    default: "json",
    help: "text",
  }),
  exits: typeExits,
  async run({ args: [project = "", name = ""] }, context) {
    const { question, option, options_number, custom_fields } = await typeOf(context, name, project);
    const { min = 0, max } = options_number ?? {};
    const count = { field: "options", type: "list", required: min > 0, default: null, help: "Options" };
    const hasOptions = (option ?? []).length > 0;
    return {
      data: [
        ...(question ?? []).map(property => fieldRow("question", property)),
        ...(hasOptions ? [{ ...count, limits: `${min} to ${max ?? "any number"}` }] : []),
        ...(option ?? []).map(property => fieldRow("options[]", property)),
        ...customProperties(custom_fields).map(property => fieldRow("fields", property)),
      ],
    };
  },
};

function fieldRow(path: string, property: Property) {
  const { key, field, type = field ?? "text", mandatory = false, many = false } = property;
  const { values, min, max, max_length: length, description, label, aliases = [] } = property;
  const limits = [
    values?.join(" | "),
    min !== undefined && `from ${min}`,
    max !== undefined && `to ${max}`,
    length !== undefined && `at most ${length} characters`,
  ].filter(Boolean);
  return {
    field: `${path}.${key}`,
    type: many ? `list of ${type}` : type,
    required: mandatory,
    limits: limits.join(", "),
    default: property.default ?? null,
    help: [description ?? label ?? "", ...aliases.map(name => `or ${name}`)].filter(Boolean).join(", "),
  };
}

export const showTemplate: CommandSpec = {
  words: ["elements", "template"],
  summary: "Show a template of a content type, ready for elements create",
  args: [{ name: "content-type", description: "The content type, such as poll" }],
  flags: {
    ...appFlag,
    name: { value: "name", description: "Name of the template; otherwise the first one" },
  },
  examples: ["elements template poll", "elements template poll --json"],
  requests: 0,
  output: json,
  exits: typeExits,
  async run({ args: [name = ""], flags: { project, name: template } }, context) {
    const data = templateOf(await typeOf(context, name, project), template);
    const variables = variablesIn(data);
    const note = `Set ${variables.join(", ")} with --var <name>=<value>`;
    return {
      data,
      shown: await yamlText(data),
      meta: { variables },
      notes: variables.length === 0 ? [] : [note],
    };
  },
};

export const listTemplates: CommandSpec = {
  words: ["elements", "templates"],
  summary: "List the templates of elements",
  flags: { type: { value: "content type", description: "Only those of this content type" }, ...appFlag },
  examples: ["elements templates", "elements templates --type poll"],
  requests: 0,
  output: rows({ type: "text", name: "text", title: "text", source: "text" }),
  exits: typeExits,
  async run({ flags: { type, project } }, context) {
    const types =
      type === undefined ? await typesOf(context, project) : [await typeOf(context, type, project)];
    const source = project === undefined ? "built-in" : "app";
    return {
      data: types.flatMap(each =>
        templatesOf(each).map(({ name, title }) => ({ type: each.content_type, name, title, source })),
      ),
    };
  },
};

async function typesOf(context: CliContext, project: string | undefined): Promise<readonly ContentType[]> {
  if (project === undefined) {
    const { catalogueApp } = await import("../../authoring/table/catalogue.ts");
    return catalogueApp("").elements;
  }
  const api = await context.api();
  const path = pathOf({ kind: "project", id: project }, "content_types");
  const { data } = await api.get<readonly ResourceObject[]>(path);
  return data.map(({ attributes }) => attributes.definition as ContentType);
}

/** @throws {CliError} There is no such content type. */
export async function typeOf(
  context: CliContext,
  name: string,
  project: string | undefined,
): Promise<ContentType> {
  const types = await typesOf(context, project);
  const found = types.find(type => type.content_type === name);
  if (found !== undefined) return found;
  throw invalid(`There is no content type ${name}`, {
    code: "unknown_content_type",
    hint: `There are ${types.map(type => type.content_type).join(", ")}`,
  });
}

function templatesOf({ name, templates = [] }: ContentType) {
  if (templates.length === 0) return [{ name: "default", title: name, data: null }];
  return templates.map(({ name: own, title = own, data }) => ({ name: own, title, data }));
}

/** Returns an element of a template, else one in which `{{key}}` stands for what the content type demands. */
export function templateOf(type: ContentType, wanted?: string): Item {
  const templates = templatesOf(type);
  const found = wanted === undefined ? templates[0] : templates.find(({ name }) => name === wanted);
  if (found === undefined) {
    throw invalid(`${type.content_type} has no template ${wanted}`, {
      hint: `It has ${templates.map(({ name }) => name).join(", ")}`,
    });
  }
  const { question, custom_fields, ...others } = (found.data ?? {}) as Parameters<typeof dataOf>[0] & Item;
  const contents =
    found.data === null
      ? contentsOf(type, ({ key, default: preset }) => preset ?? `{{${key}}}`)
      : dataOf({ question: question ?? null, custom_fields: custom_fields ?? null });
  return { type: type.content_type, name: found.title, ...others, ...contents };
}

export function contentsOf(type: ContentType, make: (property: Property, nth: number) => unknown): Item {
  const { question, option, options_number, any_of: sets = [] } = type;
  const fields = (properties: readonly Property[], nth = 0) =>
    Object.fromEntries(properties.map(property => [property.key, make(property, nth)]));
  const mandatory = (properties: readonly Property[] | null | undefined) =>
    (properties ?? []).filter(property => property.mandatory === true);
  const [asked, offered] = [mandatory(question), mandatory(option)];
  const custom = customProperties(type.custom_fields).filter(
    ({ key, mandatory: isMandatory, default: preset }) =>
      isMandatory === true || preset !== undefined || sets[0]?.includes(key) === true,
  );
  const count = options_number?.min ?? (offered.length > 0 ? 1 : 0);
  const options = Array.from({ length: count }, (_, nth) => fields(offered, nth));
  return present({
    question: asked.length === 0 ? undefined : fields(asked),
    options: count === 0 ? undefined : options,
    fields: custom.length === 0 ? undefined : fields(custom),
  });
}

export function variablesIn(value: unknown): readonly string[] {
  const names = new Set<string>();
  const note = (name: string): string => {
    names.add(name);
    return "";
  };
  mapTexts(value, text => replaceReferences(text, note));
  return [...names];
}

function customProperties(groups: ContentType["custom_fields"] | undefined): readonly Property[] {
  return (groups ?? []).flatMap(({ properties = [] }) => properties);
}
