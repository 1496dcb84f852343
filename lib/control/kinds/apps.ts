/** Apps. */

import { type AppSpec, resources } from "../../authoring/mod.ts";
import { documentDigest } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { appKey, appsKey, usesOf } from "../apps/apps.ts";
import { type CheckRow, readApp } from "../apps/read_app.ts";
import type { Attributes, Entity } from "../entity.ts";
import {
  type BeforeChange,
  type Input,
  type Kind,
  sharedRecord,
  unknownRelated,
  unprocessable,
} from "../kind.ts";
import { type ControlServices, requireAccess } from "../services.ts";

/** Most apps of a space. */
const appsMax = 500;

/** Builds the kind of apps. */
export function appKind(services: ControlServices): Kind {
  const records = sharedRecord(appsKey, appsMax);
  const { apps } = services;
  return {
    resource: resources.apps,
    records,
    createdIn: ({ space }) => ({ under: { type: "spaces", id: space ?? "" } }),
    list: draft =>
      records
        .list(draft)
        .map(({ id }) => id)
        .toReversed(),
    present: app => ({ attributes: { project_count: Object.keys(usesOf(app)).length } }),
    prepare(entity, draft) {
      const { specification: _, ...attributes } = entity.attributes;
      const app = { ...entity, attributes };
      const same = records.list(draft).find(other => isSameVersion(other, app));
      if (same === undefined) return app;
      const isEqual = same.attributes.spec_digest === attributes.spec_digest;
      throw new AppError(
        "conflict",
        isEqual
          ? "Cannot add the app as the space has it already"
          : "Cannot add the app as the space has this version of it with other contents: publish it under another version",
        { details: { id: same.id } },
      );
    },
    changed: ({ id }, draft, { input }) => draft.put(appKey(id), input.attributes.specification),
    async before({ isNew, input }) {
      if (!isNew) return undefined;
      const { app, checks } = await readApp(services, String(input.attributes.spec_url));
      if (app === null) throw badSpec(input, checks);
      return { attributes: { ...input.attributes, ...derived(app, Math.floor(services.clock() / 1_000)) } };
    },
    beforeRemoval: (id, { id: spaceId }) => apps.releaseStale(spaceId, id),
    removed(app, draft) {
      const projects = Object.keys(usesOf(app));
      if (projects.length > 0)
        throw new AppError("conflict", "Cannot remove the app as projects use it: move them to another one", {
          details: { projects },
        });
      draft.put(appKey(app.id), null);
    },
  };
}

function isSameVersion(a: Entity, b: Entity): boolean {
  return a.attributes.spec_id === b.attributes.spec_id && a.attributes.version === b.attributes.version;
}

/** The attributes that a specification decides, and the specification itself, which gets a record of its own. */
function derived(app: AppSpec, now: number): Attributes {
  const { name, id, version } = app.spec;
  const { spec, elements } = app;
  return {
    name,
    spec_id: id,
    version,
    spec_digest: documentDigest({ spec, elements }),
    fetched_at: now,
    specification: app,
  };
}

function badSpec({ pointer }: Input, checks: readonly CheckRow[]): AppError {
  const failed = checks.filter(({ result }) => result === "fail");
  return unprocessable(
    ...failed.map(({ file, pointer: at = "", detail }) => ({
      pointer: `${pointer}/attributes/spec_url`,
      detail: `${file}${at === "" ? "" : ` at ${at}`}: ${detail}`,
    })),
  );
}

/**
 * Notes that a project is about to use an app, and returns what its record has to say of it.
 *
 * @throws {AppError} `unprocessable`: the app is of another space; `not_found`: there is none that the caller may see.
 */
export async function useApp(
  services: ControlServices,
  { id, input, isDry, author }: Pick<BeforeChange, "id" | "input" | "isDry" | "author">,
  spaceId: string,
): Promise<Pick<Input, "attributes"> & { after(): Promise<void> }> {
  const { apps } = services;
  const appId = input.refs.app ?? "";
  const spec = await apps.spec(spaceId, appId);
  const isThere = spec !== null && (isDry || (await apps.use(spaceId, appId, id)));
  if (!isThere) {
    const home = await services.places.homeOf(appId);
    await requireAccess(services, author, home, { needed: "viewer", noun: "app" }).catch(() => {
      throw unknownRelated(input, "app");
    });
    const detail = "Expected the id of an app of the project's space";
    throw unprocessable({ pointer: `${input.pointer}/relationships/app`, detail });
  }
  const app_types = spec.elements.map(type => type.content_type);
  return {
    attributes: { ...input.attributes, app_types },
    after: async () => {
      if (!isDry) await apps.releaseUnused(spaceId, appId, id);
    },
  };
}

/** Moves the names of the app's content types, which {@linkcode useApp} found, to the state of a project. */
export function settleApp(project: Entity): Entity {
  const { app_types: types, ...attributes } = project.attributes;
  return types === undefined ? project : { ...project, attributes, state: { ...project.state, types } };
}

/** Returns the content types of the app that a project uses. */
export function enabledTypes({ attributes, state }: Entity): readonly string[] {
  const hidden = (attributes.hidden_elements ?? []) as readonly string[];
  return ((state?.types ?? []) as readonly string[]).filter(type => !hidden.includes(type));
}
