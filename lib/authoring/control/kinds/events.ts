import { AppError } from "../../../base/errors/mod.ts";
import {
  type EventState,
  eventInstants,
  eventPhase,
  eventState,
} from "../../../fans/directory/event_times.ts";
import type { Home } from "../../../fans/directory/mod.ts";
import {
  defaultListings,
  type EventCandidate,
  type ListingBounds,
  type OpenEvent,
  openEventOf,
  openEventsKey,
  openEventsOf,
  shownEvents,
  withOpenEvent,
} from "../../../fans/directory/open_events.ts";
import { directoryPartition, type StoredEvent } from "../../../fans/directory/records.ts";
import { type Store, storageLimits } from "../../../storage/mod.ts";
import { analyticsKey, analyticsKeys, eventFeedUrls, readCounts } from "../../feeds/mod.ts";
import {
  type Contents,
  contentsKey,
  elementCounts,
  elementKey,
  noContents,
  resources,
} from "../../table/mod.ts";
import {
  assetsIn,
  deletesOf,
  eventKey,
  noteAssets,
  noteChange,
  orderElements,
  stagedKey,
  stagedWrites,
  templateKey,
} from "../contents.ts";
import { copiedFrom, finishCopy } from "../copies.ts";
import type { ListView } from "../jsonapi/types.ts";
import {
  badAction,
  badAttribute,
  type Change,
  type Entity,
  eventCodec,
  eventEntityTimes,
  type Kind,
  type Narrowed,
  ownRecords,
  plainCodec,
} from "../kind.ts";
import type { ControlServices } from "../services.ts";
import type { Transaction } from "../transaction.ts";

const boards = { start: "events", created: "events_created" } as const;
/** Attributes that decide when an event begins and ends. */
const planned = ["start_mode", "start_at", "end_mode", "end_at", "duration", "extra_time_duration"];

const deletesMax = 100;

export function eventKind(services: ControlServices): Kind {
  return {
    resource: resources.events,
    eventOf: ({ id }) => id,
    records: ownRecords(eventKey, eventCodec),
    wants: (id, written) => [
      contentsKey(id),
      // A copy in the making is noted until its event exists.
      ...(written === undefined ? [] : [openEventsKey, stagedKey(id)]),
    ],
    board: ({ sort, filters }, now) => {
      const before = filters.before === undefined ? undefined : Date.parse(String(filters.before)) / 1_000;
      const max = filters.state === "past" ? Math.min(now, before ?? now) : before;
      return sort?.by === "created_at" ? { key: boards.created } : { key: boards.start, max };
    },
    narrow: ({ id }, view, now) => narrowEvents(services, id, view, now),
    present: (entity, tx, { now }) => presented(services, entity, tx, now),
    prepare(entity, tx, change) {
      const { elements } = change.input.lists ?? {};
      if (elements !== undefined) orderElements(tx, entity.id, elements, change.input);
      return prepared(entity, change);
    },
    changed(entity, tx, change) {
      const { copied } = change.input;
      if (change.previous === null && copied !== undefined) finishCopy(tx, entity.id, copied, change.now);
      noteChange(tx, entity.id, entity, change);
      index(entity, tx, change);
    },
    removed(entity, tx, { now }) {
      if (stateOf(entity, now) === "current")
        throw new AppError("conflict", "Cannot remove the event as it is running: stop it first");
      const contents = tx.get<Contents>(contentsKey(entity.id));
      // What is not listed does not exist; the work deletes what does not fit into this commit.
      const ids = (contents?.elements ?? []).map(({ id }) => id);
      for (const id of ids.slice(0, deletesMax)) tx.put(elementKey(id), null);
      for (const id of [entity.id, ...ids.slice(0, deletesMax)])
        for (const left of deletesOf(id)) tx.effect(left);
      const left = ids.slice(deletesMax);
      for (const write of left.length === 0 ? [] : stagedWrites(entity.id, left, now * 1_000))
        tx.effect(write);
      tx.put(contentsKey(entity.id), null);
      for (const key of analyticsKeys(entity.id, tx.get(analyticsKey(entity.id)))) tx.put(key, null);
      for (const key of Object.values(boards)) tx.effect({ type: "unscore", key, member: entity.id });
      setOpen(tx, entity.id, now);
    },
    beforeRemoval: (_, home) => services.work.expect(home),
    async before(change) {
      const { id, isNew, input, isDry } = change;
      const source = {
        relationship: "template",
        keyOf: templateKey,
        codec: plainCodec,
        as: "event",
      } as const;
      const copied = isNew ? await copiedFrom(services, change, source) : undefined;
      if (isDry) return copied;
      const home: Home | null = isNew
        ? { kind: "project", id: input.refs.project ?? "" }
        : await services.places.homeOf(id);
      if (home === null) return copied;
      await services.work.expect(home);
      return copied;
    },
  };
}

