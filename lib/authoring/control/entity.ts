/**
 * Authored records, and the forms in which they are stored.
 *
 * @module
 */

import { type EventTimes, eventInstants } from "../../fans/directory/event_times.ts";
import {
  directoryPartition,
  type Event,
  eventTimesOf,
  type Home,
  type Organisation,
  type Project,
  type Space,
  type StoredEvent,
} from "../../fans/directory/mod.ts";
import { platformPartition } from "../../storage/mod.ts";

export type { Home };

/** The home of what belongs to no organisation. */
export const platformHome: Home = { kind: "platform", id: "control" };

export function homePartition({ kind, id }: Home): string {
  return kind === "platform" ? platformPartition(id) : directoryPartition(kind, id);
}

/** Values of attributes by name. */
export type Attributes = Readonly<Record<string, unknown>>;

/** An authored record. */
export interface Entity {
  readonly id: string;
  /** Counts changes from 1. */
  readonly rev: number;
  /** Unix seconds. */
  readonly created: number;
  /** Unix seconds. */
  readonly updated: number;
  /** What was written; absent ones have their defaults. */
  readonly attributes: Attributes;
  /** Ids of related records by relationship. */
  readonly refs: Readonly<Record<string, string>>;
  /** What actions and the platform noted. */
  readonly state?: Attributes;
}

/** Facts of an authored record beside what the fan side reads. */
type Authored = Omit<Entity, "id">;

/** A record of the directory, with what is authored of it. */
type Landed<T> = T & { readonly authored?: Authored; readonly settings?: unknown; readonly domain?: string };

const unauthored: Authored = { rev: 0, created: 0, updated: 0, attributes: {}, refs: {} };

/** Translates between an entity and its stored form. */
export interface Codec {
  decode(stored: unknown): Entity;
  encode(entity: Entity): unknown;
}

/** Entities that are stored as they are. */
export const plainCodec: Codec = { decode: stored => stored as Entity, encode: entity => entity };

/** The codec of records that the fan side reads as well: name and services have their own places there. */
function landedCodec<T extends { readonly id: string; readonly name: string }>(
  refsOf: (record: T) => Readonly<Record<string, string>>,
  landedOf: (entity: Entity) => object,
): Codec {
  return {
    decode(stored) {
      const record = stored as Landed<T>;
      const { authored = unauthored, id, name, settings = {}, domain } = record;
      const address = domain === undefined ? {} : { domain };
      return {
        ...authored,
        id,
        attributes: { ...authored.attributes, name, services: settings, ...address },
        refs: { ...authored.refs, ...refsOf(record) },
      };
    },
    encode(entity) {
      const { id, ...authored } = entity;
      const { name, services = {}, domain, ...attributes } = entity.attributes;
      const address = typeof domain === "string" ? { domain } : {};
      return {
        id,
        name,
        settings: services,
        ...address,
        ...landedOf(entity),
        authored: { ...authored, attributes },
      };
    },
  };
}

const plainOrganisationCodec = landedCodec<Organisation>(
  () => ({}),
  ({ state }) => (state?.defaultSpaceId === undefined ? {} : { defaultSpaceId: state.defaultSpaceId }),
);
export const organisationCodec: Codec = {
  decode(stored) {
    const { state, ...entity } = plainOrganisationCodec.decode(stored);
    return { ...entity, state: { ...state, defaultSpaceId: (stored as Organisation).defaultSpaceId } };
  },
  encode: plainOrganisationCodec.encode,
};
export const spaceCodec = landedCodec<Space>(
  ({ organisationId }) => ({ organisation: organisationId }),
  ({ refs }) => ({ organisationId: refs.organisation }),
);
export const projectCodec = landedCodec<Project>(
  ({ spaceId, organisationId }) => ({ space: spaceId, organisation: organisationId }),
  ({ refs, attributes }) => ({
    spaceId: refs.space,
    organisationId: refs.organisation,
    ...(attributes.archived === true ? { archived: true } : {}),
  }),
);

const authoredEventCodec = landedCodec<Event>(
  ({ projectId }) => ({ project: projectId }),
  entity => {
    const times = eventEntityTimes(entity);
    const startAt = eventInstants(times).begin ?? times.startAt ?? entity.created;
    return { projectId: entity.refs.project, startAt, times };
  },
);

/** Events. The fan side reads their times, which are a copy of what attributes and state say. */
export const eventCodec: Codec = {
  decode(stored) {
    const entity = authoredEventCodec.decode(stored);
    if (entity.rev > 0) return entity;
    const { startMode, startAt, startedAt, duration, endMode, endAt, fixedState } = eventTimesOf(
      stored as StoredEvent,
    );
    const attributes = {
      ...entity.attributes,
      ...{ start_mode: startMode, start_at: startAt, duration, end_mode: endMode, end_at: endAt },
    };
    const state = { startedAt, ...(fixedState === undefined ? {} : { fixedState }) };
    return { ...entity, created: (stored as StoredEvent).startAt, attributes, state };
  },
  encode: authoredEventCodec.encode,
};

/** Returns the facts that decide the state of an event. */
export function eventEntityTimes({ attributes, state = {} }: Entity): EventTimes {
  const timeOf = (value: unknown): number | null => (value ?? null) as number | null;
  return {
    startMode: (attributes.start_mode ?? "manual") as EventTimes["startMode"],
    startAt: timeOf(attributes.start_at),
    startedAt: timeOf(state.startedAt),
    stoppedAt: timeOf(state.stoppedAt),
    closedAt: timeOf(state.closedAt),
    duration: timeOf(attributes.duration) ?? 3_600,
    endMode: (attributes.end_mode ?? "duration") as EventTimes["endMode"],
    endAt: timeOf(attributes.end_at),
    extraTime: timeOf(attributes.extra_time_duration) ?? 0,
    onDemand: timeOf(attributes.on_demand_duration) ?? 0,
    fixedState: (state.fixedState ?? undefined) as EventTimes["fixedState"],
  };
}
