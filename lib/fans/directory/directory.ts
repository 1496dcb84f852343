/**
 * Looks up organisations, spaces, projects and events through caches, so that every process sees a change of settings within
 * a second.
 */

import { isUuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { Cache, type Loaded, retry } from "../../storage/background/mod.ts";
import {
  type BoardEntry,
  type ReadRecord,
  type Store,
  type Stored,
  storageLimits,
  type Version,
} from "../../storage/mod.ts";
import { eventState } from "./event_times.ts";
import { currentKey, parseRevision } from "./loyalty_versions.ts";
import { openEventsKey, parseOpenEvents } from "./open_events.ts";
import {
  directoryPartition,
  domainCharactersMax,
  domainPartition,
  type Event,
  eventAliases,
  eventAt,
  type Organisation,
  type Project,
  type Space,
  type StoredEvent,
  spacesKey,
} from "./records.ts";

/** Age in ms from which a record is read again: below a second, so that changes are seen within one. */
const ageMsMax = 900;
const entriesMax = 20_000;
/** Number of begun events, newest first, among which one that is past is looked for at first. */
const begunScanMax = 100;
/** Number of events of which the newest that is there stands for an alias. */
const candidatesMax = 10;
const eventsPageMax = 100;

/** Looks up records of the directory. Answers come without a promise while they are cached. */
export interface Directory {
  organisation(id: string): Organisation | null | Promise<Organisation | null>;
  space(id: string): Space | null | Promise<Space | null>;
  /** Finds the space whose `domain` is this Host (case ignored), or else the default space. */
  spaceOfHost(host: string): Promise<Space | null>;
  /**
   * Finds the space that an API key of the organisation means at a Host: the one whose `domain` it is, the organisation's own
   * default, the default space of the deployment, or its first one, whichever belongs to the organisation.
   */
  spaceOfOrganisation(organisationId: string, host: string): Promise<Space | null>;
  project(id: string): Project | null | Promise<Project | null>;
  /**
   * Finds an event of the project by its id, by `current` (the running event that started last) or by `latest` (the finished
   * event that started last). Events of other projects are unknown here.
   */
  event(projectId: string, idOrAlias: string): Event | null | Promise<Event | null>;
  /** Forgets what is cached of an owner and its events, after a change in this process. */
  forget(
    home: { readonly kind: "organisation" | "space" | "project"; readonly id: string },
    eventIds: readonly string[],
  ): void;
  /** Returns the loyalty configuration of a space as written, with its version. */
  loyalty(spaceId: string): LoyaltyDocument | null | Promise<LoyaltyDocument | null>;
}

/** A stored loyalty configuration. */
export interface LoyaltyDocument {
  /** The number of the version, in decimal digits. */
  readonly version: string;
  readonly document: unknown;
}

/** Dependencies of a directory. */
export interface DirectoryOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  /** The space of a Host that no space claims. @default such a Host has no space */
  readonly defaultSpaceId?: string | undefined;
}

type Cached<T> = ((id: string) => T | Promise<T>) & { forget(id: string): void };

