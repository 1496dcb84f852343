/**
 * What time does to the events of a project: repeating events get a copy when they end, and ended events leave the list of open ones.
 *
 * The id of a copy follows from that of its event, and the event notes it in the commit that makes the copy visible. However many
 * processes repeat an event, and wherever one of them dies, there is one copy.
 *
 * @module
 */

import {
  type Contents,
  contentsKey,
  digestOf,
  elementKey,
  eventInstants,
  eventState,
  noContents,
} from "../authoring/mod.ts";
import {
  directoryPartition,
  type Home,
  isOpen,
  type OpenEvent,
  openEventsKey,
  openEventsOf,
} from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { ReadRecord, Write } from "../storage/mod.ts";
import { appendAudit } from "./audit.ts";
import { runDraft } from "./draft.ts";
import { type Attributes, type Entity, eventCodec, eventEntityTimes, plainCodec } from "./entity.ts";
import { addEvent, entryOf, eventKey, setOpen } from "./kinds/events.ts";
import type { ControlServices } from "./services.ts";
import type { WorkTask } from "./work.ts";

/** Elements of one commit: 100 of the largest ones fill a commit. */
const elementsAtOnce = 100;

/** Returns the task that repeats and prunes the events of a project. */
export function eventTask(services: ControlServices): WorkTask {
  const { store } = services;
  return async (home, clock) => {
    if (home.kind !== "project") return null;
    const now = Math.floor(clock / 1_000);
    for (const event of await openEventsOf(store, home.id, now)) {
      if (event.repeats === true && hasEnded(event, now)) await repeat(services, home, event.id, now);
    }
    const open = await openEventsOf(store, home.id, now);
    if (!open.every(event => isOpen(event, now))) await prune(services, home, now);
    const instants = open.flatMap(({ fixedState, repeats, end, over }) =>
      fixedState === undefined ? [repeats === true ? end : over] : [],
    );
    const next = instants.filter(at => at !== null && at > now) as readonly number[];
    return next.length === 0 ? null : Math.min(...next) * 1_000;
  };
}

function hasEnded(event: OpenEvent, now: number): boolean {
  const state = eventState(event, now);
  return state === "on_demand" || state === "past";
}

async function prune({ store }: ControlServices, { id }: Home, now: number): Promise<void> {
  await runDraft(store, directoryPartition("project", id), {
    keys: [openEventsKey],
    steps: [
      draft => {
        const open = draft.get<readonly OpenEvent[]>(openEventsKey) ?? [];
        draft.put(
          openEventsKey,
          open.filter(event => isOpen(event, now)),
        );
      },
    ],
  });
}

/** Copies an ended event: its elements first, which nobody sees before the contents list them. */
async function repeat(services: ControlServices, home: Home, eventId: string, now: number): Promise<void> {
  const { store, places, directory } = services;
  const partition = directoryPartition("project", home.id);
  const [stored] = await store.read(partition, [{ type: "record", key: contentsKey(eventId) }]);
  const contents = stored === null ? noContents : (JSON.parse(stored.value) as Contents);
  const copyId = await places.newId(home, { random: await chanceOf(`repeat ${eventId}`) });
  await places.keep(copyId, home);
  const ids = new Map([[eventId, copyId]]);
  for (const { id } of contents.elements) {
    ids.set(id, await places.newId(home, { random: await chanceOf(`repeat ${copyId} ${id}`) }));
  }
  const offsets = await copyElements(services, home, { contents, ids, now });
  await runDraft(store, partition, {
    keys: [eventKey(eventId), contentsKey(eventId), openEventsKey],
    steps: [
      draft => {
        const old = draft.get(eventKey(eventId));
        const event = old === null ? null : eventCodec.decode(old);
        if (event === null || entryOf(event).repeats !== true) return;
        if ((draft.get<Contents>(contentsKey(eventId)) ?? noContents).rev !== contents.rev)
          throw new AppError(
            "conflict",
            "Cannot repeat the event now as its elements have changed meanwhile",
          );
        const noted = { ...event, state: { ...event.state, repeatedAs: copyId } };
        draft.put(eventKey(eventId), eventCodec.encode(noted));
        setOpen(draft, entryOf(noted), now);
        addEvent(draft, copyOf(event, copyId, now), now);
        const elements = contents.elements.map(({ id, parent }) => ({
          id: ids.get(id) ?? id,
          ...(parent === undefined ? {} : { parent: ids.get(parent) ?? parent }),
          ...offsets.get(id),
        }));
        draft.put(contentsKey(copyId), { rev: 1, elements });
        appendAudit(draft, now, { changes: [{ op: "add", type: "events", id: copyId }] });
      },
    ],
  });
  directory.forget({ kind: "project", id: home.id }, [copyId]);
}

