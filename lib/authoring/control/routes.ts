/** The routes of the control API, made from the table of resources. */

import * as v from "valibot";
import { type AnyRoute, route } from "../../http/mod.ts";
import { isNotModified } from "../../http/replies/byte_reply.ts";
import { jsonApiMediaType } from "../../http/requests/body.ts";
import type { Operation, ResourceType } from "../table/mod.ts";
import { homeFor, homeOf, requireAccess, requireReach } from "./access/roles.ts";
import {
  answer,
  article,
  created,
  idOf,
  idParams,
  isDryRun,
  listViewOf,
  nameOf,
  parameterOf,
  pascal,
  pathOf,
  pathUnder,
  selfOf,
  viewOf,
  words,
  writeErrors,
} from "./jsonapi/documents.ts";
import { mismatch, newObjectOf, objectOf } from "./jsonapi/input.ts";
import {
  bodyOf,
  documentSchema,
  dryRun,
  listQuery,
  listSchema,
  readQuery,
  writeQuery,
} from "./jsonapi/schemas.ts";
import type { Query, ResourceRoute } from "./jsonapi/types.ts";
import type { Kind } from "./kind.ts";
import { platformHome } from "./kind.ts";
import { annotationRoutes, type RoleRoute, relationshipRoutes, roleRoute } from "./part_routes.ts";
import { chanceOf, newId, onceOf, type ResourceRoutesContext, write } from "./write.ts";

export function resourceRoutes(
  context: ResourceRoutesContext,
): readonly (ResourceRoute | RoleRoute<"events"> | RoleRoute<"elements">)[] {
  // The types of the routes follow from the table as the routes do: a test compares them.
  return Object.values(context.kinds).flatMap(kind => routesOf(kind, context)) as never;
}

function routesOf(kind: Kind, context: ResourceRoutesContext): readonly AnyRoute[] {
  const { operations, under: lists } = kind.resource;
  const has = (operation: Operation): boolean => operations.includes(operation);
  const parents = lists.filter(under => under !== null);
  const isNested = kind.resource.isCreatedUnderParent === true;
  return [
    ...(has("list") ? lists.map(under => listRoute(kind, under, context)) : []),
    ...(has("read") ? [readRoute(kind, context)] : []),
    ...(has("create")
      ? isNested
        ? parents.map(under => createRoute(kind, under, context))
        : [createRoute(kind, null, context)]
      : []),
    ...(has("change") ? [changeRoute(kind, context)] : []),
    ...(has("remove") ? [removeRoute(kind, context)] : []),
    ...(has("change") && kind.resource.attributes.annotations !== undefined
      ? annotationRoutes(kind, readRoute(kind, context), changeRoute(kind, context))
      : []),
    ...(kind.eventOf === undefined ? [] : [roleRoute(kind, context)]),
    ...Object.keys(kind.resource.relationships).flatMap(name => relationshipRoutes(kind, name, context)),
  ];
}

function listRoute(
  kind: Kind,
  under: ResourceType | null,
  { services, reader, author, kinds }: ResourceRoutesContext,
): AnyRoute {
  const { resource } = kind;
  const parent = under === null ? null : kinds[under];
  if (parent === undefined) throw new TypeError(`Cannot list ${resource.type} under ${under}`);
  const noun = parent?.resource.noun ?? resource.noun;
  return route({
    method: "GET",
    path: pathUnder(resource, under),
    operation: `list${under === null ? "" : nameOf(under)}${pascal(pathOf(resource, under))}`,
    summary: `List the ${words(resource.type)} ${parent === null ? "that you may see" : `of ${article(noun)}`}`,
    description: `${resource.description} Needs the role ${resource.read}.`,
    auth: author,
    ...(under === null ? {} : { params: idParams(under) }),
    query: listQuery(resource),
    responses: { 200: { description: "A page of the list", schema: listSchema(resource) } },
    errors: ["not_found", "forbidden", "not_acceptable"],
    handle: async call => {
      const id = under === null ? "" : idOf(call, under);
      const above = parent === null ? platformHome : await homeOf(services, parent, id);
      const find = kind.outline === undefined ? requireAccess : requireReach;
      const access = await find(services, call.principal, above, {
        needed: resource.read,
        noun,
        eventId: under === "events" ? id : undefined,
      });
      const document = await reader.list(
        call.principal,
        {
          type: resource.type,
          parent: { type: under ?? resource.type, id },
          access: { ...access, home: await homeFor(services, kind, access.home) },
        },
        listViewOf(resource, call.query as Query),
        selfOf(services, call),
      );
      return answer(call, document) as never;
    },
  });
}

