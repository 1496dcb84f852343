/** Schemas of bodies and answers, made from the definitions of resources. */

import * as v from "valibot";
import { integerParameter, named } from "../../../http/mod.ts";
import { jsonApiMediaType } from "../../../http/requests/body.ts";
import {
  type Attribute,
  definitionOf,
  plainObject,
  type Relationship,
  type Resource,
  type ResourceType,
} from "../../table/mod.ts";
import { pascal } from "./documents.ts";
import type { ChangedBody, ListQuery, NewBody, ShownDocument, ShownList, Type } from "./types.ts";

const text = v.string();
const identifier = (type: string) => v.object({ type: v.literal(type), id: text });

const members = plainObject(v.record(text, v.unknown()));

/** What the pipeline checks of a resource object; attributes are checked against the definition, all at once. */
export const SentResource = v.strictObject({
  type: text,
  id: v.exactOptional(text),
  lid: v.exactOptional(text),
  attributes: v.exactOptional(members),
  relationships: v.exactOptional(members),
  links: v.exactOptional(members),
  meta: v.exactOptional(members),
});

export const ResourceBody = v.strictObject({
  data: plainObject(SentResource),
  meta: v.exactOptional(members),
  jsonapi: v.exactOptional(members),
});

/** Returns the schema of a body that creates or changes a resource, for the OpenAPI document. */
export function bodySchema<const T extends ResourceType, const N extends boolean>(
  resource: Resource & { readonly type: T },
  isNew: N,
): v.GenericSchema<N extends true ? NewBody<Extract<T, Type>> : ChangedBody<Extract<T, Type>>> {
  const name = `${isNew ? "New" : "Changed"}${pascal(resource.type)}`;
  return once(name, () => writtenSchema(resource, isNew)) as never;
}

function writtenSchema(resource: Resource, isNew: boolean): v.GenericSchema {
  const { type, attributes, relationships, actions = [], createActions = [] } = resource;
  const isWritten = ({ write = "always" }: Attribute | Relationship): boolean =>
    write === "always" || write === "draft" || (isNew && write === "create");
  const possible = isNew ? createActions : actions;
  const written: Entries = {};
  for (const [name, attribute] of Object.entries(attributes)) {
    if (!isWritten(attribute)) continue;
    const { schema, description, required, nullable } = attribute;
    const described = v.pipe(nullable === true ? v.nullable(schema) : schema, v.description(description));
    written[name] = isNew && required === true ? described : v.exactOptional(described);
  }
  if (possible.length > 0)
    written.action = v.exactOptional(v.pipe(v.picklist(possible), v.description("What to do now")));
  const related: Entries = {};
  for (const [name, relationship] of Object.entries(relationships)) {
    if (relationship.kind !== "one" || !isWritten({ write: "never", ...relationship })) continue;
    const { type: to, description, required } = relationship;
    const isNeeded = isNew && required === true;
    const linkage = v.object({ data: isNeeded ? identifier(to) : v.nullable(identifier(to)) });
    const described = v.pipe(linkage, v.description(description));
    related[name] = isNeeded ? described : v.exactOptional(described);
  }
  const data: Entries = { type: v.literal(type), attributes: memberOf(written) };
  if (!isNew) data.id = v.exactOptional(v.pipe(text, v.description("Id of the path")));
  if (Object.keys(related).length > 0) data.relationships = memberOf(related);
  const description = isNew
    ? `Resource object to create, of the type \`${type}\``
    : `Resource object to change, of the type \`${type}\`; absent members stay`;
  return v.object({ data: v.pipe(v.object(data), v.description(description)) });
}

type Entries = Record<string, v.ObjectEntries[string]>;

/** A member that may be left out where nothing in it has to be given. */
function memberOf(entries: Entries): v.ObjectEntries[string] {
  const schema = v.object(entries);
  return v.is(schema, {}) ? v.exactOptional(schema) : schema;
}

const Meta = v.pipe(v.record(text, v.unknown()), v.description("Facts about the answer"));
const Links = v.pipe(
  v.record(text, v.nullable(text)),
  v.description("Addresses: `self`, and of lists `first` and `next`"),
);
const IncludedSchema = named(
  "IncludedResource",
  v.object({
    type: v.pipe(text, v.description("Type of the resource")),
    id: v.pipe(text, v.description("Id of the resource")),
    attributes: v.pipe(v.record(text, v.unknown()), v.description("Its attributes")),
    relationships: v.exactOptional(v.pipe(v.record(text, v.unknown()), v.description("Its relationships"))),
    links: v.exactOptional(Links),
    meta: v.exactOptional(Meta),
  }),
);
const schemas = new Map<string, v.GenericSchema>();

function once(name: string, make: () => v.GenericSchema): v.GenericSchema {
  const made = schemas.get(name) ?? named(name, make());
  schemas.set(name, made);
  return made;
}

function resourceSchema(resource: Resource): v.GenericSchema {
  return once(pascal(resource.type), () => shownSchema(resource));
}

