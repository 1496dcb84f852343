/** Plans in files: what they were about, so that a plan that is no longer true is refused. */

import * as v from "valibot";
import { documentDigest } from "../../fans/directory/loyalty_versions.ts";
import type { CliContext } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { conflict, invalid, wrongUsage } from "../frame/errors.ts";
import { pathOf, type ResourceObject } from "../frame/resources.ts";
import type { Plan, Step } from "./plan.ts";
import { type Manifest, manifestOf } from "./read.ts";

const text = v.string();
const EntrySchema = v.object({
  path: text,
  kind: text,
  id: v.nullable(text),
  etag: v.nullable(text),
  action: v.picklist(["add", "update", "noop"]),
  fields: v.array(text),
  digest: text,
});
const SavedSchema = v.object({
  version: v.literal(1),
  folder: text,
  space: text,
  variables: v.record(text, text),
  document: v.unknown(),
  /** Unix seconds. */
  at: v.number(),
  entities: v.array(EntrySchema),
});
type Saved = v.InferOutput<typeof SavedSchema>;
type Entry = Saved["entities"][number];

export function savedPlan({ manifest, space, steps }: Plan, folder: string, now: number): Saved {
  const { document, variables } = manifest;
  const given = Object.entries(variables).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    version: 1,
    folder,
    space,
    document,
    at: now,
    variables: Object.fromEntries(given),
    entities: steps.map(entryOf),
  };
}

function entryOf({ wanted: { path, kind }, remote, action, fields, attributes }: Step): Entry {
  const etag = remote === null ? null : String(remote.meta?.etag);
  return {
    path,
    kind,
    id: remote?.id ?? null,
    etag,
    action,
    fields: [...fields],
    digest: documentDigest(attributes),
  };
}

/** Reads a saved plan, and the manifest that it was made of. @throws {CliError} It is none. */
export async function readSaved(
  path: string,
  context: CliContext,
): Promise<{ readonly saved: Saved; readonly manifest: Manifest }> {
  const file = await context.files.read(path);
  if (file === null) throw wrongUsage(`There is no file ${path}`, { next: `grandstand plan --out ${path}` });
  const parsed = v.safeParse(SavedSchema, file.document);
  if (!parsed.success) throw invalid(`${path} is no plan`, { hint: "Make one with grandstand plan --out" });
  const { document, folder, variables } = parsed.output;
  const locate = (pointer: string): string => `${path} ${pointer}`;
  return {
    saved: parsed.output,
    manifest: await manifestOf(document, { files: context.files, variables, folder, locate }),
  };
}

/** @throws {CliError} What the plan is about has changed; it is named, with who changed it. */
export async function requireFresh(saved: Saved, plan: Plan, api: ControlApi): Promise<void> {
  const fresh = new Map(plan.steps.map(step => [step.wanted.path, entryOf(step)]));
  const stale = saved.entities.filter(entry => {
    const now = fresh.get(entry.path);
    const isSame = now !== undefined && now.action === entry.action && now.id === entry.id;
    const isEqual = isSame && now.digest === entry.digest && now.etag === entry.etag;
    return entry.action === "noop" ? !isSame : !isEqual;
  });
  if (stale.length === 0) return;
  const projects = new Set(stale.flatMap(({ path }) => projectOf(path, plan) ?? []));
  const trails = await Promise.all([...projects].map(async id => await changesOf(id, saved.at, api)));
  const details = stale.map(entry => explained(entry, plan, trails.flat()));
  throw conflict("The plan is no longer true: nothing was changed", {
    code: "stale_plan",
    details,
    hint: "Make another plan",
    next: "grandstand plan",
  });
}

function projectOf(path: string, { remote }: Plan): string | undefined {
  return remote.found.get(path.replace(/\/.*$/s, ""))?.id;
}

interface Change {
  readonly id: string;
  readonly attributes?: readonly string[];
  readonly action?: string;
  readonly user: unknown;
  readonly at: number;
}

/** Reads the newest changes of a project, newest first; none where the caller may not see them. */
async function changesOf(project: string, since: number, api: ControlApi): Promise<readonly Change[]> {
  const path = pathOf({ kind: "project", id: project }, "audit");
  const trail = await api.get<readonly ResourceObject[]>(path, { "page[count]": "100" }).then(
    ({ data }) => data,
    () => [],
  );
  return trail
    .filter(({ attributes }) => Number(attributes.at) > since)
    .flatMap(({ attributes: { changes, user_id: user, at } }) =>
      (changes as readonly Omit<Change, "user" | "at">[]).map(change => ({
        ...change,
        user,
        at: Number(at),
      })),
    );
}

function explained({ path, id, etag }: Entry, plan: Plan, trail: readonly Change[]): string {
  const now = plan.steps.find(({ wanted }) => wanted.path === path)?.remote ?? null;
  if (id === null) return `${path} ${now === null ? "is planned in another way" : `exists now: ${now.id}`}`;
  const changes = trail.filter(change => change.id === id);
  const names = changes.flatMap(({ attributes = [], action = [] }) => [attributes, action].flat());
  const others = etag === now?.meta?.etag ? "its plan" : "its elements";
  const what = names.length > 0 ? [...new Set(names)].join(", ") : others;
  const [last] = changes;
  const by = last === undefined ? "" : ` by user ${last.user} at ${new Date(last.at * 1_000).toISOString()}`;
  return now === null ? `${path} is gone${by}` : `${path}: ${what} changed${by}`;
}
