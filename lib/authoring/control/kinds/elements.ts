/** Elements. */

import { AppError } from "../../../base/errors/mod.ts";
import { eventPhase } from "../../../fans/directory/event_times.ts";
import { memoize } from "../../../storage/background/mod.ts";
import { isoOf } from "../../feeds/feed_element.ts";
import {
  answerField,
  type ContentsEntry,
  chronological,
  contentsKey,
  elementAttributes,
  elementKey,
  elementPhase,
  elementsMax,
  elementTimesOf,
  type Field,
  type NotedTime,
  notedTime,
  resources,
  revelation,
} from "../../table/mod.ts";
import type { Apps } from "../apps/apps.ts";
import { contentsOf, deletesOf, entryOf, eventKey, eventOf, noteChange } from "../contents.ts";
import {
  badAction,
  badAttribute,
  type Change,
  type Entity,
  eventCodec,
  eventEntityTimes,
  type Input,
  type Kind,
  notFound,
  projectKey,
  type Records,
  unprocessable,
} from "../kind.ts";
import type { ControlServices } from "../services.ts";
import type { Transaction } from "../transaction.ts";
import { requireContent, requireParent, withJoinedFields } from "./content.ts";

/** Elements exist as far as the contents of their event list them, which guard them. */
const records: Records = {
  keys: id => [elementKey(id)],
  get(tx, id) {
    const entity = tx.get<Entity>(elementKey(id), { isGuarded: true });
    if (entity === null) return null;
    tx.want(eventKey(eventOf(entity)));
    return contentsOf(tx, eventOf(entity)).elements.some(each => each.id === id) ? entity : null;
  },
  set: (tx, id, entity) => tx.put(elementKey(id), entity),
};

export function elementKind({ apps }: ControlServices): Kind {
  return {
    resource: resources.elements,
    records,
    eventOf,
    wants: (_, written) => (written === undefined ? [] : [projectKey, ...eventKeysOf(written.event)]),
    list(tx, eventId) {
      tx.want(eventKey(eventId));
      const contents = contentsOf(tx, eventId);
      return chronological(contents, eventPhaseOf(tx, eventId, 0).begin).map(({ id }) => id);
    },
    present(entity, tx, { now }) {
      const { id, attributes } = entity;
      const { elements } = contentsOf(tx, eventOf(entity));
      const event = eventPhaseOf(tx, eventOf(entity), now);
      const phase = elementPhase(elementTimesOf(entity), event);
      const { resultsAt, answerAt } = revelation(entity, phase, event);
      const position = elements.findIndex(each => each.id === id);
      const parent = elements[position]?.parent;
      const children = elements.filter(each => each.parent === id);
      return {
        attributes: {
          state: phase.state,
          actions: phase.actions,
          position,
          published_at: passed(phase.publishedAt, phase.at),
          offset: attributes.start_offset ?? 0,
          revoked_at: notedTime(entity, "revokedAt"),
          results_revealed_at_iso: isoOf(passed(resultsAt, phase.at)),
          answer_revealed_at_iso: isoOf(passed(answerAt, phase.at)),
        },
        related: {
          stats: { type: "stats", id },
          parent: parent === undefined ? null : { type: "elements", id: parent },
          children: children.map(child => ({ type: "elements", id: child.id })),
        },
      };
    },
    prepare: (entity, tx, change) => prepared(entity, tx, change, apps),
    changed(entity, tx, change) {
      list(entity, tx, change);
      noteChange(tx, eventOf(entity), entity, change);
    },
    removed(entity, tx) {
      const eventId = eventOf(entity);
      const { rev, elements } = contentsOf(tx, eventId);
      const left = elements.flatMap(({ parent, ...entry }) =>
        entry.id === entity.id
          ? []
          : [parent === undefined || parent === entity.id ? entry : { ...entry, parent }],
      );
      tx.put(contentsKey(eventId), { rev: rev + 1, elements: left });
      for (const left of deletesOf(entity.id)) tx.effect(left);
    },
  };
}

function eventKeysOf(eventId: string | null | undefined): readonly string[] {
  return typeof eventId === "string" ? [contentsKey(eventId), eventKey(eventId)] : [];
}

function eventPhaseOf(tx: Transaction, eventId: string, now: number) {
  const stored = tx.get<object>(eventKey(eventId));
  if (stored === null) throw notFound("event");
  return eventPhase(timesOf(stored), now);
}

/** All elements of an event ask for its times. */
const timesOf = memoize((event: object) => eventEntityTimes(eventCodec.decode(event)));

function phaseOf(entity: Entity, tx: Transaction, now: number) {
  return elementPhase(elementTimesOf(entity), eventPhaseOf(tx, eventOf(entity), now));
}

function isPublished(entity: Entity, tx: Transaction, now: number): boolean {
  const { publishedAt, at } = phaseOf(entity, tx, now);
  return publishedAt !== null && publishedAt <= at;
}

const notedBy = {
  publish: "publishedAt",
  stop: "stoppedAt",
  revoke: "revokedAt",
  reveal_results: "resultsRevealedAt",
  reveal_answer: "answerRevealedAt",
} as const satisfies Readonly<Record<string, NotedTime>>;

