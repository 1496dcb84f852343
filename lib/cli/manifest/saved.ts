/** Plans in files: what they were about, so that a plan that is no longer true is refused. */

import * as v from "valibot";
import { documentDigest } from "../../directory/mod.ts";
import type { CliContext } from "../frame/command.ts";
import { type ControlApi, pathOf, type ResourceObject } from "../frame/control_api.ts";
import { conflict, invalid, wrongUsage } from "../frame/errors.ts";
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

/** Returns a plan for a file. */
export function savedPlan({ manifest, space, steps }: Plan, folder: string, now: number): Saved {
  const { document, variables } = manifest;
  const given = Object.entries(variables).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    ...{ version: 1, folder, space, document, at: now },
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
  const details = await Promise.all(stale.map(async entry => await explained(entry, plan, saved.at, api)));
  throw conflict("The plan is no longer true: nothing was changed", {
    code: "stale_plan",
    details,
    hint: "Make another plan",
    next: "grandstand plan",
  });
}

/** Says what changed of an entity and who changed it, as far as the audit trail may be read. */
async function explained(
  { path, id, etag }: Entry,
  plan: Plan,
  since: number,
  api: ControlApi,
): Promise<string> {
  const [root = ""] = path.split("/");
  const project = plan.remote.found.get(root)?.id;
  const now = plan.steps.find(({ wanted }) => wanted.path === path)?.remote ?? null;
  if (project === undefined) return `${path} has changed`;
  if (id === null)
    return now === null ? `${path} is planned in another way` : `${path} exists now: ${now.id}`;
  const trail = await api
    .get<readonly ResourceObject[]>(pathOf({ kind: "project", id: project }, "audit"), {
      "page[count]": "100",
    })
    .then(
      ({ data }) => data,
      () => [],
    );
  const changes = trail
    .filter(({ attributes }) => Number(attributes.at) >= since)
    .flatMap(({ attributes }) =>
      (attributes.changes as readonly Change[])
        .filter(change => change.id === id)
        .map(change => ({ ...change, user: attributes.user_id, at: Number(attributes.at) })),
    );
  const [last] = changes;
  if (now === null) return `${path} is gone${byWhom(last)}`;
  const names = [
    ...new Set(changes.flatMap(({ attributes = [], action = [] }) => [attributes, action].flat())),
  ];
  const what = names.length > 0 ? names.join(", ") : etag === now.meta?.etag ? "its plan" : "its elements";
  return `${path}: ${what} changed${byWhom(last)}`;
}

interface Change {
  readonly op: string;
  readonly id: string;
  readonly attributes?: readonly string[];
  readonly action?: string;
}

function byWhom(change: { readonly user: unknown; readonly at: number } | undefined): string {
  if (change === undefined) return "";
  return ` by user ${change.user ?? "(the platform)"} at ${new Date(change.at * 1_000).toISOString()}`;
}