function stateOf(entity: Entity, now: number): EventState {
  return eventPhase(eventEntityTimes(entity), now).state;
}

function presented({ base, publicUrl }: ControlServices, entity: Entity, tx: Transaction, now: number) {
  const { id, attributes } = entity;
  const contents = tx.get<Contents>(contentsKey(id), { isGuarded: true }) ?? noContents;
  const phase = eventPhase(eventEntityTimes(entity), now);
  const { state, begin, end } = phase;
  const isOver = state === "on_demand" || state === "past";
  const plannedEnd = attributes.end_mode === "scheduled" ? (attributes.end_at ?? end) : end;
  return {
    attributes: {
      state,
      actions: actionsOf(entity, state),
      start_at: begin ?? attributes.start_at,
      end_at: (isOver ? end : plannedEnd) ?? attributes.end_at,
      original_duration: attributes.duration ?? resources.events.attributes.duration?.default,
      element_counts: elementCounts(contents, phase),
      live_stats_uuid: id,
      urls: { self: `${base}/events/${id}`, ...eventFeedUrls(publicUrl, id) },
    },
    related: { stats: { type: "stats", id } },
    tag: String(contents.rev),
  } as const;
}

function actionsOf(entity: Entity, state: EventState): readonly string[] {
  if (state === "future") return entity.attributes.start_mode === "clock" ? [] : ["start"];
  return state === "past" ? [] : ["stop"];
}

function prepared(entity: Entity, change: Change): Entity {
  const { input, now, previous } = change;
  const {
    start_mode: mode = "manual",
    start_at: at = null,
    end_mode: end,
    end_at: endAt,
  } = entity.attributes;
  // Clients send 0 for events that somebody starts.
  const startAt = at === 0 ? null : at;
  const isPlanned = planned.some(name => input.attributes[name] !== undefined);
  if (mode === "clock" && startAt === null)
    throw badAttribute(input, "start_at", "Expected a time, as the start mode is `clock`");
  if (
    isPlanned &&
    mode === "clock" &&
    end === "scheduled" &&
    typeof endAt === "number" &&
    endAt <= Number(startAt)
  )
    throw badAttribute(input, "end_at", "Expected a time after `start_at`");
  // A state that a seed fixed for a future event lasts until somebody plans it.
  const { fixedState, ...state } = entity.state ?? {};
  const isFreed = fixedState === "future" && isPlanned;
  const attributes = { ...entity.attributes, start_at: startAt };
  const next = { ...entity, attributes, ...(isFreed ? { state } : {}) };
  if (input.action === null) {
    if (previous !== null) requireForward(stateOf(previous, now), stateOf(next, now));
    return next;
  }
  const phase = eventPhase(eventEntityTimes(next), now);
  const possible = actionsOf(next, phase.state);
  if (!possible.includes(input.action)) throw badAction(input, previous === null ? ["start"] : possible);
  const acted = { ...next, state: { ...state, ...notedBy(input.action, next, phase.at) } };
  if (input.action === "start" && stateOf(acted, now) !== "current")
    throw badAttribute(input, "action", "Expected an event whose `end_at` has not passed");
  return acted;
}

