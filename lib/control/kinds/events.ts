/** Events. */

import { type Contents, contentsKey, eventPhase, noContents, resources } from "../../authoring/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Draft } from "../draft.ts";
import { type Entity, eventCodec, eventEntityTimes } from "../entity.ts";
import { badAction, badAttribute, type Change, type Kind, ownRecords } from "../kind.ts";
import type { ControlServices } from "../services.ts";

/** The record of a project that lists the events which have not ended. */
const openKey = "open";
/** Most events of a project that have not ended. */
const openMax = 1_000;
/** Boards of a project that order its events. */
const boards = { start: "events", created: "events_created" } as const;

/** The key of an event. */
export function eventKey(id: string): string {
  return `event:${id}`;
}

/** Builds the kind of events. */
export function eventKind(services: ControlServices): Kind {
  return {
    resource: resources.events,
    records: ownRecords(eventKey, eventCodec),
    wants: id => [contentsKey(id), openKey],
    createdIn: ({ project }) => ({ under: { type: "projects", id: project ?? "" } }),
    board: sort => (sort === "created_at" ? boards.created : boards.start),
    present(entity, draft, { now }) {
      const { id } = entity;
      const contents = draft.get<Contents>(contentsKey(id), { isGuarded: true }) ?? noContents;
      const { state, end } = eventPhase(eventEntityTimes(entity), now);
      return {
        attributes: {
          state,
          actions: actionsOf(entity, now),
          end_at: entity.attributes.end_at ?? end,
          original_duration: entity.attributes.duration ?? resources.events.attributes.duration?.default,
          live_stats_uuid: id,
          urls: { self: `${services.base}/events/${id}` },
        },
        related: { stats: { type: "stats", id } },
        tag: String(contents.rev),
      };
    },
    prepare: (entity, _, change) => prepared(entity, change),
    changed: (entity, draft, change) => index(entity, draft, change),
    removed(entity, draft, { now }) {
      const { state } = eventPhase(eventEntityTimes(entity), now);
      if (state === "current")
        throw new AppError("conflict", "Cannot remove the event as it is running: stop it first");
      const contents = draft.get<Contents>(contentsKey(entity.id));
      for (const { id } of contents?.elements ?? []) draft.put(`element:${id}`, null);
      draft.put(contentsKey(entity.id), null);
      for (const key of Object.values(boards)) draft.effect({ type: "unscore", key, member: entity.id });
      setOpen(draft, entity.id, false);
    },
  };
}

/** Returns the actions that are possible. */
function actionsOf(entity: Entity, now: number): readonly string[] {
  const { state } = eventPhase(eventEntityTimes(entity), now);
  if (state === "future") return entity.attributes.start_mode === "clock" ? [] : ["start"];
  return state === "past" ? [] : ["stop"];
}

function prepared(entity: Entity, { input, now, previous }: Change): Entity {
  const { start_mode: mode = "manual", start_at: at = null } = entity.attributes;
  // Clients send 0 for events that somebody starts.
  const startAt = at === 0 ? null : at;
  if (mode === "clock" && startAt === null)
    throw badAttribute(input, "start_at", "Expected a time, as the start mode is `clock`");
  const attributes = { ...entity.attributes, start_at: startAt };
  const next = { ...entity, attributes };
  if (input.action === null) return next;
  const possible = actionsOf(next, now);
  if (!possible.includes(input.action)) throw badAction(input, previous === null ? ["start"] : possible);
  const { fixedState: _, ...state } = entity.state ?? {};
  if (input.action === "start") return { ...next, state: { ...state, startedAt: now } };
  const isRunning = eventPhase(eventEntityTimes(next), now).state === "current";
  return { ...next, state: { ...state, [isRunning ? "stoppedAt" : "closedAt"]: now } };
}

function index(entity: Entity, draft: Draft, { previous, now }: Change): void {
  const { begin, state } = eventPhase(eventEntityTimes(entity), now);
  const { id, created } = entity;
  draft.effect({ type: "score", op: "set", key: boards.start, member: id, score: begin ?? created });
  if (previous === null)
    draft.effect({ type: "score", op: "set", key: boards.created, member: id, score: created });
  setOpen(draft, id, state !== "past");
}

function setOpen(draft: Draft, id: string, isOpen: boolean): void {
  const open = draft.get<readonly string[]>(openKey) ?? [];
  if (open.includes(id) === isOpen) return;
  if (isOpen && open.length >= openMax) {
    throw new AppError(
      "conflict",
      `Cannot plan another event as ${openMax} have not ended: remove or stop some`,
    );
  }
  draft.put(openKey, isOpen ? [...open, id] : open.filter(each => each !== id));
}
