/**
 * The events of a project that have not ended, in one record with the instants that decide their states. All other events
 * are past.
 */

import { AppError } from "../../base/errors/mod.ts";
import { type BoardEntry, decide, type Store } from "../../storage/mod.ts";
import { type EventInstants, type EventState, eventInstants, eventState } from "./event_times.ts";
import { directoryPartition, eventTimesOf, type StoredEvent } from "./records.ts";

/** The record of a project that lists its open events. */
export const openEventsKey = "open";
const openEventsMax = 1_000;

/** An event that has not ended. Times are Unix seconds. */
export interface OpenEvent extends EventInstants {
  readonly id: string;
  /** Its score on the board `events`. */
  readonly start: number;
  readonly created: number;
  /** True if a copy of it has to be made when it ends. */
  readonly repeats?: boolean;
}

export function openEventOf(event: StoredEvent, created: number = event.startAt, repeats = false): OpenEvent {
  const { id, startAt: start } = event;
  return { id, start, created, ...(repeats ? { repeats } : {}), ...eventInstants(eventTimesOf(event)) };
}

/** Returns the list with a new or changed entry, or without the event, and without those that have ended at `now` (Unix seconds). */
export function withOpenEvent(
  list: readonly OpenEvent[],
  change: OpenEvent | string,
  now: number,
): readonly OpenEvent[] {
  const id = typeof change === "string" ? change : change.id;
  const others = list.filter(each => each.id !== id && isOpen(each, now));
  if (typeof change === "string" || !isOpen(change, now)) return others;
  if (others.length < openEventsMax) return [...others, change];
  throw new AppError(
    "conflict",
    `Cannot plan another event as ${openEventsMax} have not ended: remove or stop some`,
  );
}

/** Numbers of past and future events that listings show beside all current ones. */
export interface ListingBounds {
  readonly past: number;
  readonly future: number;
}

/** Bounds of projects whose app names none. */
export const defaultListings: ListingBounds = { past: 10, future: 10 };
/** Most past, and most future, events that an app can ask for. */
export const listedMax = 100;

export interface EventCandidate extends Pick<OpenEvent, "id" | "start" | "created"> {
  readonly state: EventState;
}

/**
 * Returns the events that listings show at `now` (Unix seconds) by begin: all that run or are on demand, the next future ones, and the
 * newest past ones of those that have begun as the board `events` has them.
 */
export function shownEvents(
  open: readonly OpenEvent[],
  begun: readonly BoardEntry[],
  now: number,
  { past: pastMax, future: futureMax }: ListingBounds,
): readonly EventCandidate[] {
  const ids = new Set(open.map(({ id }) => id));
  const closed = begun
    .filter(({ member }) => !ids.has(member))
    .map(({ member: id, score }): EventCandidate => ({ id, start: score, created: score, state: "past" }));
  const candidates = open.map(event => ({ ...event, state: eventState(event, now) }));
  const of = (state: EventState) => candidates.filter(event => event.state === state);
  // What somebody has to start comes last.
  const future = of("future").sort(
    (a, b) => Number(a.begin === null) - Number(b.begin === null) || byStart(a, b),
  );
  const past = [...of("past"), ...closed].sort(byStart);
  return [
    ...[...past.slice(Math.max(0, past.length - pastMax)), ...of("on_demand"), ...of("current")].sort(
      byStart,
    ),
    ...future.slice(0, futureMax),
  ];
}

function byStart(a: EventCandidate, b: EventCandidate): number {
  return a.start - b.start || a.created - b.created || (a.id < b.id ? -1 : 1);
}

/** Tells whether an entry still has to be listed. */
export function isOpen(entry: OpenEvent, now: number): boolean {
  return eventState(entry, now) !== "past" || entry.repeats === true;
}

export async function openEventsOf(store: Store, projectId: string): Promise<readonly OpenEvent[]> {
  const [stored] = await store.read(directoryPartition("project", projectId), [openRead]);
  return parseOpenEvents(stored);
}

/** Lists seeded events where they have not ended. */
export async function listOpenEvents(
  store: Store,
  projectId: string,
  events: readonly StoredEvent[],
  now: number,
): Promise<void> {
  await decide(store, directoryPartition("project", projectId), {
    reads: [openRead],
    idempotent: true,
    apply: ([stored]) => {
      const before = parseOpenEvents(stored);
      const after = events.reduce((list, event) => withOpenEvent(list, openEventOf(event), now), before);
      const value = JSON.stringify(after);
      return { writes: [{ type: "put", key: openEventsKey, value }], answer: undefined };
    },
  });
}

const openRead = { type: "record", key: openEventsKey } as const;

export function parseOpenEvents(stored: { readonly value: string } | null): readonly OpenEvent[] {
  return stored === null ? [] : (JSON.parse(stored.value) as readonly OpenEvent[]);
}
