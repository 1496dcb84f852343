/** The records that feeds are made of, read at most about once a second however many ask. */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import type { Directory, Project } from "../../fans/directory/mod.ts";
import {
  defaultListings,
  type ListingBounds,
  openEventsKey,
  parseOpenEvents,
  shownEvents,
} from "../../fans/directory/open_events.ts";
import { directoryPartition, type Places, type StoredEvent } from "../../fans/directory/records.ts";
import { describedText } from "../../http/mod.ts";
import { Batcher, Cache, type Loaded } from "../../storage/background/mod.ts";
import { readMany } from "../../storage/board_pages.ts";
import { type ReadRecord, type Store, type Stored, storageLimits } from "../../storage/mod.ts";
import { type Contents, contentsKey, elementKey, noContents, statsKey } from "../table/contents.ts";
import type { ElementFacts } from "../table/element_times.ts";
import { type FeedAssets, fieldsOf, noAssets } from "./feed_element.ts";
import { assetNames, assetsAgeMsMax, readAssets } from "./named_assets.ts";

/** Age in ms from which records are read again: below a second, so that changes are seen within one. */
const ageMsMax = 900;
/** Age in ms from which statistics are read again, for each read of them. With the records that makes less than two reads a second. */
const countsAgeMsMax = 1_500;
/** Time in ms for which a feed is served while the store cannot be read. */
const staleMs = 60_000;
/** Events, and projects, whose records a process keeps. */
const entriesMax = 1_000;
/** Events that have begun, newest first, among which the past ones of a project are looked for. */
const begunMax = 300;

/** Most events of a listing that are read together with it. */
const likelyMax = 100;

/** What authors wrote of a record beside what the fan side reads. Seeded records have none of it. */
interface Authored {
  readonly authored?: {
    readonly created: number;
    readonly attributes: Readonly<Record<string, unknown>>;
    /** What the app of a project says. Projects without an app have none of it. */
    readonly state?: { readonly listings?: ListingBounds; readonly embed?: string | null };
  };
}

/** An element as stored. */
export interface ElementRecord extends ElementFacts {
  readonly id: string;
  /** Unix seconds. */
  readonly updated: number;
  readonly refs: Readonly<Record<string, string>>;
}

export type EventRecord = StoredEvent & Authored;

export interface EventSource {
  readonly event: EventRecord;
  readonly contents: Contents;
  /** In the order of the event. */
  readonly elements: readonly ElementRecord[];
  readonly assets: FeedAssets;
}

/** Numbers of actions and choices by element or event: `actions`, and the options by number. */
export type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>;

export interface CountedSource extends EventSource {
  readonly counts: Counts;
}

/** A project with the events of its listing, in order. */
export interface ProjectSource {
  readonly project: Project & Authored;
  readonly events: readonly { readonly event: EventRecord; readonly version: string }[];
}

interface SourcesOptions {
  readonly store: Store;
  readonly places: Places;
  readonly publicUrl: string;
  /** Unix ms. */
  readonly clock: () => number;
  /** Hears which events this process has changed. */
  readonly changed: (eventId: string) => void;
}

export function feedKey(name: "listings" | "history" | "livestats", id: string): string {
  return `${name}/${id}`;
}

