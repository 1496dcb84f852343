/** The elements that votes name, from the records that feeds are made of. */

import { eventPhase } from "../../fans/directory/event_times.ts";
import { eventTimesOf } from "../../fans/directory/records.ts";
import type { ElementMoment, ElementSource, VotedElement } from "../../fans/loyalty/votes/elements.ts";
import { memoize } from "../../storage/background/mod.ts";
import { elementPhase, elementTimesOf, revelation } from "../table/element_times.ts";
import { boundsOf, numberOf, optionCountOf } from "./feed_element.ts";
import type { ElementRecord, EventRecord, EventSource, Owners, Sources } from "./sources.ts";
import { plainValues } from "./sources.ts";

/** The length of a text where the element names none, and the most that it may name, as the content type says. */
const textDefault = 280;
const textMost = 1_024;

export class VotedElements implements ElementSource {
  readonly #owners: Owners;
  readonly #sources: Sources;
  readonly isVerifiedUser: ElementSource["isVerifiedUser"];
  readonly keepAnswer: ElementSource["keepAnswer"];

  constructor({
    owners,
    sources,
    isVerifiedUser,
    keepAnswer,
  }: Pick<ElementSource, "isVerifiedUser" | "keepAnswer"> & {
    readonly owners: Owners;
    readonly sources: Sources;
  }) {
    this.#owners = owners;
    this.#sources = sources;
    this.isVerifiedUser = isVerifiedUser;
    this.keepAnswer = keepAnswer;
  }

  async element(id: string): Promise<VotedElement | null> {
    const owner = await this.#owners.of(id);
    if (owner === null) return null;
    return elementIn(await this.#sources.event(owner.eventId), owner.spaceId, id);
  }

  async currentElement(id: string): Promise<VotedElement | null> {
    this.#owners.forget(id);
    const owner = await this.#owners.of(id);
    if (owner === null) return null;
    return elementIn(await this.#sources.currentEvent(owner.eventId), owner.spaceId, id);
  }

  /** Makes this process read events, also those of elements, again once they have changed: call the function that it returns then. */
  async beforeChange(ids: readonly string[]): Promise<() => void> {
    const owners = await Promise.all(ids.map(id => this.#owners.of(id)));
    const eventIds = new Set(owners.flatMap(owner => owner?.eventId ?? []));
    return () => {
      for (const eventId of eventIds) this.#sources.forget(eventId);
    };
  }

  async elementsOf(eventId: string): ReturnType<ElementSource["elementsOf"]> {
    const owner = await this.#owners.of(eventId);
    const source = owner?.eventId === eventId ? await this.#sources.event(eventId) : null;
    if (owner === null || source === null) return null;
    const { projectId, spaceId } = owner;
    return { projectId, spaceId, elements: [...elementsIn(source).values()].map(of => of(spaceId)) };
  }
}

function elementIn(source: EventSource | null, spaceId: string, id: string): VotedElement | null {
  return source === null ? null : (elementsIn(source).get(id)?.(spaceId) ?? null);
}

const elementsIn = memoize(({ event, elements }: EventSource) => {
  const made = new Map<string, VotedElement>();
  return new Map(
    elements.map(record => [
      record.id,
      (spaceId: string): VotedElement => {
        const element = made.get(record.id) ?? votedElement(record, event, spaceId);
        made.set(record.id, element);
        return element;
      },
    ]),
  );
});

function votedElement(record: ElementRecord, event: EventRecord, spaceId: string): VotedElement {
  const { id, attributes } = record;
  const { correct_option: answer, content_type: type } = attributes;
  const { points, max_length: longest } = plainValues(attributes.custom_fields);
  return {
    id,
    spaceId,
    eventId: event.id,
    projectId: event.projectId,
    type: String(type),
    options: optionCountOf(attributes),
    bounds: boundsOf(attributes),
    rightOption: typeof answer === "number" && answer > 0 ? answer : null,
    tellsAnswer: attributes.reveal_answer_on_vote === true,
    points: numberOf(points) ?? 0,
    textMax: type === "ask" ? Math.min(numberOf(longest) ?? textDefault, textMost) : 0,
    at: eachMoment(now => momentOf(record, event, now)),
  };
}

/** Makes a moment once for all that ask at the same time. */
function eachMoment(make: (now: number) => ElementMoment): (now: number) => ElementMoment {
  let [made, moment]: [number, ElementMoment | null] = [0, null];
  return now => {
    const at = Math.floor(now);
    if (moment === null || made !== at) [made, moment] = [at, make(at)];
    return moment;
  };
}

function momentOf(record: ElementRecord, event: EventRecord, now: number): ElementMoment {
  const ofEvent = eventPhase(eventTimesOf(event), now / 1_000);
  const phase = elementPhase(elementTimesOf(record), ofEvent);
  const { answerAt } = revelation(record, phase, ofEvent);
  const isAnswered = answerAt !== null && answerAt <= phase.at;
  // An element that was published on demand has no end of its own.
  const isOver = ofEvent.state === "past";
  return {
    isOpen: phase.state === "current" && !isAnswered && !isOver,
    publishedAt: inMs(phase.publishedAt),
    answerAt: phase.state === "revoked" ? null : inMs(answerAt),
  };
}

function inMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1_000;
}
