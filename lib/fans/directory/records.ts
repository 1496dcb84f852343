/**
 * The records of the directory: organisations, their spaces, the projects of a space and the events of a project.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import type { Immutable } from "../../http/mod.ts";
import { type Partition, platformPartition, tenantPartition } from "../../storage/mod.ts";
import { type EventTimes, eventPhase, eventStates } from "./event_times.ts";

/** Longest name of an organisation, space, project or event, in characters. */
export const nameCharactersMax = 200;
/** Longest domain of a space with its port, in characters. */
export const domainCharactersMax = 260;

/** Event names that stand for an event found by its state. */
export const eventAliases = ["current", "latest"] as const;

/** Settings as they were written, by section. The area that owns a section validates it. */
export type Settings = Readonly<Record<string, unknown>>;

/** Lower-case, as every look-up is. */
const uuid = v.pipe(v.string(), v.uuid(), v.toLowerCase());
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(nameCharactersMax));
const settings = v.optional(v.record(v.string(), v.unknown()), {});
const unixSeconds = v.pipe(v.number(), v.finite(), v.minValue(0));

/** Validates an organisation. */
export const OrganisationSchema = v.object({
  id: uuid,
  name,
  /** The space that its API keys mean where neither Host nor query names one. */
  defaultSpaceId: v.exactOptional(uuid),
  settings: v.exactOptional(v.record(v.string(), v.unknown())),
});

/** Validates a space. */
export const SpaceSchema = v.object({
  id: uuid,
  organisationId: uuid,
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

/** Validates a project. */
export const ProjectSchema = v.object({ id: uuid, spaceId: uuid, organisationId: uuid, name, settings });

/** Validates an event of a seed; times are Unix seconds. */
export const EventSchema = v.object({
  id: uuid,
  projectId: uuid,
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
/** An event as stored: with its times, or as an older seed wrote it. */
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

/** The path parameter that names a project. */
export const ProjectParameter = v.pipe(
  v.string(),
  v.description("Id of the project"),
  v.check(isUuid, "Expected a UUID"),
  v.toLowerCase(),
);

/** The path parameter that names an event of a project. */
export const EventParameter = v.pipe(
  v.union(
    [v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase()), v.picklist(eventAliases)],
    `Expected a UUID or one of ${eventAliases.join(", ")}`,
  ),
  v.description("Id of the event, `current` for the running event or `latest` for the newest finished one"),
);

/** Returns the partition of the records of an organisation, space or project. */
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

/** The record of a space that lists the ids of its projects. */
export const projectsKey = "projects";

/** Returns the partition of a space's claim to a domain. */
export function domainPartition(domain: string): Partition {
  return platformPartition("domain", domain);
}