/** Creates a directory over the records of a store. */
export function createDirectory({ store, clock, defaultSpaceId }: DirectoryOptions): Directory {
  /** Caches the records of one kind. An unchanged record keeps its object, so that callers can key their own caches by it. */
  function cached<T>(load: (id: string) => Promise<Loaded<T>>): Cached<T> {
    const cache = new Cache<T>({ entriesMax, maxAgeMs: ageMsMax, clock });
    const get = (id: string): T | Promise<T> => cache.getOrLoad(id, load);
    return Object.assign(get, { forget: (id: string) => cache.delete(id) });
  }
  function records<T>(partitionOf: (id: string) => string, key: string): Cached<T | null> {
    return cached(id => readRecord<T>(store, partitionOf(id), key));
  }

  const organisations = records<Organisation>(id => directoryPartition("organisation", id), "organisation");
  const spaces = records<Space>(id => directoryPartition("space", id), "space");
  const projects = records<Project>(id => directoryPartition("project", id), "project");
  const domains = records<string>(domainPartition, "space");
  const loyalty = cached(async (id): Promise<Loaded<LoyaltyDocument | null>> => {
    const [stored] = await store.read(directoryPartition("space", id), [{ type: "record", key: currentKey }]);
    if (stored === null) return { version: null, value: null };
    const { number, document } = parseRevision(stored.value);
    return { version: stored.version, value: Object.freeze({ version: String(number), document }) };
  });
  const firstSpaces = cached(id => readFirstSpace(store, id, spaces));
  const events = cached(async (path): Promise<Loaded<Event | null>> => {
    const [projectId = "", id = ""] = path.split("/");
    return isAlias(id)
      ? await readAliasedEvent(store, projectId, id, clock())
      : await readEvent(store, projectId, id, clock());
  });

  /** A claim to a domain counts once its space has the domain. */
  async function spaceAt(host: string): Promise<Space | null> {
    if (host.length > domainCharactersMax) return null;
    const domain = host.toLowerCase();
    const space = await spaceOrNull(await domains(domain));
    return space?.domain === domain ? space : null;
  }
  const spaceOrNull = async (id: string | null | undefined): Promise<Space | null> =>
    typeof id === "string" ? await spaces(id) : null;

  return {
    organisation: organisations,
    space: spaces,
    project: projects,
    event(projectId, idOrAlias) {
      if (isAlias(idOrAlias)) return events(`${projectId}/${idOrAlias}`);
      return isUuid(idOrAlias) ? events(`${projectId}/${idOrAlias.toLowerCase()}`) : null;
    },
    forget({ kind, id }, eventIds) {
      if (kind === "organisation") organisations.forget(id);
      else if (kind === "space") spaces.forget(id);
      else projects.forget(id);
      firstSpaces.forget(id);
      for (const event of eventIds.length === 0 ? [] : [...eventIds, ...eventAliases])
        events.forget(`${id}/${event}`);
    },
    loyalty,
    spaceOfHost: async host => (await spaceAt(host)) ?? (await spaceOrNull(defaultSpaceId)),
    async spaceOfOrganisation(organisationId, host) {
      const isOwn = (space: Space | null): boolean => space?.organisationId === organisationId;
      const named = await spaceAt(host);
      if (isOwn(named)) return named;
      const own = await spaceOrNull((await organisations(organisationId))?.defaultSpaceId);
      if (isOwn(own)) return own;
      const common = await spaceOrNull(defaultSpaceId);
      return isOwn(common) ? common : await spaceOrNull(await firstSpaces(organisationId));
    },
  };
}

/** @throws {AppError} `project_archived` */
export function requireUnarchived(project: Pick<Project, "archived"> | null): void {
  if (project?.archived !== true) return;
  throw new AppError(
    "project_archived",
    "Cannot change anything in the project as it is archived: set `archived` to false first",
  );
}

/** Lists the events of a project by the time at which they start, page by page and uncached, as they are at `now` (Unix ms). */
export async function* projectEvents(
  store: Store,
  projectId: string,
  now: number,
): AsyncGenerator<Event, void, void> {
  const partition = directoryPartition("project", projectId);
  for (let offset = 0; ; offset += eventsPageMax) {
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: "events", offset, limit: eventsPageMax },
    ]);
    const reads = entries.map(({ member }): ReadRecord => ({ type: "record", key: `event:${member}` }));
    for (const stored of await store.read(partition, reads)) {
      if (stored !== null) yield eventAt(parse<StoredEvent>(stored), now);
    }
    if (entries.length < eventsPageMax) return;
  }
}

async function readRecord<T>(store: Store, partition: string, key: string): Promise<Loaded<T | null>> {
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  return stored === null
    ? { version: null, value: null }
    : { version: stored.version, value: parse<T>(stored) };
}

async function readFirstSpace(
  store: Store,
  organisationId: string,
  spaces: (id: string) => Space | null | Promise<Space | null>,
): Promise<Loaded<string | null>> {
  const partition = directoryPartition("organisation", organisationId);
  const [stored] = await store.read(partition, [{ type: "record", key: spacesKey }]);
  if (stored === null) return { version: null, value: null };
  for (const id of JSON.parse(stored.value) as readonly string[]) {
    if ((await spaces(id))?.organisationId === organisationId) return { value: id };
  }
  return { value: null };
}

async function readEvent(
  store: Store,
  projectId: string,
  id: string,
  now: number,
): Promise<Loaded<Event | null>> {
  const partition = directoryPartition("project", projectId);
  const [stored] = await store.read(partition, [{ type: "record", key: `event:${id}` }]);
  return stored === null ? { version: null, value: null } : loadedEvent(stored, now);
}

/** The state is part of the version, as the clock changes it without a write. */
function loadedEvent(stored: Stored, now: number): Loaded<Event> {
  const event = Object.freeze(eventAt(parse<StoredEvent>(stored), now));
  return { version: `${event.id} ${event.state} ${stored.version}`, value: event };
}

