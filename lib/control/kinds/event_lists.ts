/**
 * Lists of events that need no walk through all events: of those that have not ended, and of those that listings show.
 *
 * @module
 */

import { type EventState, eventState } from "../../authoring/mod.ts";
import { directoryPartition, type OpenEvent, openEventsOf } from "../../directory/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { ListView } from "../jsonapi/queries.ts";
import type { Narrowed } from "../kind.ts";

/** Past and future events that listings show beside all current ones. */
const shownMax = 10;

interface Candidate extends Pick<OpenEvent, "id" | "start" | "created"> {
  readonly state: EventState;
}

/** Returns the ids of the events that a list asks for, in its order, or null where they can be any. */
export async function narrowEvents(
  store: Store,
  projectId: string,
  { filters, sort }: Pick<ListView, "filters" | "sort">,
  now: number,
): Promise<Narrowed | null> {
  const { state, only_listings: onlyListings, ...others } = filters;
  const states = state === undefined ? null : String(state).split(",");
  const isShown = onlyListings === "true";
  if (!isShown && (states === null || states.includes("past"))) return null;
  const open = (await openEventsOf(store, projectId, now)).map(
    (event): Candidate => ({ ...event, state: eventState(event, now) }),
  );
  const all = isShown ? await shownAmong(store, projectId, open, now) : open;
  const found = states === null ? all : all.filter(event => states.includes(event.state));
  const keyOf = ({ start, created }: Candidate): number => (sort?.by === "created_at" ? created : start);
  const sign = sort === null || sort.descending ? -1 : 1;
  const ordered = found.toSorted((a, b) => sign * (keyOf(a) - keyOf(b) || (a.id < b.id ? -1 : 1)));
  return { ids: ordered.map(({ id }) => id), filters: others };
}

/** The events that listings show: all current and on-demand ones, the next future ones and the newest past ones. */
async function shownAmong(
  store: Store,
  projectId: string,
  open: readonly Candidate[],
  now: number,
): Promise<readonly Candidate[]> {
  const [{ entries }] = await store.read(directoryPartition("project", projectId), [
    { type: "board", key: "events", reverse: true, max: now, limit: Math.min(1_000, open.length + shownMax) },
  ]);
  const ids = new Set(open.map(({ id }) => id));
  const closed = entries
    .filter(({ member }) => !ids.has(member))
    .map(({ member: id, score }): Candidate => ({ id, start: score, created: score, state: "past" }));
  const ordered = [...open, ...closed].sort((a, b) => a.start - b.start || a.created - b.created);
  const of = (state: EventState): readonly Candidate[] => ordered.filter(event => event.state === state);
  return [
    ...of("current"),
    ...of("on_demand"),
    ...of("future").slice(0, shownMax),
    ...of("past").slice(-shownMax),
  ];
}
