/**
 * Writes the directory from one document, such as the demo or a JSON file.
 *
 * @module
 */

import { type Clock, systemClock } from "../auth/mod.ts";
import { AppError, type FieldError } from "../errors/mod.ts";
import { decide, platformPartition, type Store, type Write } from "../storage/mod.ts";
import { type CheckedSeed, checkSeed, type Seed } from "./check_seed.ts";
import { createLoyaltyVersions } from "./loyalty_versions.ts";
import { listOpenEvents } from "./open_events.ts";
import { claimPlace, notePlace } from "./places.ts";
import { directoryPartition, domainPartition, projectsKey, type Space, spacesKey } from "./records.ts";

/** Options of seeding. */
export interface SeedOptions {
  /** Dates the versions of loyalty configurations. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Creates or replaces every record of the document. Records that it does not name stay as they are. A loyalty configuration
 * becomes a new version where it differs from the current one.
 *
 * @throws {AppError} `validation_failed` with the pointer of every fault: the document is not well formed, names an id or
 * domain twice, or names a parent that it lacks; `conflict` where another space holds a domain, or another organisation a space or project.
 * Nothing is written then.
 */
export async function seedDirectory(store: Store, document: Seed, options: SeedOptions = {}): Promise<void> {
  const seed = checkSeed(document);
  await requireSameOwners(store, seed);
  await requireFreeDomains(store, seed);
  await claimDomains(store, seed);
  for (const organisation of seed.organisations) {
    await put(store, directoryPartition("organisation", organisation.id), [["organisation", organisation]]);
  }
  for (const space of seed.spaces) await putSpace(store, space);
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
    await put(store, directoryPartition("project", project.id), [["project", project]]);
  }
  await listForAuthors(store, seed, Math.floor((options.clock ?? systemClock)() / 1_000));
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

/** Notes where records are, and lists them in their parents, so that the control API finds what was seeded. */
async function listForAuthors(
  store: Store,
  { organisations, spaces, projects, events }: CheckedSeed,
  now: number,
): Promise<void> {
  for (const { id } of organisations) {
    await claimPlace(store, { kind: "organisation", id });
    await store.commit(platformPartition("control"), {
      writes: [{ type: "score", op: "min", key: "organisations", member: id, score: now }],
    });
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
    await listOpenEvents(store, id, own, now);
  }
}

async function requireFreeDomains(store: Store, { spaces }: CheckedSeed): Promise<void> {
  for (const { id, domain } of spaces) {
    if (domain === undefined) continue;
    const [holder] = await store.read(domainPartition(domain), [{ type: "record", key: "space" }]);
    if (holder !== null && holder.value !== JSON.stringify(id)) throw taken(domain);
  }
}

/** Claims all domains before any record is written. Gives them up again where a racing seed took one. */
async function claimDomains(store: Store, { spaces }: CheckedSeed): Promise<void> {
  const claimed: string[] = [];
  try {
    for (const space of spaces) claimed.push(...(await claimDomain(store, space)));
  } catch (error) {
    for (const domain of claimed) await giveUp(store, domain);
    throw error;
  }
}

async function giveUp(store: Store, domain: string): Promise<void> {
  await store.commit(domainPartition(domain), {
    writes: [{ type: "delete", shape: "record", key: "space" }],
  });
}

/** Adds ids to a list, behind those that it has. */
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

/** Writes a space whose domain is claimed. Gives an earlier domain up last, so that the space can be reached all the time. */
async function putSpace(store: Store, space: Space): Promise<void> {
  const partition = directoryPartition("space", space.id);
  const [old] = await store.read(partition, [{ type: "record", key: "space" }]);
  await put(store, partition, [["space", space]]);
  const given = old === null ? undefined : (JSON.parse(old.value) as Space).domain;
  if (given !== undefined && given !== space.domain) await giveUp(store, given);
}

/** Returns the domain if it was free. */
async function claimDomain(store: Store, { id, domain }: Space): Promise<readonly string[]> {
  if (domain === undefined) return [];
  const partition = domainPartition(domain);
  const value = JSON.stringify(id);
  const claim = await store.commit(partition, {
    checks: [{ key: "space", version: null }],
    writes: [{ type: "put", key: "space", value }],
  });
  if (claim.ok) return [domain];
  const [holder] = await store.read(partition, [{ type: "record", key: "space" }]);
  if (holder?.value === value) return [];
  throw taken(domain);
}

function taken(domain: string): AppError {
  return new AppError("conflict", `Cannot give the domain ${domain} to a space as another space holds it`);
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
