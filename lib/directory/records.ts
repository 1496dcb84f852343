/**
 * What the directory knows: organisations, their spaces, the projects of a space and the events of a project.
 *
 * @module
 */

import * as v from "valibot";

/** Longest name of an organisation, space, project or event, in characters. */
export const nameCharactersMax = 200;

/** Longest domain of a space with its port, in characters. */
export const domainCharactersMax = 260;

/** Settings as they were written, by section. The area that a section belongs to checks and compiles it. */
export type Settings = Readonly<Record<string, unknown>>;

/** A customer of the platform; owns spaces and API keys. */
export interface Organisation {
  readonly id: string;
  readonly name: string;
  readonly settings?: Settings;
}

/** A domain of its own with one audience and one loyalty configuration. */
export interface Space {
  readonly id: string;
  readonly organisationId: string;
  readonly name: string;
  /** The Host, with the port where it is not the default one, under which `{space_url}` reaches it. */
  readonly domain?: string;
  readonly settings: Settings;
}

/** What fans see as one app or site: has users, boards and events. */
export interface Project {
  readonly id: string;
  readonly spaceId: string;
  readonly organisationId: string;
  readonly name: string;
  readonly settings: Settings;
}

/** The states of an event. */
export type EventState = "future" | "current" | "on_demand" | "past";

/** A show or match of a project. */
export interface Event {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly state: EventState;
  /** Unix seconds. */
  readonly startAt: number;
  /** Unix seconds. */
  readonly endAt?: number;
  readonly settings: Settings;
}

/** Lower-case, as every look-up is. */
const uuid = v.pipe(v.string(), v.uuid(), v.toLowerCase());
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(nameCharactersMax));
const settings = v.optional(v.record(v.string(), v.unknown()), {});
const unixSeconds = v.pipe(v.number(), v.finite(), v.minValue(0));
const domain = v.pipe(
  v.string(),
  v.maxLength(domainCharactersMax),
  v.regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/),
);

/** What may be left out when a record with settings is written. */
type WithoutSettings<T extends { settings: Settings }> = Omit<T, "settings"> & {
  readonly settings?: Settings | undefined;
};

/** Checks an organisation. */
export const OrganisationSchema: v.GenericSchema<Organisation, Organisation> = v.object({
  id: uuid,
  name,
  settings: v.exactOptional(v.record(v.string(), v.unknown())),
});

/** Checks a space. */
export const SpaceSchema: v.GenericSchema<WithoutSettings<Space>, Space> = v.object({
  id: uuid,
  organisationId: uuid,
  name,
  domain: v.exactOptional(domain),
  settings,
});

/** Checks a project. */
export const ProjectSchema: v.GenericSchema<WithoutSettings<Project>, Project> = v.object({
  id: uuid,
  spaceId: uuid,
  organisationId: uuid,
  name,
  settings,
});

/** Checks an event. */
export const EventSchema: v.GenericSchema<WithoutSettings<Event>, Event> = v.object({
  id: uuid,
  projectId: uuid,
  name,
  state: v.picklist(["future", "current", "on_demand", "past"]),
  startAt: unixSeconds,
  endAt: v.exactOptional(unixSeconds),
  settings,
});
