/**
 * The directory as the fan side reads it: cached, so that a change of settings is seen within a second by every process.
 *
 * @module
 */

import { isUuid } from "../auth/crypto/mod.ts";
import type { Read, Results, Store, Stored } from "../storage/mod.ts";
import { directoryPartition, domainPartition } from "./_partitions.ts";
import { FreshCache, type Versioned } from "./fresh_cache.ts";
import { currentKey, parseRevision } from "./loyalty_record.ts";
import { domainCharactersMax, type Event, type Organisation, type Project, type Space } from "./records.ts";

/** Age in ms from which a directory record is read again. Below a second, so that changes are seen within one. */
export const directoryAgeMsMax = 900;
/** Number of records of each kind that a process keeps. */
export const directoryEntriesMax = 20_000;
/** Number of events of a project that `current` and `latest` look through, newest first. */
export const eventAliasScanMax = 100;

/** Event names that stand for an event found by its state. */
export const eventAliases = ["current", "latest"] as const;

type EventAlias = (typeof eventAliases)[number];

/** Looks up organisations, spaces, projects and events. Answers come without a promise while they are fresh. */
export interface Directory {
  organisation(id: string): Organisation | null | Promise<Organisation | null>;
  space(id: string): Space | null | Promise<Space | null>;
  /** The space whose `domain` is this Host header value (case ignored), or else the default space. */
  spaceOfHost(host: string): Space | null | Promise<Space | null>;
  project(id: string): Project | null | Promise<Project | null>;
  /**
   * An event of the project by its id, or by `current` (the running event that started last) or `latest` (the
   * finished event that started last). Another project's event is unknown here, as is any text that is neither.
   */
  event(projectId: string, idOrAlias: string): Event | null | Promise<Event | null>;
  /** The loyalty configuration document of a space as written, with its version. */
  loyalty(spaceId: string): LoyaltyDocument | null | Promise<LoyaltyDocument | null>;
}

/** A stored loyalty configuration. */
export interface LoyaltyDocument {
  /** The number of the version, in decimal digits. */
  readonly version: string;
  readonly document: unknown;
}

/** What a directory needs. */
export interface DirectoryOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  /** The space of a Host that no space claims; omitted: such a Host has no space. */
  readonly defaultSpaceId?: string;
}

/** Creates a directory over the records of a store. */
export function createDirectory(options: DirectoryOptions): Directory {
  const { store, clock } = options;
  const limits = { clock, ageMsMax: directoryAgeMsMax, entriesMax: directoryEntriesMax };
  function cached<T>(load: (id: string) => Promise<Versioned<T>>): FreshCache<T> {
    return new FreshCache(load, limits);
  }
  async function record<T>(partition: string, key: string): Promise<Versioned<T | null>> {
    const [stored] = await store.read(partition, [{ type: "record", key }]);
    return parsed<T>(stored);
  }

  const organisations = cached(id =>
    record<Organisation>(directoryPartition("organisation", id), "organisation"),
  );
  const spaces = cached(id => record<Space>(directoryPartition("space", id), "space"));
  const projects = cached(id => record<Project>(directoryPartition("project", id), "project"));
  const domains = cached(host => record<string>(domainPartition(host), "space"));
  const loyalty = cached(async id => {
    const [stored] = await store.read(directoryPartition("space", id), [{ type: "record", key: currentKey }]);
    return stored === null
      ? { version: null, value: null }
      : { version: stored.version, value: loyaltyDocument(stored.value) };
  });
  const events = cached(async path => {
    const [projectId = "", id = ""] = path.split("/");
    return isAlias(id)
      ? await aliasedEvent(store, projectId, id)
      : await record<Event>(directoryPartition("project", projectId), `event:${id}`);
  });

  return {
    organisation: id => organisations.get(id),
    space: id => spaces.get(id),
    project: id => projects.get(id),
    event(projectId, idOrAlias) {
      if (isAlias(idOrAlias)) return events.get(`${projectId}/${idOrAlias}`);
      return isUuid(idOrAlias) ? events.get(`${projectId}/${idOrAlias.toLowerCase()}`) : null;
    },
    loyalty: spaceId => loyalty.get(spaceId),
    spaceOfHost(host) {
      const claimed = host.length > domainCharactersMax ? null : domains.get(host.toLowerCase());
      return spaceOf(claimed, spaces, options.defaultSpaceId);
    },
  };
}

function spaceOf(
  claimed: string | null | Promise<string | null>,
  spaces: FreshCache<Space | null>,
  defaultSpaceId: string | undefined,
): Space | null | Promise<Space | null> {
  if (claimed instanceof Promise) return claimed.then(id => spaceOf(id, spaces, defaultSpaceId));
  const id = claimed ?? defaultSpaceId;
  return id === undefined ? null : spaces.get(id);
}

function loyaltyDocument(text: string): LoyaltyDocument {
  const { number, document } = parseRevision(text);
  return Object.freeze({ version: String(number), document });
}

async function aliasedEvent(
  store: Store,
  projectId: string,
  alias: EventAlias,
): Promise<Versioned<Event | null>> {
  const partition = directoryPartition("project", projectId);
  const [newest] = await store.read(partition, [
    { type: "board", key: "events", limit: eventAliasScanMax, reverse: true },
  ]);
  const reads: readonly Read[] = newest.entries.map(entry => ({
    type: "record",
    key: `event:${entry.member}`,
  }));
  if (reads.length === 0) return { version: null, value: null };
  const found: Results<readonly Read[]> = await store.read(partition, reads);
  for (const stored of found) {
    const candidate = parsed<Event>(stored as Stored | null);
    if (candidate.value !== null && matchesAlias(candidate.value, alias)) {
      // Two events may share a version, and then an alias that moved on must not look unchanged.
      return { version: `${candidate.value.id} ${candidate.version}`, value: candidate.value };
    }
  }
  return { version: null, value: null };
}

function isAlias(text: string): text is EventAlias {
  return text === "current" || text === "latest";
}

function matchesAlias(event: Event, alias: EventAlias): boolean {
  return alias === "current"
    ? event.state === "current"
    : event.state === "past" || event.state === "on_demand";
}

function parsed<T>(stored: Stored | null): Versioned<T | null> {
  if (stored === null) return { version: null, value: null };
  return { version: stored.version, value: Object.freeze(JSON.parse(stored.value)) as T };
}