/** An event whose end is put off runs again; nothing else leads back to a former state. */
function requireForward(before: EventState, after: EventState): void {
  const order = ["future", "current", "on_demand", "past"];
  if (before === "on_demand" && after === "current") return;
  if (order.indexOf(after) >= order.indexOf(before)) return;
  throw new AppError("conflict", `Cannot change the event so that it would be ${after}: it is ${before}`);
}

export function notedBy(action: string, entity: Entity, now: number): Readonly<Record<string, unknown>> {
  if (action === "start") return { startedAt: now };
  const { begin, end } = eventInstants(eventEntityTimes(entity));
  // A fixed state may contradict the times.
  const isFixed = entity.state?.fixedState !== undefined;
  const started = isFixed ? { startedAt: Math.min(begin ?? now, now) } : {};
  if (stateOf(entity, now) === "current") return { ...started, stoppedAt: now };
  return { ...started, ...(isFixed ? { stoppedAt: Math.min(end ?? now, now) } : {}), closedAt: now };
}

function index(entity: Entity, tx: Transaction, { previous, now }: Pick<Change, "previous" | "now">): void {
  const { id, created: score } = entity;
  const entry = entryOf(entity);
  if (previous === null) tx.effect({ type: "score", op: "set", key: boards.created, member: id, score });
  if (previous !== null && JSON.stringify(entryOf(previous)) === JSON.stringify(entry)) return;
  tx.effect({ type: "score", op: "set", key: boards.start, member: id, score: entry.start });
  setOpen(tx, entry, now);
}

export function entryOf(entity: Entity): OpenEvent {
  const repeats = entity.attributes.repeat === true && entity.state?.repeatedAs === undefined;
  return openEventOf(eventCodec.encode(entity) as StoredEvent, entity.created, repeats);
}

export function changeEvent(tx: Transaction, previous: Entity, next: Entity, now: number): void {
  tx.put(eventKey(next.id), eventCodec.encode(next));
  index(next, tx, { previous, now });
}

export function addEvent(tx: Transaction, entity: Entity, now: number): void {
  tx.put(eventKey(entity.id), eventCodec.encode(entity));
  index(entity, tx, { previous: null, now });
  noteAssets(tx, entity.id, assetsIn([entity]), now);
}

export function setOpen(tx: Transaction, change: OpenEvent | string, now: number): void {
  const open = tx.get<readonly OpenEvent[]>(openEventsKey) ?? [];
  tx.put(openEventsKey, withOpenEvent(open, change, now));
}

/** Returns the ids of the events that a list asks for, in its order, or null where they can be any. */
async function narrowEvents(
  services: ControlServices,
  projectId: string,
  { filters, sort }: Pick<ListView, "filters" | "sort">,
  now: number,
): Promise<Narrowed | null> {
  const { state, only_listings: onlyListings, ...others } = filters;
  const states = state === undefined ? null : String(state).split(",");
  const isShown = onlyListings === "true";
  if (!isShown && (states === null || states.includes("past"))) return null;
  const open = await openEventsOf(services.store, projectId);
  const all = isShown
    ? await shownOf(services, projectId, open, now)
    : open.map((event): EventCandidate => ({ ...event, state: eventState(event, now) }));
  const found = states === null ? all : all.filter(event => states.includes(event.state));
  const keyOf = ({ start, created }: EventCandidate): number => (sort?.by === "created_at" ? created : start);
  const sign = sort === null || sort.descending ? -1 : 1;
  const ordered = found.toSorted((a, b) => sign * (keyOf(a) - keyOf(b) || (a.id < b.id ? -1 : 1)));
  return { ids: ordered.map(({ id }) => id), filters: others };
}

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

/** Builds the kind of statistics. They have no records; those of an event or element have its id. */
export function statsKind(store: Store): Kind {
  return {
    resource: resources.stats,
    records: { keys: () => [], get: () => null, set: () => {} },
    async load({ id: projectId }, ids) {
      const counts = await readCounts(store, projectId, ids);
      return ids.map(id => {
        const { actions = 0, ...options } = Object.fromEntries(counts.get(id) ?? []);
        return { id, rev: 0, created: 0, updated: 0, attributes: { actions, options }, refs: {} };
      });
    },
  };
}
