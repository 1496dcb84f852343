/** The records of the directory: organisations, their spaces, the projects of a space and the events of a project. */

import * as v from "valibot";
import { isUuid, uuid } from "../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../auth/mod.ts";
import type { Immutable } from "../../http/mod.ts";
import { Cache } from "../../storage/background/mod.ts";
import { type Partition, type Store, tenantPartition } from "../../storage/mod.ts";
import { platformPartition } from "../../storage/names.ts";
import { type EventTimes, eventPhase, eventStates } from "./event_times.ts";

const nameCharactersMax = 200;
export const domainCharactersMax = 260;

export const eventAliases = ["current", "latest"] as const;

/** Settings as they were written, by section. The area that owns a section validates it. */
export type Settings = Readonly<Record<string, unknown>>;

/** Lower-case, as every look-up is. */
const Uuid = v.pipe(v.string(), v.uuid(), v.toLowerCase());
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(nameCharactersMax));
const settings = v.optional(v.record(v.string(), v.unknown()), {});
const unixSeconds = v.pipe(v.number(), v.finite(), v.minValue(0));

export const OrganisationSchema = v.object({
  id: Uuid,
  name,
  /** The space that its API keys mean where neither Host nor query names one. */
  defaultSpaceId: v.exactOptional(Uuid),
  settings: v.exactOptional(v.record(v.string(), v.unknown())),
});

export const SpaceSchema = v.object({
  id: Uuid,
  organisationId: Uuid,
  name,
  /** The Host under which `{space_url}` is reached, with a port that is not the default one. */
  domain: v.exactOptional(
    v.pipe(
      v.string(),
      v.maxLength(domainCharactersMax),
      v.regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/),
    ),
  ),
  settings,
});

export const ProjectSchema = v.object({ id: Uuid, spaceId: Uuid, organisationId: Uuid, name, settings });

/** Validates an event of a seed; times are Unix seconds. */
export const EventSchema = v.object({
  id: Uuid,
  projectId: Uuid,
  name,
  /** The state for as long as nobody starts or stops the event. Omitted: it follows the clock. */
  state: v.exactOptional(v.picklist(eventStates)),
  startAt: unixSeconds,
  endAt: v.exactOptional(unixSeconds),
  settings,
});

/** A customer of the platform; owns spaces and API keys. */
export type Organisation = Immutable<v.InferOutput<typeof OrganisationSchema>>;
/** A domain with one audience and one loyalty configuration. */
export type Space = Immutable<v.InferOutput<typeof SpaceSchema>>;
/** One app or site as fans see it: has users, boards and events. */
export interface Project extends Immutable<v.InferOutput<typeof ProjectSchema>> {
  /** True if it is kept for its records alone. @default false */
  readonly archived?: boolean;
}
/** A show or match of a project, with its state now. Times are Unix seconds. */
export interface Event extends Immutable<Omit<v.InferOutput<typeof EventSchema>, "state">> {
  readonly state: (typeof eventStates)[number];
}
/** An event as stored: with its times, or as a seed wrote it. */
export type StoredEvent = Immutable<v.InferOutput<typeof EventSchema>> & { readonly times?: EventTimes };

/** Returns the facts that decide the state of an event. A state that was written down lasts until somebody starts or stops the event. */
export function eventTimesOf({ times, state, startAt, endAt }: StoredEvent): EventTimes {
  if (times !== undefined) return times;
  const common = {
    stoppedAt: null,
    closedAt: null,
    duration: 0,
    extraTime: 0,
    onDemand: 0,
    startAt,
  } as const;
  const follows = {
    ...common,
    startMode: "clock",
    startedAt: null,
    endMode: "scheduled",
    endAt: endAt ?? null,
  } as const;
  if (state === undefined) return follows;
  return {
    ...follows,
    startMode: "manual",
    startedAt: state === "future" ? null : startAt,
    fixedState: state,
  };
}

/** Returns an event as it is at `now`, in Unix ms. */
export function eventAt(stored: StoredEvent, now: number): Event {
  const { times: _, ...event } = stored;
  const { state, begin, end } = eventPhase(eventTimesOf(stored), now / 1_000);
  const { startAt = 0, endAt: __, ...others } = event;
  return { ...others, state, startAt: begin ?? startAt, ...(end === null ? {} : { endAt: end }) };
}

export const ProjectParameter = v.pipe(
  v.string(),
  v.description("Id of the project"),
  v.check(isUuid, "Expected a UUID"),
  v.toLowerCase(),
);

