/**
 * Routes about apps beside the table: checking an address, the content types of a project, moving a project to another app, and the
 * files of the catalogue.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../auth/mod.ts";
import { type ContentType, catalogueApp, catalogueSpecPath, resources } from "../../authoring/mod.ts";
import { AppError } from "../../errors/mod.ts";
import {
  type AnyRoute,
  type Guard,
  jsonApiMediaType,
  named,
  open,
  type Reply,
  route,
} from "../../http/mod.ts";
import type { Author } from "../access/authors.ts";
import type { Entity } from "../entity.ts";
import { projectCodec } from "../entity.ts";
import { type AuthorCall, answer, idOf, idParams, pageLinks, selfOf } from "../jsonapi/calls.ts";
import type { ResourceObject } from "../jsonapi/documents.ts";
import { dryRun } from "../jsonapi/queries.ts";
import { documentSchema, listSchema } from "../jsonapi/schemas.ts";
import { type Kind, notFound } from "../kind.ts";
import { enabledTypes, useApp } from "../kinds/apps.ts";
import { type ControlServices, type Kinds, requireAccess } from "../services.ts";
import type { Writer } from "../write.ts";
import { readApp, steps } from "./read_app.ts";
import { usedTypes } from "./used_types.ts";

/** Dependencies of these routes. */
export interface AppRoutesContext {
  readonly services: ControlServices;
  readonly kinds: Kinds;
  readonly writer: Writer;
  readonly author: Guard<Author>;
  readonly random: RandomBytes;
}

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

const CheckBody = named(
  "NewSpecCheck",
  v.strictObject({
    data: v.strictObject({
      type: v.literal("spec_checks"),
      attributes: v.strictObject({
        spec_url: v.pipe(v.string(), v.maxLength(2_048), v.description("Address of `spec.json`")),
        user_agent: v.exactOptional(
          v.pipe(
            v.string(),
            v.regex(/^[\x20-\x7e]{1,200}$/, "Expected at most 200 visible ASCII characters"),
            v.description("Sent in place of our own, which names the authoring environment"),
          ),
        ),
      }),
    }),
  }),
);

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
      schema: CheckBody,
      mediaTypes: [jsonApiMediaType],
      example: {
        data: { type: "spec_checks", attributes: { spec_url: "https://apps.example/match/1.0.0/spec.json" } },
      },
    },
    responses: { 200: { description: "The outcome", schema: CheckDocument } },
    errors: ["not_acceptable"],
    handle: async call => {
      const { spec_url, user_agent } = call.body.data.attributes;
      const { app, checks } = await readApp(services, spec_url, user_agent);
      const attributes = { spec_url, passed: app !== null, checks };
      return answer(call, { data: { type: "spec_checks", id: uuid(random), attributes } }) as never;
    },
  });
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
  const home = { kind: "project", id } as const;
  await requireAccess(services, author, home, { needed: types.read, noun: "project" });
  const project = await projectOf(services, id);
  const enabled = enabledTypes(project);
  const all = (await services.apps.typesOf(id)) ?? [];
  return all.map(type => typeObject(type, { project, enabled, base: services.base }));
}

function typeObject(
  definition: ContentType,
  {
    project: { id },
    enabled,
    base,
  }: { readonly project: Entity; readonly enabled: readonly string[]; readonly base: string },
): ResourceObject {
  const { name, content_type, derived_from = null, wrapper = false, templates = [] } = definition;
  return {
    type: "content_types",
    id: content_type,
    attributes: {
      ...{ name, content_type, derived_from, wrapper, templates, definition },
      enabled: enabled.includes(content_type),
    },
    relationships: { project: { data: { type: "projects", id } } },
    links: { self: `${base}/projects/${id}/content_types/${encodeURIComponent(content_type)}` },
  };
}

async function projectOf({ directory }: ControlServices, id: string): Promise<Entity> {
  const stored = await directory.project(id);
  if (stored === null) throw notFound("project");
  return projectCodec.decode(stored);
}

const MoveBody = named(
  "AppOfProject",
  v.strictObject({
    data: v.strictObject({ type: v.literal("apps"), id: v.pipe(v.string(), v.uuid(), v.toLowerCase()) }),
  }),
);