/** Reads the sources of feeds through caches. What has not changed keeps its object; null: there is no such thing. */
export class Sources {
  readonly #options: SourcesOptions;
  readonly #events: Cache<EventSource | null>;
  readonly #projects: Cache<ProjectSource | null>;
  readonly #counts: Cache<Counts>;
  /** Files by the event whose elements name them. */
  readonly #assets: Cache<FeedAssets>;
  /** The events of the last listing by project: most often they are those of the next one, and are read with it. */
  readonly #listed = new Cache<readonly string[]>({ entriesMax });
  /** The last sources by event, each with the version of the records that guard its elements. */
  readonly #last = new Cache<{
    readonly version: string;
    readonly value: EventSource;
    /** Ids and addresses of files that the elements name. */
    readonly names: readonly string[];
  }>({ entriesMax });
  readonly #counted = new WeakMap<EventSource, CountedSource>();
  readonly #rereads = new Batcher<null, EventSource | null>({
    run: async (id, callers) => {
      this.#events.delete(id);
      const event = await this.event(id);
      return callers.map(() => event);
    },
  });

  constructor(options: SourcesOptions) {
    const common = { entriesMax, staleMs, clock: options.clock };
    this.#options = options;
    this.#events = new Cache({ ...common, maxAgeMs: ageMsMax });
    this.#projects = new Cache({ ...common, maxAgeMs: ageMsMax });
    this.#counts = new Cache({ ...common, maxAgeMs: countsAgeMsMax });
    this.#assets = new Cache({ ...common, maxAgeMs: assetsAgeMsMax });
  }

  /** Returns an event as it was at most `maxAgeMs` ago. */
  async event(id: string, maxAgeMs = ageMsMax): Promise<EventSource | null> {
    const now = this.#options.clock() + ageMsMax - maxAgeMs;
    return await this.#events.getOrLoad(id, () => this.#loadEvent(id), now);
  }

  /** Forgets an event that has changed. */
  forget(id: string): void {
    this.#events.delete(id);
    this.#options.changed(id);
  }

  /** Reads an event that may have changed since it was read last. Callers who arrive during a read share the next one. */
  currentEvent(id: string): Promise<EventSource | null> {
    return this.#rereads.add(id, null);
  }

  async project(id: string): Promise<ProjectSource | null> {
    return await this.#projects.getOrLoad(id, () => this.#loadProject(id));
  }

  async counted(id: string): Promise<CountedSource | null> {
    const source = await this.event(id);
    if (source === null) return null;
    const counts = await this.#counts.getOrLoad(id, async () => {
      const began = this.#options.clock();
      const ids = [id, ...source.elements.map(element => element.id)];
      const value = await readCounts(this.#options.store, source.event.projectId, ids);
      const version = JSON.stringify([...value].map(([name, own]) => [name, ...own]));
      const reads = Math.ceil(ids.length / storageLimits.readsMax);
      return { value, version, until: began + reads * countsAgeMsMax };
    });
    const last = this.#counted.get(source);
    if (last?.counts === counts) return last;
    const counted = { ...source, counts };
    this.#counted.set(source, counted);
    return counted;
  }

  async #loadEvent(id: string): Promise<Loaded<EventSource | null>> {
    const { store, places } = this.#options;
    const home = await places.homeOf(id);
    if (home?.kind !== "project") return { value: null };
    const partition = directoryPartition("project", home.id);
    const [event, contents] = await store.read(partition, [record(`event:${id}`), record(contentsKey(id))]);
    if (event === null) return { value: null };
    const version = `${event.version} ${contents?.version}`;
    const last = this.#last.get(id);
    if (last?.version === version) {
      const assets = await this.#assetsOf(last.value.event, last.names);
      if (assets === last.value.assets) return { value: last.value };
      const value = { ...last.value, assets };
      this.#last.set(id, { ...last, value });
      return { value };
    }
    const listed = contents === null ? noContents : parse<Contents>(contents);
    const found = await readMany(
      store,
      partition,
      listed.elements.map(each => record(elementKey(each.id))),
    );
    const elements = existing(found).map(parse<ElementRecord>);
    const names = assetNames(elements, home.id);
    this.#assets.delete(id);
    const parsed = parse<EventRecord>(event);
    const assets = await this.#assetsOf(parsed, names);
    const value = { event: parsed, contents: listed, elements, assets };
    this.#last.set(id, { version, value, names });
    return { value };
  }

  /** Returns the files of the space that elements of an event name. */
  async #assetsOf({ id, projectId }: EventRecord, names: readonly string[]): Promise<FeedAssets> {
    if (names.length === 0) return noAssets;
    return await this.#assets.getOrLoad(id, () => readAssets(this.#options, { projectId, names }));
  }

  async #loadProject(id: string): Promise<Loaded<ProjectSource | null>> {
    const { store, clock } = this.#options;
    const partition = directoryPartition("project", id);
    const now = clock() / 1_000;
    const likely = this.#listed.get(id) ?? [];
    const [project, open, begun, ...found] = await store.read(partition, [
      record("project"),
      record(openEventsKey),
      { type: "board", key: "events", limit: begunMax, reverse: true, max: now },
      ...likely.map(each => record(`event:${each}`)),
    ]);
    if (project === null) return { value: null };
    const parsed = parse<Project & Authored>(project);
    const bounds = parsed.authored?.state?.listings ?? defaultListings;
    const shown = shownEvents(parseOpenEvents(open), begun.entries, now, bounds).map(each => each.id);
    const others = shown.filter(each => !likely.includes(each));
    const read = await readMany(
      store,
      partition,
      others.map(each => record(`event:${each}`)),
    );
    const byId = new Map(
      [...likely, ...others].map((each, index) => [each, [...found, ...read][index] ?? null]),
    );
    this.#listed.set(id, shown.slice(0, likelyMax));
    const events = existing(shown.map(each => byId.get(each) ?? null));
    return {
      value: {
        project: parsed,
        events: events.map(stored => ({ event: parse<EventRecord>(stored), version: stored.version })),
      },
      version: [project, ...events].map(each => each.version).join(" "),
    };
  }
}

export async function readCounts(store: Store, projectId: string, ids: readonly string[]): Promise<Counts> {
  const queries = ids.map(id => ({ type: "tally", key: statsKey(id) }) as const);
  const found = await readMany(store, directoryPartition("project", projectId), queries);
  return new Map(ids.map((id, index) => [id, found[index] ?? new Map()]));
}

