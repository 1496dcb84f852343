/**
 * Routes about apps beside the table: checking an address, the content types of a project, moving a project to another app, and the
 * files of the catalogue.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import { catalogueApp, catalogueSpecPath, plainObject, resources } from "../../authoring/mod.ts";
import { jsonPointer } from "../../errors/mod.ts";
import { type AnyRoute, issueDetail, jsonApiMediaType, named, open, route } from "../../http/mod.ts";
import type { Author } from "../access/authors.ts";
import { answer, idOf, idParams, pageLinks, selfOf } from "../jsonapi/calls.ts";
import type { ResourceObject } from "../jsonapi/documents.ts";
import { documentSchema, listSchema } from "../jsonapi/schemas.ts";
import { notFound, unprocessable } from "../kind.ts";
import { type ControlServices, requireAccess } from "../services.ts";
import { type AppRoutesContext, moveRoute } from "./move_route.ts";
import { readApp, steps } from "./read_app.ts";

/** Builds the routes. */
export function appRoutes(context: AppRoutesContext): readonly AnyRoute[] {
  return [
    checkRoute(context),
    listTypesRoute(context),
    readTypeRoute(context),
    moveRoute(context),
    ...catalogueRoutes(context.services),
  ];
}

const text = (description: string) => v.pipe(v.string(), v.description(description));

const CheckAttributes = v.strictObject({
  spec_url: v.pipe(v.string(), v.maxLength(2_048), v.description("Address of `spec.json`")),
  user_agent: v.exactOptional(
    v.pipe(
      v.string(),
      v.regex(/^[\x20-\x7e]{1,200}$/, "Expected at most 200 visible ASCII characters"),
      v.description("Sent in place of our own, which names the authoring environment"),
    ),
  ),
});
const CheckBody = named(
  "NewSpecCheck",
  v.strictObject({
    data: v.strictObject({ type: v.literal("spec_checks"), attributes: CheckAttributes }),
  }),
);
const checkObject = plainObject(v.record(v.string(), v.unknown()));
const CheckInput = v.strictObject({
  data: v.strictObject({ type: v.literal("spec_checks"), attributes: checkObject }),
});

const CheckDocument = named(
  "SpecChecksDocument",
  v.object({
    data: v.object({
      type: v.literal("spec_checks"),
      id: text("Id of the check, which is not kept"),
      attributes: v.object({
        spec_url: text("The address"),
        passed: v.pipe(v.boolean(), v.description("True if an app can be made of it")),
        checks: v.array(
          v.object({
            file: v.pipe(v.picklist(["spec.json", "elements.json"]), v.description("The file")),
            check: v.pipe(v.picklist(steps), v.description("The step")),
            result: v.pipe(v.picklist(["pass", "fail", "skipped"]), v.description("Its outcome")),
            detail: v.exactOptional(text("What is wrong")),
            pointer: v.exactOptional(text("Where it is wrong, as a JSON Pointer into the file")),
          }),
        ),
      }),
    }),
  }),
);

function checkRoute({ services, author, random }: AppRoutesContext): AnyRoute {
  return route({
    method: "POST",
    path: "/api/v2/apps/validate_spec_url",
    operation: "validateSpecUrl",
    summary: "Check the address of an app",
    description:
      "Reads `spec.json` and the `elements.json` beside it as the creation of an app does, and answers the outcome of every step. Keeps nothing.",
    auth: author,
    body: {
      schema: CheckInput,
      described: CheckBody,
      mediaTypes: [jsonApiMediaType],
      example: {
        data: { type: "spec_checks", attributes: { spec_url: "https://apps.example/match/1.0.0/spec.json" } },
      },
    },
    responses: { 200: { description: "The outcome", schema: CheckDocument } },
    errors: ["not_acceptable", "unprocessable"],
    handle: async call => {
      const { spec_url, user_agent } = checkedAttributes(call.body.data.attributes);
      const { app, checks } = await readApp(services, spec_url, user_agent);
      const attributes = { spec_url, passed: app !== null, checks };
      return answer(call, { data: { type: "spec_checks", id: uuid(random), attributes } }) as never;
    },
  });
}

/** @throws {AppError} `unprocessable` with all faults. */
function checkedAttributes(given: unknown): v.InferOutput<typeof CheckAttributes> {
  const result = v.safeParse(CheckAttributes, given);
  if (result.success) return result.output;
  const faults = result.issues.map(issue => {
    const path = (issue.path ?? []).map(({ key }) => String(key));
    return { pointer: `/data/attributes${jsonPointer(...path)}`, detail: issueDetail(issue) };
  });
  throw unprocessable(...faults);
}

const types = resources.content_types;

function listTypesRoute(context: AppRoutesContext): AnyRoute {
  return route({
    method: "GET",
    path: "/api/v2/projects/:projectId/content_types",
    operation: "listProjectContentTypes",
    summary: "List the content types of a project",
    description: `${types.description} Lists all types of the app in its order; the id of each is its \`content_type\`. Needs the role ${types.read}.`,
    auth: context.author,
    params: idParams("projects"),
    responses: { 200: { description: "The content types", schema: listSchema(types) } },
    errors: ["not_found", "forbidden", "not_acceptable"],
    handle: async call => {
      const data = await typeObjects(context, call.principal, idOf(call, "projects"));
      const links = pageLinks(selfOf(context.services, call), null);
      return answer(call, { data, links, meta: { total: data.length } }) as never;
    },
  });
}

function readTypeRoute(context: AppRoutesContext): AnyRoute {
  return route({
    method: "GET",
    path: "/api/v2/projects/:projectId/content_types/:contentType",
    operation: "readProjectContentType",
    summary: "Read a content type of a project",
    description: `${types.description} Needs the role ${types.read}.`,
    auth: context.author,
    params: v.object({
      ...idParams("projects").entries,
      contentType: v.pipe(v.string(), v.maxLength(100), v.description("The `content_type`")),
    }),
    responses: { 200: { description: "The content type", schema: documentSchema(types) } },
    errors: ["not_found", "forbidden", "not_acceptable"],
    handle: async call => {
      const all = await typeObjects(context, call.principal, idOf(call, "projects"));
      const { contentType } = call.params as Readonly<Record<string, string>>;
      const data = all.find(({ id }) => id === contentType);
      if (data === undefined) throw notFound(types.noun);
      return answer(call, { data }) as never;
    },
  });
}

async function typeObjects(
  { services }: AppRoutesContext,
  author: Author,
  id: string,
): Promise<readonly ResourceObject[]> {
  const { apps, base } = services;
  const home = { kind: "project", id } as const;
  await requireAccess(services, author, home, { needed: types.read, noun: "project" });
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

function catalogueRoutes({ base }: ControlServices): readonly AnyRoute[] {
  const { spec, elements } = catalogueApp(base.replace(/\/api\/v2$/, ""));
  const files = [
    ["spec.json", "Spec", FileSchema, spec],
    ["elements.json", "Elements", ItemsSchema, elements],
  ] as const;
  return files.map(([file, name, schema, json]) =>
    route({
      method: "GET",
      path: catalogueSpecPath.replace("spec.json", file) as `/${string}`,
      operation: `readCatalogue${name}`,
      summary: `Read ${file} of the catalogue`,
      description: "A file of the app that the platform has itself. Its content types suit most shows.",
      auth: open,
      responses: { 200: { description: "The file", schema } },
      cache: "public",
      handle: async () => {
        const headers = { "content-type": "application/json", "cache-control": "public, max-age=300" };
        return { status: 200, json, headers } as never;
      },
    }),
  );
}
