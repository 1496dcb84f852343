/** Apps. */

import { AppError } from "../../../base/errors/mod.ts";
import { documentDigest } from "../../../fans/directory/loyalty_versions.ts";
import { defaultListings, listedMax } from "../../../fans/directory/open_events.ts";
import { type AppSpec, resources } from "../../table/mod.ts";
import { type AppUse, appKey, usesOf } from "../apps/apps.ts";
import { type CheckRow, readApp } from "../apps/read_app.ts";
import type { Entity } from "../kind.ts";
import { type Input, type Kind, type Started, sharedKind, unprocessable } from "../kind.ts";
import type { ControlServices } from "../services.ts";

export function appKind(services: ControlServices): Kind {
  const { records, ...shared } = sharedKind(resources.apps);
  const { apps } = services;
  return {
    ...shared,
    records,
    outline: {
      fields: new Set(Object.keys(resources.apps.attributes).filter(name => name !== "project_count")),
      isNeeded: (app, reached) => Object.keys(usesOf(app)).some(projectId => reached.has(projectId)),
    },
    list: tx => shared.list(tx).toReversed(),
    present: app => ({ attributes: { project_count: Object.keys(usesOf(app)).length } }),
    prepare(entity, tx, { input }) {
      const app = specified(entity, input);
      const same = records.list(tx).find(other => isSameVersion(other, app));
      if (same === undefined) return app;
      const isEqual = same.attributes.spec_digest === app.attributes.spec_digest;
      throw new AppError(
        "conflict",
        isEqual
          ? "Cannot add the app as the space has it already"
          : "Cannot add the app as the space has this version of it with other contents: publish it under another version",
        { details: { id: same.id, is_equal: isEqual } },
      );
    },
    changed: ({ id }, tx, { input }) => tx.put(appKey(id), input.app),
    async before({ isNew, input }) {
      if (!isNew) return undefined;
      const { app, checks } = await readApp(services, String(input.attributes.spec_url));
      if (app === null) throw badSpec(input, checks);
      return { app };
    },
    async beforeRemoval(_, { id: spaceId }) {
      await apps.settleAll(spaceId, services.clock());
    },
    removed(app, tx) {
      const projects = Object.keys(usesOf(app));
      if (projects.length > 0)
        throw new AppError("conflict", "Cannot remove the app as projects use it: move them to another one", {
          details: { projects },
        });
      tx.put(appKey(app.id), null);
    },
  };
}

function isSameVersion(a: Entity, b: Entity): boolean {
  return a.attributes.spec_id === b.attributes.spec_id && a.attributes.version === b.attributes.version;
}

function specified(entity: Entity, { app }: Input): Entity {
  if (app === undefined) return entity;
  const { name, id: spec_id, version } = app.spec;
  const decided = { name, spec_id, version, spec_digest: documentDigest(app), fetched_at: entity.created };
  return { ...entity, attributes: { ...entity.attributes, ...decided } };
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

/** Lets a project use an app: returns it for the project's record. @throws {AppError} `not_found`: the space has no such app. */
export async function useApp(
  { apps }: ControlServices,
  { pointer, ...use }: AppUse & { readonly pointer: string },
): Promise<Started & { readonly app: AppSpec }> {
  const app = await apps.use(use);
  if (app === null) {
    const fields = [{ pointer, detail: "Expected the id of an app of the project's space" }];
    throw new AppError("not_found", "Cannot use the app: the space has none with this id", { fields });
  }
  const { spaceId, projectId, isDry } = use;
  return { app, after: async () => (isDry ? undefined : await apps.settle(spaceId, projectId)) };
}

/** Notes in a project what a change of its app says about it: the fan side reads nothing else of apps. */
export function settleApp(project: Entity, { app }: Input): Entity {
  if (app === undefined) return project;
  const types = app.elements.map(type => type.content_type);
  const { embed_url: embed = null } = app.spec;
  const { past, future } = { ...defaultListings, ...app.spec.listings };
  const listings = { past: Math.min(past, listedMax), future: Math.min(future, listedMax) };
  return { ...project, state: { ...project.state, types, listings, embed } };
}

/** Returns the content types of the app that a project uses. */
export function enabledTypes({ attributes, state }: Entity): readonly string[] {
  const hidden = (attributes.hidden_elements ?? []) as readonly string[];
  return ((state?.types ?? []) as readonly string[]).filter(type => !hidden.includes(type));
}