function shownSchema({ type, attributes, relationships }: Resource): v.GenericSchema {
  const shown: Entries = {};
  for (const [name, { schema, description, required, default: given = null }] of Object.entries(attributes)) {
    const value = required === true || given !== null ? schema : v.nullable(schema);
    shown[name] = v.exactOptional(v.pipe(value, v.description(description)));
  }
  const related: Entries = {};
  for (const [name, { kind, type: to, description }] of Object.entries(relationships)) {
    const one = v.object({ type: text, id: text });
    const data = kind === "one" ? v.nullable(one) : v.array(identifier(to));
    const schema = kind === "link" ? v.object({ links: Links }) : v.object({ data });
    related[name] = v.exactOptional(v.pipe(schema, v.description(description)));
  }
  return v.object({
    type: v.literal(type),
    id: text,
    attributes: v.object(shown),
    relationships: v.exactOptional(v.object(related)),
    links: v.exactOptional(Links),
    meta: v.exactOptional(Meta),
  });
}

export function documentSchema<const T extends ResourceType>(
  resource: Resource & { readonly type: T },
): v.GenericSchema<ShownDocument<Extract<T, Type>>> {
  return answerSchema(resource, "Document", schema => schema, v.exactOptional(Links)) as never;
}

export function listSchema<const T extends ResourceType>(
  resource: Resource & { readonly type: T },
): v.GenericSchema<ShownList<Extract<T, Type>>> {
  return answerSchema(resource, "List", schema => v.array(schema), Links) as never;
}

function answerSchema(
  resource: Resource,
  form: "Document" | "List",
  dataOf: (schema: v.GenericSchema) => v.GenericSchema,
  links: v.ObjectEntries[string],
): v.GenericSchema {
  return once(pascal(resource.type) + form, () =>
    v.object({
      data: dataOf(resourceSchema(resource)),
      included: v.exactOptional(v.array(IncludedSchema)),
      links,
      meta: v.exactOptional(Meta),
    }),
  );
}

/** Entries of a page where nothing else is asked for. */
const pageCountDefault = 20;
const pageCountMax = 100;
const textMax = 2_048;

const listed = (description: string) =>
  v.optional(v.pipe(v.string(), v.maxLength(textMax), v.description(description)));

export function readQuery(resource: Resource): v.GenericSchema {
  return v.strictObject(viewEntries(resource));
}

export function listQuery<const T extends ResourceType>(
  resource: Resource & { readonly type: T },
): v.GenericSchema<ListQuery<Extract<T, Type>>> {
  const { sorts, filters = {} } = resource;
  const entries = { ...viewEntries(resource) };
  if (sorts.length > 0)
    entries.sort = listed(`One of ${sorts.join(", ")}; with \`-\` in front the highest first`);
  for (const [name, schema] of Object.entries(filters)) {
    const description = `Only ${resource.type.replaceAll("_", " ")} with this ${name.replaceAll("_", " ")}`;
    entries[`filter[${name}]`] = v.optional(v.pipe(schema, v.description(description)));
  }
  const description = "Entries of the page";
  const count = integerParameter({ description, minimum: 1, maximum: pageCountMax });
  entries["page[count]"] = v.optional(count, String(pageCountDefault));
  entries["page[cursor]"] = listed("The cursor in `links.next` of the page before");
  if (resource.isPagedByNumber === true) {
    const number = { description: "Number of the page, in place of a cursor", minimum: 1, maximum: 10_000 };
    entries["page[number]"] = v.optional(integerParameter(number));
  }
  return v.strictObject(entries) as never;
}

export function writeQuery(resource: Resource): v.GenericSchema {
  return v.strictObject({ ...viewEntries(resource), ...dryRun });
}

export const dryRun = {
  dry_run: v.optional(
    v.pipe(
      v.picklist(["true", "false"], "Expected true or false"),
      v.description("`true`: checks everything and writes nothing"),
    ),
  ),
};

const views = new WeakMap<Resource, Readonly<Entries>>();

/** Returns the parameters of what is shown; each resource has them in several routes. */
function viewEntries(resource: Resource): Readonly<Entries> {
  const known = views.get(resource);
  if (known !== undefined) return known;
  const { type, include = [] } = resource;
  const entries: Entries = {};
  if (include.length > 0) entries.include = listed(`Related resources: ${include.join(", ")}`);
  for (const name of new Set([type, ...include.flatMap(path => typesOf(type, path))])) {
    entries[`fields[${name}]`] = listed(`Names of the shown attributes and relationships of ${name}`);
  }
  views.set(resource, entries);
  return entries;
}

function typesOf(from: Resource["type"], path: string): readonly Resource["type"][] {
  const types: Resource["type"][] = [];
  let type = from;
  for (const name of path.split(".")) {
    const next = definitionOf(type)?.relationships[name];
    if (next === undefined)
      throw new TypeError(`Cannot include ${path} of ${from}: there is no relationship ${name}`);
    type = next.type;
    types.push(type);
  }
  return types;
}

/** Largest body of the control API. */
export const bodyBytesMax = 6 * 1_048_576;

export function bodyOf<const T extends ResourceType, const N extends boolean>(
  resource: Resource & { readonly type: T },
  isNew: N,
) {
  const { type, example = {}, changeExample = example, relationships } = resource;
  const needed = Object.entries(relationships).filter(([, { required }]) => isNew && required === true);
  const linked = needed.map(([name, { type: to }]) => [name, { data: { type: to, id: exampleId } }]);
  const related = linked.length === 0 ? {} : { relationships: Object.fromEntries(linked) };
  const sent = { data: { type, attributes: isNew ? example : changeExample, ...related } };
  return {
    schema: ResourceBody,
    described: bodySchema(resource, isNew),
    maxBytes: bodyBytesMax,
    mediaTypes: [jsonApiMediaType],
    example: sent as never,
  };
}

export const exampleId = "2f1d0c5e-6a70-4b1e-9d52-0c8a4f6b7e31";
