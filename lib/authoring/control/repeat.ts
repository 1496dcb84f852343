/**
 * What time does to the events of a project: repeating events get a copy when they end, and ended events leave the list of open ones.
 *
 * The id of a copy follows from that of its event, and the event notes it in the commit that makes the copy visible. However many
 * processes repeat an event, and wherever one of them dies, there is one copy.
 */

import { AppError } from "../../base/errors/mod.ts";
import { eventInstants, eventState } from "../../fans/directory/event_times.ts";
import type { Home } from "../../fans/directory/mod.ts";
import { isOpen, type OpenEvent, openEventsKey, openEventsOf } from "../../fans/directory/open_events.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import { contentsKey } from "../table/mod.ts";
import { settleArchive } from "./archive.ts";
import { appendAudit } from "./audit.ts";
import { contentsOf, deleteStaged, eventKey, stagedKey } from "./contents.ts";
import { copiedAttributes, copyElements, finishCopy, readSource } from "./copies.ts";
import { type Entity, eventCodec, eventEntityTimes } from "./kind.ts";
import { addEvent, entryOf, setOpen } from "./kinds/events.ts";
import type { ControlServices } from "./services.ts";
import { runTransaction } from "./transaction.ts";
import type { WorkTask } from "./work.ts";
import { bytesFrom } from "./write.ts";

export function eventTask(services: ControlServices): WorkTask {
  const { store } = services;
  return async (home, clock) => {
    if (home.kind !== "project") return null;
    const now = Math.floor(clock / 1_000);
    if (await settleArchive(services, home)) return null;
    for (const event of await openEventsOf(store, home.id)) {
      if (event.repeats === true && hasEnded(event, now)) await repeat(services, home, event.id, now);
    }
    const open = await openEventsOf(store, home.id);
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
  await runTransaction(store, directoryPartition("project", id), {
    keys: [openEventsKey],
    steps: [
      tx => {
        const open = tx.get<readonly OpenEvent[]>(openEventsKey) ?? [];
        tx.put(
          openEventsKey,
          open.filter(event => isOpen(event, now)),
        );
      },
    ],
  });
}

/** Copies an ended event with its elements, which nobody sees before the contents list them. */
async function repeat(services: ControlServices, home: Home, eventId: string, now: number): Promise<void> {
  const { store, places, directory } = services;
  const partition = directoryPartition("project", home.id);
  const copyId = await places.newId(home, { random: bytesFrom(`repeat ${eventId}`) });
  await places.keep(copyId, home);
  // What a process left that died while it made this copy.
  await deleteStaged(store, partition, copyId);
  const source = await readSource(services, home, eventId, eventKey(eventId));
  if (source === null) return;
  const target = { home, id: copyId, as: "event", isDry: false } as const;
  const copied = await copyElements(services, source, eventId, target);
  await runTransaction(store, partition, {
    keys: [eventKey(eventId), contentsKey(eventId), openEventsKey, stagedKey(copyId)],
    steps: [
      tx => {
        const old = tx.get(eventKey(eventId));
        const event = old === null ? null : eventCodec.decode(old);
        if (event === null || entryOf(event).repeats !== true) return;
        if (contentsOf(tx, eventId).rev !== source.contents.rev)
          throw new AppError(
            "conflict",
            "Cannot repeat the event now as its elements have changed meanwhile",
          );
        const noted = { ...event, state: { ...event.state, repeatedAs: copyId } };
        tx.put(eventKey(eventId), eventCodec.encode(noted));
        setOpen(tx, entryOf(noted), now);
        addEvent(tx, copyOf(event, copyId, copied.ids, now), now);
        finishCopy(tx, copyId, copied, now);
        appendAudit(tx, now, { changes: [{ op: "add", type: "events", id: copyId }] });
      },
    ],
  });
  directory.forget({ kind: "project", id: home.id }, [copyId]);
}

/** Returns a copy of an event. After a long pause it is the next one that is not over. */
function copyOf(
  { attributes, refs, ...event }: Entity,
  id: string,
  ids: ReadonlyMap<string, string>,
  now: number,
): Entity {
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
    id,
    rev: 1,
    created: now,
    updated: now,
    refs,
    attributes: {
      ...copiedAttributes(attributes, ids),
      ...planned,
      ...(isScheduled ? { end_at: startAt + length } : {}),
    },
  };
}