interface Copying {
  readonly contents: Contents;
  /** New ids by old ones. */
  readonly ids: ReadonlyMap<string, string>;
  readonly now: number;
}

/** Returns what the contents note of elements that the clock publishes, by their old ids. */
async function copyElements({ store }: ControlServices, home: Home, copying: Copying) {
  const offsets = new Map<string, { readonly offset: number }>();
  const { contents, ids, now } = copying;
  const partition = directoryPartition("project", home.id);
  for (let start = 0; start < contents.elements.length; start += elementsAtOnce) {
    const part = contents.elements.slice(start, start + elementsAtOnce);
    const reads = part.map(({ id }): ReadRecord => ({ type: "record", key: elementKey(id) }));
    const writes = (await store.read(partition, reads)).flatMap((stored, index): Write[] => {
      if (stored === null) return [];
      const renamed = stored.value.replace(uuids, id => ids.get(id) ?? id);
      const { state: _, ...element } = plainCodec.decode(JSON.parse(renamed));
      const attributes = { ...element.attributes, annotations: copiedAnnotations(element.attributes) };
      const { start_mode: mode, start_offset: offset = 0 } = element.attributes;
      if (mode === "timecode") offsets.set(part[index]?.id ?? "", { offset: Number(offset) });
      const copy: Entity = { ...element, attributes, rev: 1, created: now, updated: now };
      return [{ type: "put", key: elementKey(copy.id), value: JSON.stringify(copy) }];
    });
    await store.commit(partition, { writes });
  }
  return offsets;
}

const uuids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Returns a copy of an event. After a long pause it is the next one that is not over. */
function copyOf({ attributes, refs, ...event }: Entity, id: string, now: number): Entity {
  const times = eventEntityTimes({ attributes, refs, ...event });
  const { begin, end } = eventInstants(times);
  const isScheduled = times.endMode === "scheduled" && times.endAt !== null;
  const length = isScheduled ? Math.max(0, Number(times.endAt) - (begin ?? 0)) : times.duration;
  const pause = Number(attributes.repeat_in ?? 0) * 60;
  const first = (end ?? now) + pause;
  const missed = length === 0 ? 0 : Math.max(0, Math.ceil((now + 1 - first - length) / (length + pause)));
  const startAt = first + missed * (length + pause);
  const planned = { start_mode: "clock", start_at: startAt, extra_time_duration: 0 };
  return {
    ...{ id, rev: 1, created: now, updated: now, refs },
    attributes: {
      ...attributes,
      ...planned,
      ...(isScheduled ? { end_at: startAt + length } : {}),
      annotations: copiedAnnotations(attributes),
    },
  };
}

/** Marks of a manifest or a check are those of one record. */
function copiedAnnotations({ annotations = {} }: Attributes): Attributes {
  const kept = Object.entries(annotations as Attributes).filter(([key]) => !/^(manifest|smoke)\//.test(key));
  return Object.fromEntries(kept);
}

/** Returns bytes in place of chance, which are always the same for a name. */
async function chanceOf(name: string): Promise<(length: number) => Uint8Array> {
  const digits = (await digestOf(name)).replace("sha256:", "");
  return length =>
    Uint8Array.from({ length }, (_, index) => Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16));
}
