/**
 * The time zone of a user, which the profile names. A change is in force from the end of the user's day, so that no day is had twice.
 *
 * @module
 */

import { endOfPeriod, isTimeZone } from "../../../base/calendar/mod.ts";
import type { ProfileFields } from "./profile_fields.ts";

/** The zone of a user, and the one before it. */
export interface UserZone {
  readonly name: string;
  /** Unix ms from which it is in force. */
  readonly from: number;
  /** The zone until then. */
  readonly before: string;
}

/** A zone stays for as long as an action may arrive late, so that a late one finds the zone in which it happened. */
const keptMs = 7 * 24 * 60 * 60 * 1_000;

/** Returns the zone of a user at a time (Unix ms). */
export function zoneAt(zone: UserZone | null, at: number, documentZone: string): string {
  if (zone === null) return documentZone;
  return at >= zone.from ? zone.name : zone.before;
}

/** Dependencies of {@linkcode zoneAfter}. */
interface ZoneChange {
  /** The value of the profile. One that is no time zone counts as none. */
  readonly wanted: ProfileFields[string] | undefined;
  readonly documentZone: string;
  /** Unix ms. */
  readonly at: number;
  /** True where nothing has happened to the user before. */
  readonly isNew: boolean;
}

/** Returns the zone of a user after an event. */
export function zoneAfter(
  zone: UserZone | null,
  { wanted, documentZone, at, isNew }: ZoneChange,
): UserZone | null {
  const current = zone?.name ?? documentZone;
  if (wanted === current || (zone !== null && at < zone.from + keptMs)) return zone;
  const name = typeof wanted === "string" && isTimeZone(wanted) ? wanted : documentZone;
  if (name === current) return zone;
  return { name, from: isNew ? 0 : endOfPeriod("day", current, at), before: current };
}
