/** When the events of a project are: which overlap, and which are in a week of a zone. */

import { periodOf } from "../../../../base/calendar/mod.ts";
import type { Resource } from "../api.ts";
import { ownZone } from "./zones.ts";

/** Returns the zone that the project shows fans, or that of the user. */
export function zoneOf({ attributes }: Resource): string {
  return String(Object(Object(attributes.services).show).timeZone ?? ownZone);
}

/** Returns when an event begins and ends, in Unix seconds; zeros: somebody starts it by hand, and nobody knows when. */
export function timesOf({ attributes }: Resource): readonly [begin: number, end: number] {
  const { start_at: at, end_at: until, duration, extra_time_duration: extra } = attributes;
  const begin = Number(at ?? 0);
  if (begin === 0) return [0, 0];
  // Nobody knows when one ends that runs until it is stopped: its begin alone counts.
  const end = Number(until ?? 0) || begin + Number(duration ?? 0);
  return [begin, end + Number(extra ?? 0)];
}

/** Returns the events that are still to come, or run, at a time of another one. */
export function overlapsOf(event: Resource, events: readonly Resource[]): readonly Resource[] {
  const [begin, end] = spanOf(event);
  if (begin === 0) return [];
  return events.filter(other => {
    const [from, to] = spanOf(other);
    return other.id !== event.id && from > 0 && from < end && begin < to;
  });
}

function spanOf(event: Resource): readonly [number, number] {
  const { state } = event.attributes;
  return state === "current" || state === "future" ? timesOf(event) : [0, 0];
}

/** A day of a zone, which has 23 or 25 hours where the clock changes. */
export interface Day {
  /** Such as `2026-11-23`. */
  readonly date: string;
  readonly hours: number;
  /** Events that begin on the day or have not ended before it, the earliest first. */
  readonly events: readonly Resource[];
}

export interface Week {
  readonly days: readonly Day[];
  /** Unix ms of its begin and of the begin of the next one. */
  readonly startsAt: number;
  readonly endsAt: number;
}

/** Returns the week, from Monday on, that an instant in Unix ms is in. */
export function weekOf(at: number, zone: string, events: readonly Resource[]): Week {
  const { startsAt, endsAt } = periodOf("week", zone, at);
  const sorted = events.filter(event => timesOf(event)[0] > 0).sort((a, b) => timesOf(a)[0] - timesOf(b)[0]);
  const days: Day[] = [];
  for (let from = startsAt; from < endsAt; ) {
    const day = periodOf("day", zone, from);
    const isThen = (event: Resource): boolean => {
      const [begin, end] = timesOf(event).map(seconds => seconds * 1_000) as [number, number];
      return begin < day.endsAt && (begin >= day.startsAt || end > day.startsAt);
    };
    const hours = (day.endsAt - day.startsAt) / 3_600_000;
    days.push({ date: day.id, hours, events: sorted.filter(isThen) });
    from = day.endsAt;
  }
  return { days, startsAt, endsAt };
}