const MoveDocument = named(
  "AppMoveDocument",
  v.object({
    data: v.object({ type: v.literal("apps"), id: text("Id of the app") }),
    meta: v.object({
      dry_run: v.boolean(),
      added_types: v.pipe(v.array(v.string()), v.description("Content types that the project gains")),
      removed_types: v.pipe(v.array(v.string()), v.description("Content types that the project loses")),
    }),
  }),
);

function moveRoute({ services, kinds, writer, author }: AppRoutesContext): AnyRoute {
  const { projects } = kinds;
  if (projects === undefined) throw new TypeError("Cannot move projects without their kind");
  return route({
    method: "PATCH",
    path: "/api/v2/projects/:projectId/relationships/app",
    operation: "changeProjectApp",
    summary: "Move a project to another app",
    description:
      "Makes the project use another app of its space. Answers 409 with `types` while elements have content types that the other app lacks, unless `force` is `true`. Needs the role admin.",
    auth: author,
    params: idParams("projects"),
    query: v.strictObject({
      ...dryRun,
      force: v.optional(
        v.pipe(
          v.picklist(["true", "false"], "Expected true or false"),
          v.description("`true`: moves the project although elements lose their content type"),
        ),
      ),
    }),
    body: {
      schema: MoveBody,
      mediaTypes: [jsonApiMediaType],
      example: { data: { type: "apps", id: "2f1d0c5e-6a70-4b1e-9d52-0c8a4f6b7e31" } },
    },
    responses: {
      204: { description: "It is moved" },
      200: { description: "What a move would change, with `dry_run`", schema: MoveDocument },
    },
    errors: ["not_found", "forbidden", "conflict", "precondition_failed", "unprocessable", "not_acceptable"],
    handle: call => moveProject(call, { services, writer, projects }) as never,
  });
}

async function moveProject(
  call: AuthorCall,
  {
    services,
    writer,
    projects,
  }: { readonly services: ControlServices; readonly writer: Writer; readonly projects: Kind },
): Promise<Reply> {
  const body = call.body as v.InferOutput<typeof MoveBody>;
  const query = call.query as { readonly dry_run?: string; readonly force?: string };
  const id = idOf(call, "projects");
  const isDry = query.dry_run === "true";
  const home = { kind: "project", id } as const;
  await requireAccess(services, call.principal, home, { needed: "admin", noun: "project" });
  const project = await projectOf(services, id);
  const { space: spaceId = "", app: former } = project.refs;
  const appId = body.data.id;
  const input = { attributes: {}, refs: { app: appId }, action: null, pointer: "" };
  const change = { id, input, isDry: true, author: call.principal };
  const tried = await useApp(services, change, spaceId);
  const next = tried.attributes.app_types as readonly string[];
  const before = (await services.apps.typesOf(id))?.map(type => type.content_type);
  const removed = (before ?? []).filter(type => !next.includes(type));
  if (query.force !== "true" && (before === undefined || removed.length > 0))
    await requireUnused(services, id, next);
  const { attributes, after } = await useApp(services, { ...change, isDry }, spaceId);
  const [written] = await writer
    .write({
      author: call.principal,
      operations: [
        {
          ...{ op: "update", kind: projects, id, pointer: "" },
          more: { refs: input.refs, attributes },
          ifMatch: call.request.headers.get("if-match") ?? undefined,
        },
      ],
      requestId: call.requestId,
      isDry,
      shown: { base: services.base, fields: new Map(), isListed: true },
    })
    .finally(after);
  if (!isDry && former !== undefined) await services.apps.releaseUnused(spaceId, former, id);
  const added_types = next.filter(type => !(before ?? []).includes(type));
  const meta = { dry_run: true, added_types, removed_types: removed };
  if (isDry) return answer(call, { data: body.data, meta } as never);
  return { status: 204, headers: { etag: String(written?.meta?.etag) } };
}

/** @throws {AppError} `conflict`: elements have content types that are not among these. */
async function requireUnused(
  { store }: ControlServices,
  projectId: string,
  next: readonly string[],
): Promise<void> {
  const used = await usedTypes(store, projectId);
  const lost = used.filter(type => !next.includes(type));
  if (lost.length === 0) return;
  throw new AppError(
    "conflict",
    `Cannot move the project as its elements have content types that the app lacks: ${lost.slice(0, 20).join(", ")}`,
    { details: { types: lost } },
  );
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