/** Looks among the open events; `latest` may also be the newest of all others, which are past. */
async function readAliasedEvent(
  store: Store,
  projectId: string,
  alias: (typeof eventAliases)[number],
  now: number,
): Promise<Loaded<Event | null>> {
  const partition = directoryPartition("project", projectId);
  const [stored, { entries, size }] = await store.read(partition, [
    { type: "record", key: openEventsKey },
    { type: "board", key: "events", limit: begunScanMax, reverse: true, max: now / 1_000 },
  ]);
  if (size === 0) return { version: null, value: null };
  const open = parseOpenEvents(stored);
  const states: readonly Event["state"][] = alias === "current" ? ["current"] : ["past", "on_demand"];
  const candidates = open
    .filter(event => states.includes(eventState(event, now / 1_000)))
    .map(({ id: member, start: score }) => ({ member, score }));
  if (alias === "latest") {
    const ids = new Set(open.map(({ id }) => id));
    const isPast = ({ member }: BoardEntry): boolean => !ids.has(member);
    // Open events may hide the past ones, and a state may have been fixed before its time.
    const [more] = entries.some(isPast)
      ? [{ entries }]
      : await store.read(partition, [
          { type: "board", key: "events", reverse: true, limit: storageLimits.rangeLimitMax },
        ]);
    candidates.push(...more.entries.filter(isPast).slice(0, candidatesMax));
  }
  const newest = candidates.sort((a, b) => b.score - a.score).slice(0, candidatesMax);
  const reads = newest.map(({ member }): ReadRecord => ({ type: "record", key: `event:${member}` }));
  const found = (reads.length === 0 ? [] : await store.read(partition, reads)).find(event => event !== null);
  return found ? loadedEvent(found, now) : { version: null, value: null };
}

function isAlias(text: string): text is (typeof eventAliases)[number] {
  return text === "current" || text === "latest";
}

function parse<T>({ value }: Stored): T {
  return Object.freeze(JSON.parse(value)) as T;
}

/** Time in ms in which a space that has claimed a domain has to be written. */
const pendingMs = 60_000;
const attemptsMax = 5;
const reads = [
  { type: "record", key: "space" },
  { type: "record", key: "pending" },
] as const;

/**
 * Returns the version of the claim to a domain that a space may replace; null: nobody claims it.
 *
 * @throws {AppError} `conflict`: another space has the domain.
 */
export async function requireFreeDomain(
  store: Store,
  spaceId: string,
  domain: string,
): Promise<Version | null> {
  const [holder, pending] = await store.read(domainPartition(domain), reads);
  if (holder === null) return null;
  const isOwn = holder.value === JSON.stringify(spaceId);
  if (!isOwn && (pending !== null || (await hasDomain(store, holder, domain)))) throw taken(domain);
  return holder.version;
}

/**
 * Claims a domain for a space, whose record has to be written next. {@linkcode settleDomain} ends the change.
 *
 * @throws {AppError} `conflict`: another space has the domain.
 */
export async function claimDomain(
  store: Store,
  spaceId: string,
  domain: string,
  now: number,
): Promise<Version> {
  const value = JSON.stringify(spaceId);
  return await retry(
    async () => {
      const version = await requireFreeDomain(store, spaceId, domain);
      const commit = await store.commit(domainPartition(domain), {
        checks: [{ key: "space", version }],
        writes: [
          { type: "put", key: "space", value },
          { type: "put", key: "pending", value, expireAt: now + pendingMs },
        ],
      });
      return commit.ok ? commit.version : undefined;
    },
    { attemptsMax, exhausted: () => taken(domain) },
  );
}

/**
 * Makes a claim final if the record of its space has the domain, and ends it otherwise. A claim that another change of the
 * space has just made is left to that change.
 *
 * @param claim What {@linkcode claimDomain} returned; null for a domain that the space had before.
 */
export async function settleDomain(
  store: Store,
  spaceId: string,
  domain: string,
  claim: Version | null,
): Promise<void> {
  const partition = domainPartition(domain);
  const [holder, pending] = await store.read(partition, reads);
  if (holder === null || holder.value !== JSON.stringify(spaceId)) return;
  if (pending !== null && holder.version !== claim) return;
  const ended = (await hasDomain(store, holder, domain)) ? ["pending"] : ["space", "pending"];
  await store.commit(partition, {
    checks: [{ key: "space", version: holder.version }],
    writes: ended.map(key => ({ type: "delete", shape: "record", key })),
  });
}

async function hasDomain(store: Store, claim: Stored, domain: string): Promise<boolean> {
  const partition = directoryPartition("space", JSON.parse(claim.value) as string);
  const [space] = await store.read(partition, [{ type: "record", key: "space" }]);
  return space !== null && (JSON.parse(space.value) as Space).domain === domain;
}

function taken(domain: string): AppError {
  return new AppError("conflict", `Cannot give the domain ${domain} to a space as another space holds it`);
}
