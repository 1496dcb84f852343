/** Moving a project to another app of its space. */

import * as v from "valibot";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { directoryPartition } from "../../../fans/directory/records.ts";
import { named, type Reply, route } from "../../../http/mod.ts";
import { jsonApiMediaType } from "../../../http/requests/body.ts";
import { readMany } from "../../../storage/board_pages.ts";
import { type BoardEntry, readPageAfter, type Store } from "../../../storage/mod.ts";
import { type AppSpec, type Contents, contentsKey, elementKey } from "../../table/mod.ts";
import { requireAccess } from "../access/roles.ts";
import { type AuthorCall, answer, idOf, idParams } from "../jsonapi/documents.ts";
import { dryRun } from "../jsonapi/schemas.ts";
import type { Entity } from "../kind.ts";
import { notFound } from "../kind.ts";
import { useApp } from "../kinds/apps.ts";
import { templatesKey } from "../kinds/templates.ts";
import type { ControlServices } from "../services.ts";
import { type ResourceRoutesContext, write } from "../write.ts";
import { readApp } from "./read_app.ts";

const MoveBody = named(
  "AppOfProject",
  v.strictObject({
    data: v.pipe(
      v.strictObject({ type: v.literal("apps"), id: v.pipe(v.string(), v.uuid(), v.toLowerCase()) }),
      v.description("The app that the project gets"),
    ),
  }),
);

const MoveDocument = named(
  "AppMoveDocument",
  v.object({
    data: v.object({ type: v.literal("apps"), id: v.pipe(v.string(), v.description("Id of the app")) }),
    meta: v.object({
      dry_run: v.boolean(),
      added_types: v.pipe(v.array(v.string()), v.description("Content types that the project gains")),
      removed_types: v.pipe(v.array(v.string()), v.description("Content types that the project loses")),
    }),
  }),
);

export function moveRoute(context: ResourceRoutesContext) {
  return route({
    method: "PATCH",
    path: "/api/v2/projects/:projectId/relationships/app",
    operation: "changeProjectApp",
    summary: "Move a project to another app",
    description:
      "Makes the project use another app of its space. Answers 409 with `types` while elements of events or event templates have content types that the other app lacks, unless `force` is `true`; such elements cannot be published then. Needs the role admin.",
    auth: context.author,
    params: idParams("projects"),
    query: v.strictObject({
      ...dryRun,
      spec_url: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(1_024),
          v.description("With `dry_run`: tries what this address has now, in place of the app of the body"),
        ),
      ),
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
    errors: [
      "not_found",
      "forbidden",
      "conflict",
      "project_archived",
      "precondition_failed",
      "not_acceptable",
    ],
    handle: call => moveProject(call, context) as never,
  });
}

async function moveProject(call: AuthorCall, context: ResourceRoutesContext): Promise<Reply> {
  const { services, kinds } = context;
  const { data } = call.body as v.InferOutput<typeof MoveBody>;
  const query = call.query as Readonly<Partial<Record<"dry_run" | "force" | "spec_url", string>>>;
  const id = idOf(call, "projects");
  const isDry = query.dry_run === "true";
  const { apps } = services;
  const home = { kind: "project", id } as const;
  await requireAccess(services, call.principal, home, { needed: "admin", noun: "project" });
  const project = await apps.project(id);
  if (project === null || kinds.projects === undefined) throw notFound("project");
  const use = { spaceId: project.refs.space ?? "", appId: data.id, projectId: id, pointer: "/data/id" };
  const tried = query.spec_url === undefined ? null : await triedApp(services, query.spec_url, isDry);
  const { elements } = tried ?? (await useApp(services, { ...use, isDry: true })).app;
  const before = (await apps.typesOf(project))?.map(({ definition }) => definition.content_type);
  const next = elements.map(type => type.content_type);
  const removed_types = (before ?? []).filter(type => !next.includes(type));
  if (query.force !== "true" && (before === undefined || removed_types.length > 0))
    await requireUnused(services, id, next);
  const { after, app } = tried === null ? await useApp(services, { ...use, isDry }) : { app: tried };
  const more = { refs: { app: data.id }, app };
  const operation = { op: "update", kind: kinds.projects, id, pointer: "", more } as const;
  const written = await write(call, operation, context, false).finally(after);
  if (!isDry) return { status: 204, headers: { etag: String(written.data.meta?.etag) } };
  const added_types = next.filter(type => before?.includes(type) !== true);
  return answer(call, { data, meta: { dry_run: true, added_types, removed_types } } as never);
}

/** Reads the app at an address, which nothing registers. @throws {AppError} `validation_failed` */
async function triedApp(services: ControlServices, specUrl: string, isDry: boolean): Promise<AppSpec> {
  const refused = (detail: string) => invalidField("Cannot try the address of an app", "spec_url", detail);
  if (!isDry) throw refused("Expected `dry_run=true` beside it");
  const { app, checks } = await readApp(services, specUrl);
  if (app !== null) return app;
  const { file, detail } = checks.find(({ result }) => result === "fail") ?? {};
  throw refused(`${file}: ${detail}`);
}

/** @throws {AppError} `conflict`: elements have content types that are not among these. */
async function requireUnused(
  { store }: ControlServices,
  projectId: string,
  next: readonly string[],
): Promise<void> {
  const used = await usedTypes(store, directoryPartition("project", projectId));
  const types = used.filter(type => !next.includes(type));
  if (types.length === 0) return;
  throw new AppError(
    "conflict",
    `Cannot move the project as its elements have content types that the app lacks: ${types.slice(0, 20).join(", ")}`,
    { details: { types } },
  );
}

const eventsMax = 100;

/** Returns the content types that elements of a project have. Reads all of them, 500 at once. */
async function usedTypes(store: Store, partition: string): Promise<readonly string[]> {
  const records = async <T>(keys: readonly string[]): Promise<readonly T[]> => {
    const queries = keys.map(key => ({ type: "record", key }) as const);
    const stored = await readMany(store, partition, queries);
    return stored.filter(record => record !== null).map(({ value }) => JSON.parse(value) as T);
  };
  const types = new Set<string>();
  const addTypesOf = async (owners: readonly string[]): Promise<void> => {
    const contents = await records<Contents>(owners.map(contentsKey));
    const keys = contents.flatMap(({ elements }) => elements.map(({ id }) => elementKey(id)));
    for (const { attributes } of await records<Entity>(keys)) types.add(String(attributes.content_type));
  };
  const [templates = []] = await records<readonly string[]>([templatesKey]);
  await addTypesOf(templates);
  let after: BoardEntry | null = null;
  for (;;) {
    const query = { key: "events", direction: "desc", after, limit: eventsMax } as const;
    const { entries, isEnd } = await readPageAfter(store, partition, query);
    await addTypesOf(entries.map(({ member }) => member));
    after = entries.at(-1) ?? null;
    if (isEnd || after === null) return [...types].sort();
  }
}