function readRoute(kind: Kind, { reader, author }: ResourceRoutesContext): AnyRoute {
  const { resource } = kind;
  const { type, noun } = resource;
  return route({
    method: "GET",
    path: `/api/v2/${type}/:${parameterOf(type)}`,
    operation: `read${nameOf(type)}`,
    summary: `Read ${article(noun)}`,
    description: `${resource.description} Needs the role ${resource.read}.`,
    auth: author,
    params: idParams(type),
    query: readQuery(resource),
    responses: {
      200: { description: `The ${noun}`, schema: documentSchema(resource) },
      304: { description: "It has not changed" },
    },
    errors: ["not_found", "not_acceptable"],
    handle: async call => {
      const document = await reader.one(
        call.principal,
        type,
        idOf(call, type),
        viewOf(resource, call.query as Query),
      );
      const etag = String(document.data.meta?.etag);
      if (isNotModified(call.request, etag)) return { status: 304, headers: { etag } } as never;
      return answer(call, document, { etag }) as never;
    },
  });
}

function createRoute(kind: Kind, under: ResourceType | null, context: ResourceRoutesContext): AnyRoute {
  const { resource } = kind;
  const { type, noun } = resource;
  const { author } = context;
  return route({
    method: "POST",
    path: pathUnder(resource, under),
    operation: `create${under === null ? "" : nameOf(under)}${nameOf(type)}`,
    summary: `Create ${article(noun)}`,
    description: `${resource.description} Creating one needs the role ${resource.write}.`,
    auth: author,
    ...(under === null ? {} : { params: idParams(under) }),
    query: writeQuery(resource),
    body: bodyOf(resource, true),
    responses: {
      201: { description: `The new ${noun}`, schema: documentSchema(resource) },
      200: { description: "What would be created, with `dry_run`", schema: documentSchema(resource) },
    },
    errors: writeErrors,
    handle: async call => {
      const object = newObjectOf(call, type);
      const parent = under === null ? undefined : { type: under, id: idOf(call, under) };
      const random = chanceOf(onceOf(call), 0, context.random);
      const { id } = await newId(kind, object, parent, { ...context, random });
      const document = await write(
        call,
        { op: "add", kind, id, object, pointer: "/data", ...(parent === undefined ? {} : { parent }) },
        context,
      );
      return created(call, document) as never;
    },
  });
}

function changeRoute(kind: Kind, context: ResourceRoutesContext): AnyRoute {
  const { resource } = kind;
  const { type, noun } = resource;
  return route({
    method: "PATCH",
    path: `/api/v2/${type}/:${parameterOf(type)}`,
    operation: `change${nameOf(type)}`,
    summary: `Change ${article(noun)}`,
    description: `Changes what the body names and leaves the rest. Needs the role ${resource.write}. Answers 204, or 200 with the ${noun} where \`Accept\` names ${jsonApiMediaType}.`,
    auth: context.author,
    params: idParams(type),
    query: writeQuery(resource),
    body: bodyOf(resource, false),
    responses: {
      200: { description: `The changed ${noun}`, schema: documentSchema(resource) },
      204: { description: "It is changed" },
    },
    errors: writeErrors,
    handle: async call => {
      const id = idOf(call, type);
      const object = objectOf(call, type);
      if (object.id !== undefined && object.id.toLowerCase() !== id)
        throw mismatch("/data/id", "Expected the id of the path");
      const isAnswered =
        isDryRun(call) || call.request.headers.get("accept")?.includes(jsonApiMediaType) === true;
      const document = await write(
        call,
        { op: "update", kind, id, object, pointer: "/data" },
        context,
        isAnswered,
      );
      const etag = String(document.data.meta?.etag);
      if (isDryRun(call)) return answer(call, { ...document, meta: { dry_run: true } }) as never;
      return (isAnswered ? answer(call, document, { etag }) : { status: 204, headers: { etag } }) as never;
    },
  });
}

function removeRoute(kind: Kind, context: ResourceRoutesContext): AnyRoute {
  const { resource } = kind;
  const { type, noun } = resource;
  return route({
    method: "DELETE",
    path: `/api/v2/${type}/:${parameterOf(type)}`,
    operation: `remove${nameOf(type)}`,
    summary: `Remove ${article(noun)}`,
    description: `Needs the role ${resource.write}.`,
    auth: context.author,
    params: idParams(type),
    query: v.strictObject(dryRun),
    responses: {
      204: { description: "It is removed" },
      200: { description: "It could be removed, with `dry_run`" },
    },
    errors: writeErrors,
    handle: async call => {
      await write(call, { op: "remove", kind, id: idOf(call, type), pointer: "/data" }, context);
      return { status: isDryRun(call) ? 200 : 204 } as never;
    },
  });
}
