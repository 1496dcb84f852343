/** The listing of a project. */

import { type EventPhase, eventPhase } from "../../fans/directory/event_times.ts";
import { eventTimesOf } from "../../fans/directory/mod.ts";
import { isoOf, plainValues, withoutScheme } from "./content.ts";
import type { Listings } from "./schemas.ts";
import type { EventRecord, ProjectSource } from "./sources.ts";

/** Something that holds until an instant. */
export interface Timed<T> {
  readonly value: T;
  /** Unix seconds; null: until a source changes. */
  readonly validUntil: number | null;
}

interface Listed {
  readonly event: EventRecord;
  readonly version: string;
  readonly phase: EventPhase;
}

/** Builds the listing of a project as it is at `now`, in Unix seconds. */
export function listingsOf({ project, events }: ProjectSource, now: number, base: string): Timed<Listings> {
  const all = events.map(({ event, version }) => ({
    event,
    version,
    phase: eventPhase(eventTimesOf(event), now),
  }));
  const { attributes = {}, state = {} } = project.authored ?? {};
  const locales = (attributes.locales ?? []) as string[];
  return {
    value: {
      project: {
        uuid: project.id,
        name: project.name,
        audio_sync_default_delay: Number(attributes.audio_sync_default_delay ?? 0),
        audio_sync_max_delay: Number(attributes.audio_sync_max_delay ?? 0),
        tracking_id: project.id,
        embed: withoutScheme(state.embed ?? base),
        history_ignore: [],
        is_localisation_supported: locales.length > 0,
        locales,
      },
      events: all.map(entryOf),
      assets: {},
    },
    validUntil: nextAfter(
      now,
      all.map(({ phase }) => phase.changesAt),
    ),
  };
}

/** Returns the earliest of the instants that lies after `now`. */
export function nextAfter(now: number, instants: readonly (number | null)[]): number | null {
  return instants.reduce((next, at) => (at === null || at <= now || (next ?? at) < at ? next : at), null);
}

function entryOf({ event, version, phase }: Listed): Listings["events"][number] {
  const { attributes = {} } = event.authored ?? {};
  const fields = plainValues(attributes.settings);
  const { image_url: image } = fields;
  const entry = {
    start_at: phase.begin,
    end_at: phase.end,
    state: phase.state,
    extra_time: Number(attributes.extra_time_duration ?? 0),
  };
  return {
    id: event.id,
    name: event.name,
    ...entry,
    start_at_iso: isoOf(phase.begin),
    end_at_iso: isoOf(phase.end),
    started: phase.state !== "future",
    image_url: typeof image === "string" ? image : null,
    custom_fields: fields,
    // Everything of an entry follows from the record and its phase.
    digest: `${version}-${phase.state}`,
  };
}
