/** Writes the directory from one document, such as the demo or a JSON file. */

import * as v from "valibot";
import { systemClock } from "../../auth/crypto/mod.ts";
import type { Clock } from "../../auth/mod.ts";
import { AppError, type FieldError } from "../../base/errors/mod.ts";
import type { Immutable } from "../../http/mod.ts";
import { fieldErrors } from "../../http/requests/validate.ts";
import { mapConcurrent } from "../../storage/background/mod.ts";
import { readMany } from "../../storage/board_pages.ts";
import {
  decide,
  type PartitionLister,
  type ReadRecord,
  type Store,
  type Stored,
  storageLimits,
  type Version,
  type Write,
} from "../../storage/mod.ts";
import { platformPartition, tenantPartitions } from "../../storage/names.ts";
import { claimDomain, requireFreeDomain, requireUnarchived, settleDomain } from "./directory.ts";
import { createLoyaltyVersions } from "./loyalty_versions.ts";
import { listOpenEvents } from "./open_events.ts";
import {
  claimPlace,
  directoryPartition,
  EventSchema,
  type Home,
  type HomeKind,
  hasPlace,
  isChildId,
  notePlace,
  OrganisationSchema,
  type Project,
  ProjectSchema,
  projectsKey,
  type Settings,
  type Space,
  SpaceSchema,
  spacesKey,
} from "./records.ts";

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

const SeedSchema = v.object({
  organisations: v.array(OrganisationSchema),
  spaces: v.array(SpaceSchema),
  projects: v.array(ProjectSchema),
  events: v.array(EventSchema),
  loyalty: v.optional(v.record(v.pipe(v.string(), v.uuid(), v.toLowerCase()), v.unknown()), {}),
});

/** A directory as one document, as it is written. */
export type Seed = Immutable<v.InferInput<typeof SeedSchema>>;
/** A seed whose records are valid, with lower-case ids, and belong together. */
type CheckedSeed = v.InferOutput<typeof SeedSchema>;

/**
 * Validates a seed document.
 * @throws {AppError} `validation_failed` with the pointer of every fault.
 */
export function checkSeed(document: unknown): CheckedSeed {
  const result = v.safeParse(SeedSchema, document);
  if (!result.success) throw invalid(fieldErrors(result.issues));
  const faults = [...duplicates(result.output), ...foreignParents(result.output)];
  if (faults.length > 0) throw invalid(faults);
  return result.output;
}

function duplicates({ organisations, spaces, projects, events }: CheckedSeed): FieldError[] {
  const lists: [pointer: string, values: readonly (string | undefined)[]][] = [
    ["/organisations/#/id", organisations.map(({ id }) => id)],
    ["/spaces/#/id", spaces.map(({ id }) => id)],
    ["/spaces/#/domain", spaces.map(({ domain }) => domain)],
    ["/projects/#/id", projects.map(({ id }) => id)],
    ["/events/#/id", events.map(({ id }) => id)],
  ];
  return lists.flatMap(([pointer, values]) =>
    values.flatMap((value, index) =>
      value === undefined || values.indexOf(value) === index
        ? []
        : [
            {
              pointer: pointer.replace("#", String(index)),
              detail: "Expected one that no earlier record has",
            },
          ],
    ),
  );
}

/** Finds parents that the document lacks, and parents of different tenants. */
function foreignParents({ organisations, spaces, projects, events, loyalty }: CheckedSeed): FieldError[] {
  const organisationIds = new Set(organisations.map(({ id }) => id));
  const owners = new Map(spaces.map(({ id, organisationId }) => [id, organisationId]));
  const projectIds = new Set(projects.map(({ id }) => id));
  const faults: FieldError[] = [];
  function expect(isMet: boolean, pointer: string, parent: string): void {
    if (!isMet) faults.push({ pointer, detail: `Expected the id of ${parent} in this document` });
  }
  organisations.forEach(({ id, defaultSpaceId }, index) => {
    const isOwn = defaultSpaceId === undefined || owners.get(defaultSpaceId) === id;
    expect(isOwn, `/organisations/${index}/defaultSpaceId`, "a space of the organisation");
  });
  spaces.forEach(({ organisationId }, index) => {
    expect(organisationIds.has(organisationId), `/spaces/${index}/organisationId`, "an organisation");
  });
  projects.forEach(({ spaceId, organisationId }, index) => {
    expect(owners.has(spaceId), `/projects/${index}/spaceId`, "a space");
    const owner = owners.get(spaceId) ?? organisationId;
    expect(owner === organisationId, `/projects/${index}/organisationId`, "the organisation of the space");
  });
  events.forEach(({ projectId }, index) => {
    expect(projectIds.has(projectId), `/events/${index}/projectId`, "a project");
  });
  for (const id of Object.keys(loyalty)) expect(owners.has(id), `/loyalty/${id}`, "a space");
  return faults;
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot seed the directory as the document is not valid", {
    fields,
  });
}

