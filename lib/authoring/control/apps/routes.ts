/**
 * Routes about apps beside the table: checking an address, the content types of a project, moving a project to another app, and the
 * files of the catalogue.
 */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import { named, open, route } from "../../../http/mod.ts";
import { catalogueApp, cataloguePath, catalogueSpecPath, resources } from "../../table/mod.ts";
import { requireAccess } from "../access/roles.ts";
import type { ResourceObject } from "../jsonapi/documents.ts";
import { type AuthorCall, answer, idOf, idParams, pageLinks, selfOf } from "../jsonapi/documents.ts";
import { newObjectOf, readInput } from "../jsonapi/input.ts";
import { bodyOf, documentSchema, listSchema } from "../jsonapi/schemas.ts";
import { notFound } from "../kind.ts";
import type { ControlServices } from "../services.ts";
import type { ResourceRoutesContext } from "../write.ts";
import { moveRoute } from "./move_route.ts";
import { readApp } from "./read_app.ts";

export function appRoutes(context: ResourceRoutesContext) {
  return [
    checkRoute(context),
    ...typeRoutes(context),
    moveRoute(context),
    ...catalogueRoutes(context.services),
  ];
}

const { content_types: types, spec_checks: specChecks } = resources;

function checkRoute({ services, author, random }: ResourceRoutesContext) {
  return route({
    method: "POST",
    path: "/api/v2/apps/validate_spec_url",
    operation: "validateSpecUrl",
    summary: "Check the address of an app",
    description:
      "Reads `spec.json` and the `elements.json` beside it as the creation of an app does, and answers the outcome of every step. Keeps nothing.",
    auth: author,
    body: bodyOf(specChecks, true),
    responses: { 200: { description: "The outcome", schema: documentSchema(specChecks) } },
    errors: ["not_acceptable", "unprocessable", "conflict"],
    handle: async call => {
      const { type } = specChecks;
      const pointer = "/data";
      const input = readInput(newObjectOf(call, type), {
        resource: specChecks,
        isNew: true,
        role: "viewer",
        pointer,
      });
      const { spec_url, user_agent } = input.attributes as Readonly<Record<string, string>>;
      const { app, checks } = await readApp(services, String(spec_url), user_agent);
      const attributes = { spec_url, passed: app !== null, checks };
      return answer(call, { data: { type, id: uuid(random), attributes } }) as never;
    },
  });
}

function typeRoutes(context: ResourceRoutesContext) {
  const path = "/api/v2/projects/:projectId/content_types";
  const common = {
    method: "GET",
    auth: context.author,
    errors: ["not_found", "forbidden", "not_acceptable"],
  } as const;
  return [
    route({
      ...common,
      path,
      operation: "listProjectContentTypes",
      summary: "List the content types of a project",
      description: `${types.description} Lists all types of the app in its order; the id of each is its \`content_type\`. Needs the role ${types.read}.`,
      params: idParams("projects"),
      responses: { 200: { description: "The content types", schema: listSchema(types) } },
      handle: async call => {
        const data = await typesOf(context, call);
        const links = pageLinks(selfOf(context.services, call), null);
        return answer(call, { data, links, meta: { total: data.length } }) as never;
      },
    }),
    route({
      ...common,
      path: `${path}/:contentType`,
      operation: "readProjectContentType",
      summary: "Read a content type of a project",
      description: `${types.description} Needs the role ${types.read}.`,
      params: v.object({
        ...idParams("projects").entries,
        contentType: v.pipe(v.string(), v.maxLength(100), v.description("The `content_type`")),
      }),
      responses: { 200: { description: "The content type", schema: documentSchema(types) } },
      handle: async call => {
        const all = await typesOf(context, call);
        const { contentType } = call.params as Readonly<Record<string, string>>;
        const data = all.find(({ id }) => id === contentType);
        if (data === undefined) throw notFound(types.noun);
        return answer(call, { data }) as never;
      },
    }),
  ];
}

async function typesOf(
  { services }: ResourceRoutesContext,
  call: AuthorCall,
): Promise<readonly ResourceObject[]> {
  const { apps, base } = services;
  const id = idOf(call, "projects");
  const home = { kind: "project", id } as const;
  await requireAccess(services, call.principal, home, {
    needed: types.read,
    noun: "project",
    eventId: null,
  });
  const project = await apps.project(id);
  if (project === null) throw notFound("project");
  return ((await apps.typesOf(project)) ?? []).map(({ definition, isEnabled: enabled }) => {
    const { name, content_type, derived_from = null, wrapper = false, templates = [] } = definition;
    return {
      type: "content_types",
      id: content_type,
      attributes: { name, content_type, derived_from, wrapper, templates, definition, enabled },
      relationships: { project: { data: { type: "projects", id } } },
      links: { self: `${base}/projects/${id}/content_types/${encodeURIComponent(content_type)}` },
    };
  });
}

const FileSchema = named("CatalogueSpec", v.record(v.string(), v.unknown()));
const ItemsSchema = named("CatalogueElements", v.array(v.record(v.string(), v.unknown())));

function catalogueRoutes({ publicUrl }: ControlServices) {
  const { spec, elements } = catalogueApp(publicUrl);
  return [
    fileRoute(catalogueSpecPath, { operation: "readCatalogueSpec", schema: FileSchema, json: spec }),
    fileRoute(`${cataloguePath}/elements.json`, {
      operation: "readCatalogueElements",
      schema: ItemsSchema,
      json: elements,
    }),
  ];
}

interface CatalogueFile<O extends string, S extends v.GenericSchema> {
  readonly operation: O;
  readonly schema: S;
  readonly json: unknown;
}

function fileRoute<const U extends `/${string}`, const O extends string, S extends v.GenericSchema>(
  path: U,
  { operation, schema, json }: CatalogueFile<O, S>,
) {
  return route({
    method: "GET",
    path,
    operation,
    summary: `Read ${path.split("/").at(-1)} of the catalogue`,
    description: "A file of the app that the platform has itself. Its content types suit most shows.",
    auth: open,
    responses: { 200: { description: "The file", schema } },
    cache: "public",
    handle: async () => {
      const headers = { "content-type": "application/json", "cache-control": "public, max-age=300" };
      return { status: 200, json, headers } as never;
    },
  });
}
