/** Elements. */

import {
  type Contents,
  contentsKey,
  elementKey,
  elementPhase,
  elementsMax,
  elementTimesOf,
  eventPhase,
  type NotedTime,
  noContents,
  notedTime,
  resources,
} from "../../authoring/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Draft } from "../draft.ts";
import { type Entity, eventCodec, eventEntityTimes, plainCodec } from "../entity.ts";
import { badAction, type Change, type Kind, type Records, unknownRelated, unprocessable } from "../kind.ts";

import { eventKey } from "./events.ts";

/** Elements exist as far as the contents of their event list them, which guard them. */
const records: Records = {
  keys: id => [elementKey(id)],
  get(draft, id) {
    const stored = draft.get<Entity>(elementKey(id), { isGuarded: true });
    if (stored === null) return null;
    const entity = plainCodec.decode(stored);
    return contentsOf(draft, eventOf(entity)).elements.some(each => each.id === id) ? entity : null;
  },
  set: (draft, id, entity) => draft.put(elementKey(id), entity),
};

/** Builds the kind of elements. */
export function elementKind(): Kind {
  return {
    resource: resources.elements,
    records,
    createdIn: ({ event }) => ({ under: { type: "events", id: event ?? "" } }),
    list: (draft, eventId) => contentsOf(draft, eventId).elements.map(({ id }) => id),
    present(entity, draft, { now }) {
      const { id, attributes } = entity;
      const { elements } = contentsOf(draft, eventOf(entity));
      const { state, actions, publishedAt } = phaseOf(entity, draft, now);
      const children = elements.filter(({ parent }) => parent === id);
      const parent = elements.find(each => each.id === id)?.parent;
      return {
        attributes: {
          state,
          actions,
          position: elements.findIndex(each => each.id === id),
          published_at: publishedAt !== null && publishedAt <= now ? publishedAt : null,
          offset: attributes.start_offset ?? 0,
          revoked_at: notedTime(entity, "revokedAt"),
          results_revealed_at_iso: isoOf(entity, "resultsRevealedAt"),
          answer_revealed_at_iso: isoOf(entity, "answerRevealedAt"),
        },
        related: {
          stats: { type: "stats", id },
          parent: parent === undefined ? null : { type: "elements", id: parent },
          children: children.map(child => ({ type: "elements", id: child.id })),
        },
      };
    },
    prepare: (entity, draft, change) => prepared(entity, draft, change),
    changed: (entity, draft, change) => list(entity, draft, change),
    removed(entity, draft) {
      const eventId = eventOf(entity);
      const { rev, elements } = contentsOf(draft, eventId);
      const left = elements
        .filter(({ id }) => id !== entity.id)
        .map(({ id, parent }) => (parent === undefined || parent === entity.id ? { id } : { id, parent }));
      draft.put(contentsKey(eventId), { rev: rev + 1, elements: left });
    },
  };
}

/** Returns the state of an element. */
export function phaseOf(entity: Entity, draft: Draft, now: number) {
  const stored = draft.get(eventKey(eventOf(entity)));
  if (stored === null) throw new AppError("not_found", "Cannot use the element as its event was removed");
  return elementPhase(
    elementTimesOf(entity),
    eventPhase(eventEntityTimes(eventCodec.decode(stored)), now),
    now,
  );
}

const notedBy = {
  publish: "publishedAt",
  stop: "stoppedAt",
  revoke: "revokedAt",
  reveal_results: "resultsRevealedAt",
  reveal_answer: "answerRevealedAt",
} as const satisfies Readonly<Record<string, NotedTime>>;

function prepared(entity: Entity, draft: Draft, change: Change): Entity {
  const { input, now, previous } = change;
  const { offset, ...attributes }: Record<string, unknown> = entity.attributes;
  if (input.attributes.offset !== undefined) attributes.start_offset = offset;
  const next: Entity = { ...entity, attributes };
  requireUnfrozen(previous, draft, change);
  requireParent(next, draft, change);
  if (input.action === null) return next;
  const { actions } = phaseOf(next, draft, now);
  if (!(actions as readonly string[]).includes(input.action)) throw badAction(input, actions);
  if (input.action === "publish") requirePublishedChildren(next, draft);
  const name = notedBy[input.action as keyof typeof notedBy];
  return { ...next, state: { ...next.state, [name]: now } };
}

/** Attributes of drafts are frozen from the first publication on. */
function requireUnfrozen(previous: Entity | null, draft: Draft, { input, now }: Change): void {
  if (previous === null) return;
  const { publishedAt } = phaseOf(previous, draft, now);
  if (publishedAt === null || publishedAt > now) return;
  const frozen = Object.keys(input.attributes).filter(
    name => resources.elements.attributes[name]?.write === "draft",
  );
  if (frozen.length === 0) return;
  const detail = "Cannot be changed any more, as the element was published";
  throw unprocessable(...frozen.map(name => ({ pointer: `${input.pointer}/attributes/${name}`, detail })));
}

function requireParent(entity: Entity, draft: Draft, { input }: Change): void {
  const { parent } = input.refs;
  if (parent === undefined || parent === null) return;
  const { elements } = contentsOf(draft, eventOf(entity));
  const found = elements.find(({ id }) => id === parent);
  if (found === undefined) throw unknownRelated(input, "parent");
  const hasChildren = elements.some(each => each.parent === entity.id);
  if (parent !== entity.id && found.parent === undefined && !hasChildren) return;
  throw unprocessable({
    pointer: `${input.pointer}/relationships/parent`,
    detail: "Expected a wrapper that is in no wrapper",
  });
}

function requirePublishedChildren(entity: Entity, draft: Draft): void {
  const children = contentsOf(draft, eventOf(entity)).elements.filter(({ parent }) => parent === entity.id);
  const drafts = children.filter(({ id }) => {
    const child = records.get(draft, id);
    return child !== null && notedTime(child, "publishedAt") === null;
  });
  if (drafts.length === 0) return;
  const ids = drafts.map(({ id }) => id).join(", ");
  throw new AppError("conflict", `Cannot publish the wrapper before its children: publish ${ids} first`, {
    details: { unpublished: drafts.map(({ id }) => id) },
  });
}

function list(entity: Entity, draft: Draft, { previous, input }: Change): void {
  const eventId = eventOf(entity);
  const { rev, elements } = contentsOf(draft, eventId);
  const { parent } = input.refs;
  if (previous === null && elements.length >= elementsMax) {
    throw new AppError("conflict", `Cannot add another element to the event: it has ${elementsMax}`);
  }
  const listed = previous === null ? [...elements, { id: entity.id }] : elements;
  const placed =
    parent === undefined
      ? listed
      : listed.map(each =>
          each.id !== entity.id ? each : parent === null ? { id: each.id } : { id: each.id, parent },
        );
  draft.put(contentsKey(eventId), { rev: rev + 1, elements: placed });
}

function contentsOf(draft: Draft, eventId: string): Contents {
  return draft.get<Contents>(contentsKey(eventId)) ?? noContents;
}

function eventOf({ refs }: Entity): string {
  return refs.event ?? "";
}

function isoOf(entity: Entity, name: NotedTime): string | null {
  const time = notedTime(entity, name);
  return time === null ? null : new Date(time * 1_000).toISOString();
}
