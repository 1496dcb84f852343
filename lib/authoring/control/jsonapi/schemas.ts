/**
 * Schemas of bodies and answers, made from the definitions of resources.
 *
 * @module
 */

import * as v from "valibot";
import { named } from "../../../http/mod.ts";
import { type Attribute, plainObject, type Relationship, type Resource } from "../../table/mod.ts";

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
export function bodySchema(resource: Resource, isNew: boolean): v.GenericSchema {
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
    const described = v.pipe(v.object({ data: v.nullable(identifier(to)) }), v.description(description));
    related[name] = isNew && required === true ? described : v.exactOptional(described);
  }
  const data: Entries = { type: v.literal(type), attributes: v.exactOptional(v.object(written)) };
  if (!isNew) data.id = v.pipe(text, v.description("Id of the path"));
  if (Object.keys(related).length > 0) data.relationships = v.exactOptional(v.object(related));
  const name = `${isNew ? "New" : "Changed"}${pascal(type)}`;
  const description = isNew
    ? `Resource object to create, of the type \`${type}\``
    : `Resource object to change, of the type \`${type}\`; absent members stay`;
  return once(name, () => v.object({ data: v.pipe(v.object(data), v.description(description)) }));
}

/** Members of an object schema. */
type Entries = Record<string, v.ObjectEntries[string]>;

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

/** Makes each schema once, as the OpenAPI document has each name once. */
function once(name: string, make: () => v.GenericSchema): v.GenericSchema {
  const made = schemas.get(name) ?? named(name, make());
  schemas.set(name, made);
  return made;
}

function resourceSchema({ type, attributes, relationships }: Resource): v.GenericSchema {
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
  return once(pascal(type), () =>
    v.object({
      type: v.literal(type),
      id: text,
      attributes: v.object(shown),
      relationships: v.exactOptional(v.object(related)),
      links: v.exactOptional(Links),
      meta: v.exactOptional(Meta),
    }),
  );
}

/** Returns the schema of an answer with one resource. */
export function documentSchema(resource: Resource): v.GenericSchema {
  return answerSchema(resource, "Document", schema => schema, v.exactOptional(Links));
}

/** Returns the schema of an answer with a list. */
export function listSchema(resource: Resource): v.GenericSchema {
  return answerSchema(resource, "List", schema => v.array(schema), Links);
}

function answerSchema(
  resource: Resource,
  form: "Document" | "List",
  dataOf: (schema: v.GenericSchema) => v.GenericSchema,
  links: v.ObjectEntries[string],
): v.GenericSchema {
  const included = v.exactOptional(v.array(IncludedSchema));
  return once(pascal(resource.type) + form, () =>
    v.object({ data: dataOf(resourceSchema(resource)), included, links, meta: v.exactOptional(Meta) }),
  );
}

/** `event_templates` becomes `EventTemplates`. */
export function pascal(type: string): string {
  return type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