function prepared(entity: Entity, tx: Transaction, change: Change, apps: Apps): Entity {
  const { input, now, previous } = change;
  const { offset, ...attributes }: Record<string, unknown> = entity.attributes;
  if (input.attributes.offset !== undefined) attributes.start_offset = offset;
  const next = withJoinedFields({ ...entity, attributes }, tx, change, apps);
  if (previous !== null && isPublished(previous, tx, now)) requireUnfrozen(previous, next, change);
  else requireContent(next, tx, change, apps);
  requireParent(next, tx, change, apps);
  if (input.answers !== undefined) return withAnswers(next, input.answers);
  if (input.action === null) return next;
  const { actions, at } = phaseOf(next, tx, now);
  if (!(actions as readonly string[]).includes(input.action)) throw badAction(input, actions);
  if (input.action === "publish") requirePublishedChildren(next, tx, at);
  if (input.action === "reveal_answer") requireAnswer(next, input);
  const name = notedBy[input.action as keyof typeof notedBy];
  // What was revealed once stays so since then.
  return { ...next, state: { ...next.state, [name]: notedTime(next, name) ?? at } };
}

/** A text of a fan that feeds show. */
export interface ShownAnswer {
  readonly id: string;
  readonly text: string;
}

export const shownAnswersMax = 50;

/** Shows and hides texts. What was shown last comes first. */
function withAnswers(entity: Entity, answers: NonNullable<Input["answers"]>): Entity {
  const shown = new Map<string, string>();
  for (const { id, text } of answers) {
    if (text === undefined) shown.delete(id);
    else shown.set(id, text);
  }
  const named = new Set(answers.map(({ id }) => id));
  const added = [...shown].map(([id, text]): ShownAnswer => ({ id, text })).toReversed();
  const kept = ((entity.state?.answers ?? []) as readonly ShownAnswer[]).filter(({ id }) => !named.has(id));
  const all = [...added, ...kept];
  if (all.length <= shownAnswersMax) return { ...entity, state: { ...entity.state, answers: all } };
  throw new AppError(
    "conflict",
    `Cannot show more than ${shownAnswersMax} texts of an element: hide others first`,
  );
}

/** Attributes of drafts are frozen from the first publication on; the right option is not. */
function requireUnfrozen(previous: Entity, next: Entity, { input }: Change): void {
  const textOf = ({ attributes }: Entity, name: string): string => {
    const kept = name === "offset" ? "start_offset" : name;
    const value = attributes[kept] ?? elementAttributes[kept]?.default;
    const fields = name === "custom_fields" ? (value as readonly Field[]) : null;
    return JSON.stringify(fields?.filter(({ key }) => key !== answerField) ?? value);
  };
  const frozen = Object.keys(input.attributes).filter(
    sent =>
      elementAttributes[sent]?.write === "draft" &&
      [sent === "offset" ? "start_offset" : sent].some(name => textOf(previous, name) !== textOf(next, name)),
  );
  if (frozen.length === 0) return;
  const detail = "Cannot be changed any more, as the element was published";
  throw unprocessable(...frozen.map(name => ({ pointer: `${input.pointer}/attributes/${name}`, detail })));
}

function requireAnswer({ attributes }: Entity, input: Input): void {
  const { correct_option: answer, question } = attributes;
  const { options = [] } = (question ?? {}) as { readonly options?: readonly unknown[] };
  const number = typeof answer === "number" ? answer : 0;
  if (number > 0 && (options.length === 0 || number <= options.length)) return;
  const most = options.length === 0 ? "" : ` and at most ${options.length}`;
  throw badAttribute(input, "correct_option", `Expected the number of the right option, at least 1${most}`);
}

function requirePublishedChildren(entity: Entity, tx: Transaction, now: number): void {
  const { begin } = eventPhaseOf(tx, eventOf(entity), now);
  const isPublished = ({ at, offset }: ContentsEntry): boolean =>
    at !== undefined || (offset !== undefined && begin !== null && begin + offset <= now);
  const unpublished = contentsOf(tx, eventOf(entity))
    .elements.filter(entry => entry.parent === entity.id && !isPublished(entry))
    .map(({ id }) => id);
  if (unpublished.length === 0) return;
  throw new AppError(
    "conflict",
    `Cannot publish the wrapper before its children: publish ${unpublished.join(", ")} first`,
    { details: { unpublished } },
  );
}

function list(entity: Entity, tx: Transaction, { previous, input }: Change): void {
  const eventId = eventOf(entity);
  const { rev, elements } = contentsOf(tx, eventId);
  if (previous === null && elements.length >= elementsMax) {
    throw new AppError("conflict", `Cannot add another element to the event: it has ${elementsMax}`);
  }
  const index = elements.findIndex(({ id }) => id === entity.id);
  const before = elements[index];
  const parent = input.refs.parent === undefined ? before?.parent : (input.refs.parent ?? undefined);
  const nth = before?.at === undefined ? rev : before.nth;
  const bare = entryOf(entity, parent);
  const entry = bare.at === undefined || nth === undefined ? bare : { ...bare, nth };
  tx.put(contentsKey(eventId), {
    rev: rev + 1,
    elements: index < 0 ? [...elements, entry] : elements.with(index, entry),
  });
}

function passed(time: number | null, now: number): number | null {
  return time !== null && time <= now ? time : null;
}
