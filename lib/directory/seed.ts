/**
 * Writing the directory from one document, as the demo and a JSON file do.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../errors/mod.ts";
import type { Store, Write } from "../storage/contract.ts";
import { directoryPartition, domainPartition } from "./_partitions.ts";
import { EventSchema, OrganisationSchema, ProjectSchema, type Space, SpaceSchema } from "./records.ts";

/** A whole directory as one document. */
export interface Seed {
  readonly organisations: readonly v.InferInput<typeof OrganisationSchema>[];
  readonly spaces: readonly v.InferInput<typeof SpaceSchema>[];
  readonly projects: readonly v.InferInput<typeof ProjectSchema>[];
  readonly events: readonly v.InferInput<typeof EventSchema>[];
  /** The loyalty configuration of a space by the space's id. */
  readonly loyalty?: Readonly<Record<string, unknown>>;
}

const SeedSchema = v.object({
  organisations: v.array(OrganisationSchema),
  spaces: v.array(SpaceSchema),
  projects: v.array(ProjectSchema),
  events: v.array(EventSchema),
  loyalty: v.optional(v.record(v.pipe(v.string(), v.uuid()), v.unknown()), {}),
});

/**
 * Creates or replaces every record of the document. Records that it does not name stay as they are.
 *
 * @throws {AppError} `validation_failed` where the document is not well formed or names a parent that it lacks;
 * `conflict` where another space holds a domain. Nothing is written when the document is at fault.
 */
export async function seedDirectory(store: Store, document: Seed): Promise<void> {
  const seed = checked(document);
  for (const space of seed.spaces) await claimDomain(store, space);
  for (const organisation of seed.organisations) {
    await put(store, directoryPartition("organisation", organisation.id), [["organisation", organisation]]);
  }
  for (const space of seed.spaces) {
    const loyalty = seed.loyalty[space.id];
    await put(store, directoryPartition("space", space.id), [
      ["space", space],
      ...(loyalty === undefined ? [] : [["loyalty", loyalty] as const]),
    ]);
  }
  for (const project of seed.projects) {
    await put(store, directoryPartition("project", project.id), [["project", project]]);
  }
  for (const event of seed.events) {
    const partition = directoryPartition("project", event.projectId);
    await put(
      store,
      partition,
      [[`event:${event.id}`, event]],
      [{ type: "score", op: "set", key: "events", member: event.id, score: event.startAt }],
    );
  }
}

function checked(document: Seed): v.InferOutput<typeof SeedSchema> {
  const result = v.safeParse(SeedSchema, document);
  if (!result.success) {
    throw new AppError("validation_failed", "Cannot seed the directory as the document is not well formed", {
      fields: result.issues.map(issue => ({
        pointer: `/${issue.path?.map(item => String(item.key)).join("/") ?? ""}`,
        detail: issue.message,
      })),
    });
  }
  const seed = result.output;
  const known = (list: readonly { id: string }[]): Set<string> => new Set(list.map(({ id }) => id));
  const [organisations, spaces, projects] = [
    known(seed.organisations),
    known(seed.spaces),
    known(seed.projects),
  ];
  const orphans = [
    ...seed.spaces.filter(space => !organisations.has(space.organisationId)),
    ...seed.projects.filter(project => !spaces.has(project.spaceId)),
    ...seed.events.filter(event => !projects.has(event.projectId)),
  ];
  if (orphans.length > 0) {
    const ids = orphans.map(({ id }) => id).join(", ");
    throw new AppError(
      "validation_failed",
      `Cannot seed the directory as these records lack their parent: ${ids}`,
    );
  }
  return seed;
}

async function claimDomain(store: Store, space: Space): Promise<void> {
  if (space.domain === undefined) return;
  const partition = domainPartition(space.domain);
  const value = JSON.stringify(space.id);
  const claim = await store.commit(partition, {
    checks: [{ key: "space", version: null }],
    writes: [{ type: "put", key: "space", value }],
  });
  if (claim.ok) return;
  const [holder] = await store.read(partition, [{ type: "record", key: "space" }]);
  if (holder?.value !== value) {
    throw new AppError(
      "conflict",
      `Cannot give the domain ${space.domain} to a space as another space holds it`,
    );
  }
}

async function put(
  store: Store,
  partition: string,
  records: readonly (readonly [key: string, value: unknown])[],
  more: readonly Write[] = [],
): Promise<void> {
  const puts = records.map(([key, value]): Write => ({ type: "put", key, value: JSON.stringify(value) }));
  await store.commit(partition, { writes: [...puts, ...more] });
}