export const EventParameter = v.pipe(
  v.union(
    [v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase()), v.picklist(eventAliases)],
    `Expected a UUID or one of ${eventAliases.join(", ")}`,
  ),
  v.description("Id of the event, `current` for the running event or `latest` for the newest finished one"),
);

export function directoryPartition(kind: "organisation" | "space" | "project", id: string): Partition {
  switch (kind) {
    case "organisation":
      return tenantPartition({ organisation: id }, "directory");
    case "space":
      return tenantPartition({ space: id }, "directory");
    case "project":
      return tenantPartition({ project: id }, "directory");
  }
}

/** The record of an organisation that lists the ids of its spaces, the first one first. */
export const spacesKey = "spaces";

export const projectsKey = "projects";

export function domainPartition(domain: string): Partition {
  return platformPartition("domain", domain);
}

const key = "home";
const entriesMax = 20_000;
/** What owns resources: an organisation, a space or a project. Each has one partition. */
export type HomeKind = "organisation" | "space" | "project";

const idBytes = 10;

/** The owner of records, whose partition holds them; `platform`: the deployment itself. */
export interface Home {
  readonly kind: HomeKind | "platform";
  readonly id: string;
}

export function isSameHome(a: Home, b: Home): boolean {
  return a.kind === b.kind && a.id === b.id;
}

interface PlacesOptions {
  readonly store: Store;
  readonly random: RandomBytes;
}

interface NewIdOptions {
  readonly isNew?: boolean;
  readonly random?: RandomBytes;
}

/** Finds the homes of records. A note never changes, so it is cached for good. */
export class Places {
  readonly #store: Store;
  readonly #random: RandomBytes;
  readonly #homes = new Cache<Home>({ entriesMax });

  constructor({ store, random }: PlacesOptions) {
    this.#store = store;
    this.#random = random;
  }

  /**
   * Makes an id for a record of a home, which {@linkcode keep} has to note before the record is created.
   *
   * @param isNew True for a home that is being created, and that claims the beginning of its id first.
   */
  async newId(home: Home, { isNew = false, random = this.#random }: NewIdOptions = {}): Promise<string> {
    const owner = await this.#find(idPrefix(home.id));
    const isOwn = owner === null ? isNew : isSameHome(owner, home);
    return isOwn ? childId(home.id, random(idBytes)) : uuid(random);
  }

  /** Notes the home of a new id that does not say it, because another home has the first bits of this one. */
  async keep(id: string, home: Home): Promise<void> {
    if (!isChildId(id)) await notePlace(this.#store, id, home);
  }

  /** Returns the home of a record, or null if the id can be none of ours. A record of the id need not exist. */
  async homeOf(id: string): Promise<Home | null> {
    if (!isUuid(id)) return null;
    return await this.#find(isChildId(id) ? idPrefix(id) : id);
  }

  async #find(name: string): Promise<Home | null> {
    const cached = this.#homes.get(name);
    if (cached !== undefined) return cached;
    const [stored] = await this.#store.read(partitionOf(name), [{ type: "record", key }]);
    if (stored === null) return null;
    const home = JSON.parse(stored.value) as Home;
    this.#homes.set(name, home);
    return home;
  }
}

/** Claims the first 48 bits of a home's id, unless another home has them. */
export async function claimPlace(store: Store, { kind, id }: Home): Promise<void> {
  await store.commit(partitionOf(idPrefix(id)), {
    checks: [{ key, version: null }],
    writes: [{ type: "put", key, value: JSON.stringify({ kind, id }) }],
  });
}

/** Notes the home of a record whose id does not say it. */
export async function notePlace(store: Store, id: string, home: Home): Promise<void> {
  await store.commit(partitionOf(id), { writes: [{ type: "put", key, value: JSON.stringify(home) }] });
}

export async function hasPlace(store: Store, home: Home, id?: string): Promise<boolean> {
  const [stored] = await store.read(partitionOf(id ?? idPrefix(home.id)), [{ type: "record", key }]);
  return stored !== null;
}

function partitionOf(name: string): string {
  return platformPartition("place", name);
}

/** Returns the first 48 bits of an id, as 12 hexadecimal digits. */
function idPrefix(id: string): string {
  return id.slice(0, 8) + id.slice(9, 13);
}

/** Makes an id under an owner from 10 random bytes. */
function childId(ownerId: string, random: Uint8Array): string {
  const hex = Array.from(random.subarray(0, 10), byte => byte.toString(16).padStart(2, "0")).join("");
  const variant = ((Number.parseInt(hex.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${ownerId.slice(0, 13)}-8${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}

/** Returns true if the id may have been made by {@linkcode childId}. */
export function isChildId(id: string): boolean {
  return id.charAt(14) === "8";
}