function existing(found: readonly (Stored | null)[]): readonly Stored[] {
  return found.filter(stored => stored !== null);
}

function record(key: string): ReadRecord {
  return { type: "record", key };
}

function parse<T>({ value }: Stored): T {
  return JSON.parse(value) as T;
}

/** Elements and events whose owner a process remembers, and for how long in ms. */
const ownersKept = { entriesMax: 20_000, maxAgeMs: 30_000 };

interface Owner {
  readonly spaceId: string;
  readonly projectId: string;
  readonly eventId: string;
}

interface OwnersServices {
  readonly store: Store;
  readonly places: Places;
  readonly directory: Pick<Directory, "project">;
  /** Unix ms. */
  readonly clock: () => number;
}

export class Owners {
  readonly #services: OwnersServices;
  readonly #owners: Cache<Owner | null>;

  constructor(services: OwnersServices) {
    this.#services = services;
    this.#owners = new Cache({ ...ownersKept, clock: services.clock });
  }

  /** Returns the owner of an element or event; null: there is none of this id. */
  async of(id: string): Promise<Owner | null> {
    return await this.#owners.getOrLoad(id, () => this.#load(id));
  }

  /** Forgets that there was no such element or event. */
  forget(id: string): void {
    if (this.#owners.get(id) === null) this.#owners.delete(id);
  }

  async #load(id: string): Promise<Loaded<Owner | null>> {
    const { store, places, directory } = this.#services;
    const home = await places.homeOf(id);
    if (home?.kind !== "project") return { value: null };
    const [element, event] = await store.read(directoryPartition("project", home.id), [
      { type: "record", key: elementKey(id) },
      { type: "record", key: `event:${id}` },
    ]);
    const project = await directory.project(home.id);
    const eventId = element === null ? id : (JSON.parse(element.value) as ElementRecord).refs.event;
    if (project === null || eventId === undefined || (element ?? event) === null) return { value: null };
    return { value: { spaceId: project.spaceId, projectId: home.id, eventId } };
  }
}

export type FeedOwner = "projects" | "events";

export const feedPaths = {
  projects: "/projects/:prefix/:projectId",
  events: "/events/:prefix/:eventId",
} as const;

type FeedParameters = { readonly prefix: string; readonly projectId?: string; readonly eventId?: string };

export const FeedParams: Readonly<Record<FeedOwner, v.GenericSchema<unknown, FeedParameters>>> = {
  projects: v.object({
    prefix: describedText("First two characters of the id"),
    projectId: describedText("Id of the project"),
  }),
  events: v.object({
    prefix: describedText("First two characters of the id"),
    eventId: describedText("Id of the event"),
  }),
};

export const feedHeaders = {
  "cache-control": "public, max-age=5, stale-while-revalidate=25",
  // Feeds are for any page, whatever origins the other areas allow.
  "access-control-allow-origin": "*",
};

/** Returns the id that a path names. @throws {AppError} `not_found`: there is no such address. */
export function feedIdOf({ prefix, projectId, eventId }: FeedParameters): string {
  const id = projectId ?? eventId ?? "";
  if (!isUuid(id) || id !== id.toLowerCase() || prefix !== id.slice(0, 2)) throw unknownFeed();
  return id;
}

export function unknownFeed(): AppError {
  const expected = "expected the first two characters of an id in lower case, then the id";
  return new AppError("not_found", `Cannot find the feed: ${expected}`);
}

function urlOf(publicUrl: string, owner: FeedOwner, id: string, name: string): string {
  return `${publicUrl}/${owner}/${id.slice(0, 2)}/${id}/${name}.json`;
}

export function projectFeedUrls(publicUrl: string, id: string): Readonly<Record<string, string>> {
  return { listings: urlOf(publicUrl, "projects", id, "listings") };
}

export function eventFeedUrls(publicUrl: string, id: string): Readonly<Record<string, string>> {
  const of = (name: string): string => urlOf(publicUrl, "events", id, name);
  return { history: of("history"), latest_results: of("latest_results"), livestats: of("livestats") };
}

/** Returns the value of each field for every locale, or else that of its first one. Addresses lose their scheme. */
export function plainValues(fields: unknown): Record<string, unknown> {
  return Object.fromEntries(
    fieldsOf(fields).map(({ key, values }) => [
      key,
      withoutScheme(values.all ?? Object.values(values)[0] ?? null),
    ]),
  );
}

/** Returns an address relative to the scheme of its page; any other value as it is. */
export function withoutScheme<T>(value: T): T {
  return typeof value === "string" ? (value.replace(/^https?:(?=\/\/)/, "") as T) : value;
}
