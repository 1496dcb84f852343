/** Routes to a part of a resource: its annotations, and relationships to many. */

import * as v from "valibot";
import { AppError, jsonPointer } from "../../base/errors/mod.ts";
import { type AnyRoute, json, named, route } from "../../http/mod.ts";
import { jsonApiMediaType } from "../../http/requests/body.ts";
import { type Relationship, uuidText } from "../table/mod.ts";
import { RoleSchema } from "./access/routes.ts";
import {
  article,
  idOf,
  idParams,
  isDryRun,
  nameOf,
  parameterOf,
  pascal,
  words,
  writeErrors,
} from "./jsonapi/documents.ts";
import { bodyBytesMax, dryRun, exampleId, type ResourceBody } from "./jsonapi/schemas.ts";
import type { At, NameOf, Query, RouteOf } from "./jsonapi/types.ts";
import { type Kind, unprocessable } from "./kind.ts";
import { type ResourceRoutesContext, write } from "./write.ts";

/** Makes the routes of a kind's annotations from those of its whole resource. */
export function annotationRoutes({ resource }: Kind, read: AnyRoute, change: AnyRoute): readonly AnyRoute[] {
  const { type, noun } = resource;
  const name = "annotations";
  /** Shows nothing else. */
  const partOf = (query: unknown): Query => ({ ...(query as Query), [`fields[${type}]`]: name });
  return [
    {
      ...read,
      path: `${read.path}/${name}`,
      operation: `${read.operation}Annotations`,
      summary: `Read the annotations of one ${noun}`,
      query: v.strictObject({}),
      handle: call => read.handle({ ...call, query: partOf(call.query) }),
    },
    {
      ...change,
      path: `${change.path}/${name}`,
      operation: `${change.operation}Annotations`,
      summary: `Change annotations of one ${noun}`,
      description: `Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role ${resource.write}.`,
      query: v.strictObject(dryRun),
      body: {
        ...change.body,
        example: { data: { type, attributes: { [name]: { note: "Rain", old: null } } } },
      },
      handle(call) {
        const { data } = call.body as v.InferOutput<typeof ResourceBody>;
        const members = { ...data.relationships, ...data.attributes };
        const faults = Object.keys(members)
          .filter(each => each !== name)
          .map(each => ({
            pointer: `/data/${data.attributes?.[each] === undefined ? "relationships" : "attributes"}${jsonPointer(each)}`,
            detail: "Expected the attribute annotations alone",
          }));
        if (faults.length > 0) throw unprocessable(...faults);
        return change.handle({ ...call, query: partOf(call.query) });
      },
    },
  ] as readonly AnyRoute[];
}

/** The route that {@linkcode roleRoute} builds for a type. */
export type RoleRoute<T extends "events" | "elements"> = RouteOf<
  `readMyRoleIn${NameOf<T>}`,
  "GET",
  `${At<T>}/my_role`,
  { answers: { 200: v.InferOutput<typeof RoleSchema> } }
>;

/** Builds the route that answers the caller's role for a record. */
export function roleRoute({ resource }: Kind, { reader, author }: ResourceRoutesContext): AnyRoute {
  const { type, noun } = resource;
  return route({
    method: "GET",
    path: `/api/v2/${type}/:${parameterOf(type)}/my_role`,
    operation: `readMyRoleIn${nameOf(type)}`,
    summary: `Read the caller's role in the ${noun}`,
    description: `Answers \`none\` where the caller has no role, and for an unknown id as well. The role is that in the project of the ${noun}.`,
    auth: author,
    params: idParams(type),
    responses: { 200: { description: "The role", schema: RoleSchema } },
    handle: async call => {
      const id = idOf(call, type);
      const view = { include: ["my_role"], fields: new Map([[type, new Set(["my_role"])]]) };
      const found = await reader.one(call.principal, type, id, view).catch((error: unknown) => {
        if (error instanceof AppError && error.code === "not_found") return null;
        throw error;
      });
      const role = found?.included?.find(({ id: of }) => of === id);
      const { role: own = "none" } = (role?.attributes ?? {}) as { readonly role?: never };
      const meta = (role?.meta ?? { inherited_from: null, parents: [], admins: [] }) as never;
      return json(200, { data: { type: "scope_roles", id, attributes: { role: own } }, meta });
    },
  });
}

/** The routes of a relationship to many: it is replaced as a whole, or records are linked one by one. */
const relationshipWrites = {
  always: [
    {
      method: "PATCH",
      verb: "change",
      summary: "Change the",
      of: "of",
      note: "Takes all of them, in order.",
    },
  ],
  links: [
    {
      method: "POST",
      verb: "add",
      summary: "Add",
      of: "to",
      note: "Those that it has already are no fault.",
    },
    {
      method: "DELETE",
      verb: "remove",
      summary: "Take",
      of: "off",
      note: "Those that it has not are no fault.",
    },
  ],
} as const;

export function relationshipRoutes(
  kind: Kind,
  name: string,
  context: ResourceRoutesContext,
): readonly AnyRoute[] {
  const { type, noun, write: role, relationships } = kind.resource;
  const { type: to, kind: many, write: when = "never" } = relationships[name] as Relationship;
  if (many === "one" || (when !== "always" && when !== "links")) return [];
  const id = v.pipe(when === "links" ? uuidText : v.string(), v.description("Its id"));
  const identifiers = v.array(v.strictObject({ type: v.literal(to), id }));
  const data =
    when === "links"
      ? v.pipe(identifiers, v.minLength(1), v.maxLength(100), v.description("Some of them"))
      : v.pipe(identifiers, v.description("All of them, in order"));
  const schema = named(`${nameOf(type)}${pascal(name)}`, v.strictObject({ data }));
  return relationshipWrites[when].map(({ method, verb, summary, of, note }) =>
    route({
      method,
      path: `/api/v2/${type}/:${parameterOf(type)}/relationships/${name}`,
      operation: `${verb}${nameOf(type)}${pascal(name)}`,
      summary: `${summary} ${words(to)} ${of} ${article(noun)}`,
      description: `${note} Needs the role ${role}.`,
      auth: context.author,
      params: idParams(type),
      query: v.strictObject(dryRun),
      body: {
        schema,
        maxBytes: bodyBytesMax,
        mediaTypes: [jsonApiMediaType],
        example: { data: [{ type: to, id: exampleId }] },
      },
      responses: {
        204: { description: "It is changed" },
        200: { description: "It could be, with `dry_run`" },
      },
      errors: writeErrors,
      handle: async call => {
        const ids = call.body.data.map(each => each.id);
        const written =
          verb === "change"
            ? { object: { type, relationships: { [name]: call.body } } }
            : { more: { links: { [name]: { [verb]: ids } } } };
        const operation = { op: "update", kind, id: idOf(call, type), pointer: "/data", ...written } as const;
        const document = await write(call, operation, context, false).catch((error: unknown) => {
          throw inBody(error, `/data/relationships/${name}`);
        });
        const etag = String(document.data.meta?.etag);
        return { status: isDryRun(call) ? 200 : 204, headers: { etag } } as never;
      },
    }),
  );
}

/** Lets the pointers of an error begin at the body of a relationship. */
function inBody(error: unknown, prefix: string): unknown {
  if (!(error instanceof AppError) || error.fields === undefined) return error;
  const fields = error.fields.map(({ pointer, ...field }) => ({
    ...field,
    pointer: pointer === prefix ? "/data" : pointer.replace(`${prefix}/data`, "/data"),
  }));
  return new AppError(error.code, error.message, { fields });
}
