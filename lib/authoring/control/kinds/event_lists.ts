/**
 * Lists of events that need no walk through all events: of those that have not ended, and of those that listings show.
 *
 * @module
 */

import { eventState } from "../../../fans/directory/event_times.ts";
import {
  defaultListings,
  directoryPartition,
  type EventCandidate,
  type ListingBounds,
  type OpenEvent,
  openEventsOf,
  shownEvents,
} from "../../../fans/directory/mod.ts";
import { storageLimits } from "../../../storage/mod.ts";
import type { ListView } from "../jsonapi/queries.ts";
import type { Narrowed } from "../kind.ts";
import type { ControlServices } from "../services.ts";

/** Returns the ids of the events that a list asks for, in its order, or null where they can be any. */
export async function narrowEvents(
  services: ControlServices,
  projectId: string,
  { filters, sort }: Pick<ListView, "filters" | "sort">,
  now: number,
): Promise<Narrowed | null> {
  const { state, only_listings: onlyListings, ...others } = filters;
  const states = state === undefined ? null : String(state).split(",");
  const isShown = onlyListings === "true";
  if (!isShown && (states === null || states.includes("past"))) return null;
  const open = await openEventsOf(services.store, projectId, now);
  const all = isShown
    ? await shownOf(services, projectId, open, now)
    : open.map((event): EventCandidate => ({ ...event, state: eventState(event, now) }));
  const found = states === null ? all : all.filter(event => states.includes(event.state));
  const keyOf = ({ start, created }: EventCandidate): number => (sort?.by === "created_at" ? created : start);
  const sign = sort === null || sort.descending ? -1 : 1;
  const ordered = found.toSorted((a, b) => sign * (keyOf(a) - keyOf(b) || (a.id < b.id ? -1 : 1)));
  return { ids: ordered.map(({ id }) => id), filters: others };
}

/** Returns the events that the listing of a project shows. */
async function shownOf(
  { store, apps }: ControlServices,
  projectId: string,
  open: readonly OpenEvent[],
  now: number,
): Promise<readonly EventCandidate[]> {
  const bounds = ((await apps.project(projectId))?.state?.listings ?? defaultListings) as ListingBounds;
  const limit = Math.min(storageLimits.rangeLimitMax, open.length + bounds.past);
  const [{ entries }] = await store.read(directoryPartition("project", projectId), [
    { type: "board", key: "events", reverse: true, max: now, limit },
  ]);
  return shownEvents(open, entries, now, bounds);
}
