/**
 * Writes the directory from one document, such as the demo or a JSON file.
 *
 * @module
 */

import { type Clock, systemClock } from "../../auth/mod.ts";
import { AppError, type FieldError } from "../../base/errors/mod.ts";
import {
  decide,
  type ReadRecord,
  readMany,
  type Store,
  type Stored,
  type Version,
  type Write,
} from "../../storage/mod.ts";
import { type CheckedSeed, checkSeed, type Seed } from "./check_seed.ts";
import { requireUnarchived } from "./directory.ts";
import { claimDomain, requireFreeDomain, settleDomain } from "./domains.ts";
import { createLoyaltyVersions } from "./loyalty_versions.ts";
import { listOpenEvents } from "./open_events.ts";
import type { HomeKind } from "./places.ts";
import { claimPlace, notePlace } from "./places.ts";
import {
  directoryPartition,
  type Project,
  projectsKey,
  type Settings,
  type Space,
  spacesKey,
} from "./records.ts";
import { addIds, listOrganisation } from "./unlisted.ts";

/** Options of seeding. */
export interface SeedOptions {
  /** Dates the versions of loyalty configurations. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Creates or replaces every record of the document. Records that it does not name stay as they are, and so does what it does not
 * name of a record that the control API has changed. A loyalty configuration becomes a new version where it differs from the
 * current one.
 *
 * @throws {AppError} `validation_failed` with the pointer of every fault: the document is not well formed, names an id or
 * domain twice, or names a parent that it lacks; `project_archived` where it changes something in an archived project; `conflict` where another space holds a domain, or another organisation a space or project.
 * Nothing is written then.
 */
export async function seedDirectory(store: Store, document: Seed, options: SeedOptions = {}): Promise<void> {
  const seed = checkSeed(document);
  await requireSameOwners(store, seed);
  await requireUnchangedArchives(store, seed);
  const now = (options.clock ?? systemClock)();
  const claims = await claimDomains(store, seed, now);
  for (const organisation of seed.organisations) {
    await putRecord(store, { kind: "organisation", id: organisation.id }, "organisation", organisation);
  }
  for (const space of seed.spaces) await putSpace(store, space, claims);
  for (const { id } of seed.organisations) {
    await addIds(
      store,
      directoryPartition("organisation", id),
      spacesKey,
      seed.spaces.filter(({ organisationId }) => organisationId === id).map(space => space.id),
    );
  }
  const versions = createLoyaltyVersions({ store, clock: options.clock ?? systemClock });
  for (const [spaceId, loyalty] of Object.entries(seed.loyalty)) {
    await versions.put(spaceId, { document: loyalty, by: "seed" });
  }
  for (const project of seed.projects) {
    await putRecord(store, { kind: "project", id: project.id }, "project", project);
  }
  await listForAuthors(store, seed, Math.floor(now / 1_000));
  for (const { id } of seed.projects) {
    const plain: CheckedSeed["events"] = [];
    for (const event of seed.events) {
      if (event.projectId === id && (await putEvent(store, event))) plain.push(event);
    }
    await listOpenEvents(store, id, plain, Math.floor(now / 1_000));
  }
}

/** Refuses to move a space or project to another organisation: its users would stay behind. */
async function requireSameOwners(store: Store, { spaces, projects }: CheckedSeed): Promise<void> {
  const fields: FieldError[] = [];
  for (const [kind, records] of [
    ["space", spaces],
    ["project", projects],
  ] as const) {
    for (const [index, { id, organisationId }] of records.entries()) {
      const [stored] = await store.read(directoryPartition(kind, id), [{ type: "record", key: kind }]);
      if (stored === null) continue;
      const owner = (JSON.parse(stored.value) as Pick<Space, "organisationId">).organisationId;
      if (owner === organisationId) continue;
      const pointer = `/${kind}s/${index}/organisationId`;
      fields.push({ pointer, detail: `Expected ${owner}, the organisation of the stored ${kind}` });
    }
  }
  if (fields.length === 0) return;
  throw new AppError("conflict", "Cannot move spaces and projects to another organisation", { fields });
}

/** Refuses to change what is in an archived project. */
async function requireUnchangedArchives(store: Store, { projects, events }: CheckedSeed): Promise<void> {
  for (const project of projects) {
    const own = events.filter(({ projectId }) => projectId === project.id);
    const [stored, ...others] = await readMany(store, directoryPartition("project", project.id), [
      { type: "record", key: "project" },
      ...own.map(({ id }): ReadRecord => ({ type: "record", key: `event:${id}` })),
    ]);
    if (stored == null || (JSON.parse(stored.value) as Project).archived !== true) continue;
    const isSame = own.every((event, index) => isUnchanged(others[index] ?? null, event));
    if (!isSame || !isUnchanged(stored, project)) requireUnarchived({ archived: true });
  }
}

function isUnchanged(stored: Stored | null, record: CheckedSeed["events"][number] | Project): boolean {
  const old = stored === null ? null : (JSON.parse(stored.value) as Authored);
  if (old?.authored === undefined) return stored?.value === JSON.stringify(record);
  return joined(old, "projectId" in record ? namedOf(record) : record) === old;
}

/** Notes where records are, and lists them in their parents, so that the control API finds what was seeded. */
async function listForAuthors(
  store: Store,
  { organisations, spaces, projects, events }: CheckedSeed,
  now: number,
): Promise<void> {
  for (const { id } of organisations) {
    await claimPlace(store, { kind: "organisation", id });
    await listOrganisation(store, id, now);
  }
  for (const { id } of spaces) {
    await claimPlace(store, { kind: "space", id });
    const own = projects.filter(({ spaceId }) => spaceId === id);
    await addIds(
      store,
      directoryPartition("space", id),
      projectsKey,
      own.map(project => project.id),
    );
  }
  for (const { id } of projects) {
    await claimPlace(store, { kind: "project", id });
    const own = events.filter(({ projectId }) => projectId === id);
    for (const event of own) await notePlace(store, event.id, { kind: "project", id });
  }
}

/** Claims all domains before any record is written. Gives them up again where a racing seed took one. */
async function claimDomains(
  store: Store,
  { spaces }: CheckedSeed,
  now: number,
): Promise<ReadonlyMap<string, Version>> {
  const claims = new Map<string, Version>();
  const named = spaces.flatMap(({ id, domain }) => (domain === undefined ? [] : [{ id, domain }]));
  for (const { id, domain } of named) await requireFreeDomain(store, id, domain);
  try {
    for (const { id, domain } of named) claims.set(domain, await claimDomain(store, id, domain, now));
    return claims;
  } catch (error) {
    for (const { id, domain } of named) {
      const claim = claims.get(domain);
      if (claim !== undefined) await settleDomain(store, id, domain, claim);
    }
    throw error;
  }
}

/** Writes a space whose domain is claimed. Gives an earlier domain up last, so that the space can be reached all the time. */
async function putSpace(store: Store, space: Space, claims: ReadonlyMap<string, Version>): Promise<void> {
  const { id, domain } = space;
  const previous = await putRecord(store, { kind: "space", id }, "space", space);
  if (domain !== undefined) await settleDomain(store, id, domain, claims.get(domain) ?? null);
  const given = (previous as Space | null)?.domain;
  if (given !== undefined && given !== domain) await settleDomain(store, id, given, null);
}

/** Writes an event. One that the control API has changed keeps its times, and false is returned. */
async function putEvent(store: Store, event: CheckedSeed["events"][number]): Promise<boolean> {
  const home = { kind: "project", id: event.projectId } as const;
  const key = `event:${event.id}`;
  const [stored] = await store.read(directoryPartition("project", home.id), [{ type: "record", key }]);
  const { id } = event;
  const isAuthored = stored !== null && (JSON.parse(stored.value) as Authored).authored !== undefined;
  if (isAuthored) await putRecord(store, home, key, namedOf(event));
  else
    await putRecord(store, home, key, event, [
      { type: "score", op: "set", key: "events", member: id, score: event.startAt },
      // Of a seeded event nobody knows when it was created.
      { type: "score", op: "min", key: "events_created", member: id, score: event.startAt },
    ]);
  return !isAuthored;
}

/** What a seed says of an event that the control API has changed. */
function namedOf({ id, name, settings }: CheckedSeed["events"][number]) {
  return { id, name, settings };
}

/** A record of the directory, with what the control API has noted beside it. */
type Authored = Readonly<Record<string, unknown>> & {
  readonly settings?: Settings;
  readonly authored?: { readonly rev: number };
};

/**
 * Creates or replaces a record, and returns the one before. Of a record that the control API has changed, what the seed does
 * not name is kept, sections of the settings too.
 */
async function putRecord(
  store: Store,
  home: { readonly kind: HomeKind; readonly id: string },
  key: string,
  record: object,
  more: readonly Write[] = [],
): Promise<object | null> {
  return await decide(store, directoryPartition(home.kind, home.id), {
    reads: [{ type: "record", key }],
    idempotent: true,
    apply: ([stored]) => {
      const old = stored === null ? null : (JSON.parse(stored.value) as Authored);
      const value = JSON.stringify(old?.authored === undefined ? record : joined(old, record as Authored));
      const writes: readonly Write[] = value === stored?.value ? [] : [{ type: "put", key, value }];
      return { writes: [...writes, ...more], answer: old };
    },
  });
}

function joined(old: Authored, record: Readonly<Pick<Authored, "settings">>): Authored {
  const settings = { ...old.settings, ...record.settings };
  const next = { ...old, ...record, settings };
  if (JSON.stringify(next) === JSON.stringify(old)) return old;
  return { ...next, authored: { ...old.authored, rev: (old.authored?.rev ?? 0) + 1 } };
}