const eventsAtOnce = 100;
const readsAtOnce = 16;

/** A record that the control API does not find, as after lost writes or a seed that was interrupted. */
interface Unlisted {
  readonly name: string;
  repair(): Promise<void>;
}

/** Finds unlisted organisations, spaces, projects and events; null for each that is listed. `now` is Unix seconds. */
export async function* findUnlisted(
  store: Store & PartitionLister,
  now: number,
): AsyncGenerator<readonly (Unlisted | null)[], void> {
  for (const kind of ["organisation", "space", "project"] as const) {
    for await (const group of tenantPartitions(store, { tenant: kind, record: kind })) {
      for (const { tenant, kind: part } of group) {
        if (part !== "directory") continue;
        const home = { kind, id: tenant[kind] ?? "" };
        yield [await unlistedHome(store, home, now)];
        if (kind === "project") yield* unlistedEvents(store, home);
      }
    }
  }
}

async function unlistedHome(
  store: Store,
  home: { readonly kind: HomeKind; readonly id: string },
  now: number,
): Promise<Unlisted | null> {
  const { kind, id } = home;
  const [stored] = await store.read(directoryPartition(kind, id), [{ type: "record", key: kind }]);
  if (stored === null) return null;
  const list = kind === "organisation" ? null : parentList(kind, JSON.parse(stored.value) as Project);
  const isListed = list === null ? await isKnown(store, id) : await hasId(store, ...list, id);
  if (isListed && (await hasPlace(store, home))) return null;
  return {
    name: `the ${kind} ${id}`,
    async repair() {
      await claimPlace(store, home);
      if (list === null) await listOrganisation(store, id, now);
      else await addIds(store, ...list, [id]);
    },
  };
}

/** Returns the record that lists a space or project: its partition and key. */
function parentList(
  kind: "space" | "project",
  { organisationId, spaceId }: Project,
): readonly [partition: string, key: string] {
  return kind === "project"
    ? [directoryPartition("space", spaceId), projectsKey]
    : [directoryPartition("organisation", organisationId), spacesKey];
}

/** An event is listed by the commit that writes it; a place has a partition of its own. */
async function* unlistedEvents(store: Store, home: Home): AsyncGenerator<readonly (Unlisted | null)[], void> {
  const partition = directoryPartition("project", home.id);
  for (let offset = 0; ; offset += eventsAtOnce) {
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: "events", offset, limit: eventsAtOnce },
    ]);
    yield await mapConcurrent(entries, readsAtOnce, async ({ member: id }) => {
      if (isChildId(id) || (await hasPlace(store, home, id))) return null;
      return {
        name: `the event ${id} of project ${home.id}`,
        repair: () => notePlace(store, id, home),
      };
    });
    if (entries.length < eventsAtOnce) return;
  }
}

async function isKnown(store: Store, organisationId: string): Promise<boolean> {
  const [standing] = await store.read(platformPartition("control"), [
    { type: "standing", key: "organisations", member: organisationId },
  ]);
  return standing !== null;
}

/** Adds an organisation to the list that operators see. */
export async function listOrganisation(store: Store, id: string, now: number): Promise<void> {
  await store.commit(platformPartition("control"), {
    writes: [{ type: "score", op: "min", key: "organisations", member: id, score: now }],
  });
}

/** Returns the ids of the oldest organisations that operators see, at most 500. */
export async function oldestOrganisations(store: Store): Promise<readonly string[]> {
  const query = { type: "board", key: "organisations", limit: storageLimits.rangeLimitMax } as const;
  const [{ entries }] = await store.read(platformPartition("control"), [query]);
  return entries.map(({ member }) => member);
}

async function hasId(store: Store, partition: string, key: string, id: string): Promise<boolean> {
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  return stored !== null && (JSON.parse(stored.value) as readonly string[]).includes(id);
}

async function addIds(store: Store, partition: string, key: string, ids: readonly string[]): Promise<void> {
  await decide(store, partition, {
    reads: [{ type: "record", key }],
    idempotent: true,
    apply: ([stored]) => {
      const listed = stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
      const added = ids.filter(id => !listed.includes(id));
      const value = JSON.stringify([...listed, ...added]);
      return { writes: added.length === 0 ? [] : [{ type: "put", key, value }], answer: undefined };
    },
  });
}
