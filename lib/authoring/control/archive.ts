/**
 * What archiving a project does to its events: those that run end, and those that are planned wait until the project is back.
 *
 * The project's record says whether it is archived, and every write in the project checks that record. Events follow in commits of
 * their own, after it and in the background work, which finishes what a stopped process began.
 */

import { eventPhase, eventState } from "../../fans/directory/event_times.ts";
import type { Home, Project } from "../../fans/directory/mod.ts";
import { type OpenEvent, openEventsKey, openEventsOf } from "../../fans/directory/open_events.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import { appendAudit } from "./audit.ts";
import { eventKey } from "./contents.ts";
import { type Entity, eventCodec, eventEntityTimes, projectKey } from "./kind.ts";
import { changeEvent, notedBy } from "./kinds/events.ts";
import type { ControlServices } from "./services.ts";
import { runTransaction, type Transaction } from "./transaction.ts";

const eventsAtOnce = 100;

/** Lets the open events of a project follow from whether it is archived, and returns that. */
export async function settleArchive(
  { store, clock, directory }: ControlServices,
  home: Home,
): Promise<boolean> {
  const now = Math.floor(clock() / 1_000);
  const partition = directoryPartition("project", home.id);
  const [stored] = await store.read(partition, [{ type: "record", key: projectKey }]);
  const project = stored === null ? null : (JSON.parse(stored.value) as Project);
  const isArchived = project?.archived === true;
  const open = await openEventsOf(store, home.id);
  const ids = open.filter(event => mayFollow(event, isArchived, now)).map(({ id }) => id);
  for (let start = 0; start < ids.length; start += eventsAtOnce) {
    const part = ids.slice(start, start + eventsAtOnce);
    await runTransaction(store, partition, {
      keys: [projectKey, openEventsKey, ...part.map(eventKey)],
      steps: [tx => settle(tx, part, now)],
    });
  }
  directory.forget({ kind: "project", id: home.id }, ids);
  return isArchived;
}

function mayFollow(event: OpenEvent, isArchived: boolean, now: number): boolean {
  const { begin, fixedState } = event;
  if (!isArchived) return fixedState === "future";
  const state = eventState(event, now);
  return state === "current" || state === "on_demand" || (begin !== null && fixedState === undefined);
}

function settle(tx: Transaction, ids: readonly string[], now: number): void {
  const project = tx.get<Project>(projectKey);
  if (project === null) return;
  const changed = ids.filter(id => {
    const stored = tx.get(eventKey(id));
    const event = stored === null ? null : eventCodec.decode(stored);
    const next = event === null ? null : project.archived === true ? held(event, now) : released(event);
    if (event === null || next === null) return false;
    changeEvent(tx, event, { ...next, rev: event.rev + 1, updated: now }, now);
    return true;
  });
  if (changed.length === 0) return;
  appendAudit(tx, now, { changes: changed.map(id => ({ op: "update", type: "events", id })) });
}

/** Ends an event that runs or is on demand, and holds one that the clock would start; null: it may stay as it is. */
function held(event: Entity, now: number): Entity | null {
  const { fixedState, ...state } = event.state ?? {};
  const phase = eventPhase(eventEntityTimes(event), now);
  if (phase.state === "past") return null;
  if (phase.state !== "future") {
    const stopped = { ...event, state: { ...state, ...notedBy("stop", event, phase.at) } };
    return held(stopped, now) ?? stopped;
  }
  if (event.attributes.start_mode !== "clock" || fixedState !== undefined) return null;
  return { ...event, state: { ...state, fixedState: "future", isHeld: true } };
}

/** Lets the clock start an event again; null: the archive does not hold it. */
function released(event: Entity): Entity | null {
  const { fixedState: _, isHeld, ...state } = event.state ?? {};
  return isHeld === true ? { ...event, state } : null;
}
