/** States of elements, from their record, their event and the clock alone. */

import { type EventPhase, lastNoted, latest } from "../../fans/directory/event_times.ts";

export const elementStates = [
  "non_scheduled",
  "future",
  "cancelled",
  "current",
  "on_demand",
  "past",
  "revoked",
] as const;
type ElementState = (typeof elementStates)[number];

const elementActions = ["publish", "stop", "reveal_answer", "reveal_results", "revoke"] as const;
type ElementAction = (typeof elementActions)[number];

/** Facts that decide the state of an element. All times are Unix seconds. */
export interface ElementTimes {
  /** `timecode`: it is published `startOffset` seconds after the begin of its event. */
  readonly startMode: "manual" | "timecode";
  readonly startOffset: number;
  /** Seconds for which it is open; 0: until it is stopped or the event ends. */
  readonly duration: number;
  readonly publishedAt: number | null;
  readonly stoppedAt: number | null;
  readonly revokedAt: number | null;
  /** When its last action was noted. Absent if there was none. */
  readonly noted?: number;
}

export interface ElementPhase {
  /** The instant, in Unix seconds: that of its event, or a later one at which an action was noted. */
  readonly at: number;
  readonly state: ElementState;
  readonly actions: readonly ElementAction[];
  /** When it was or will be published; null if nobody knows. */
  readonly publishedAt: number | null;
  /** When it closed or will close; null if nobody knows. */
  readonly closesAt: number | null;
}

const afterwards: readonly ElementAction[] = ["reveal_answer", "reveal_results", "revoke"];

/** Returns the state of an element at the instant of its event's phase. What a clock noted that is ahead has happened. */
export function elementPhase(times: ElementTimes, event: EventPhase): ElementPhase {
  const now = latest(event.at, times.noted);
  const publishedAt = publicationOf(times, event);
  const isActive = event.state === "current" || event.state === "on_demand";
  const closesAt = publishedAt === null ? null : closingOf(times, event, publishedAt);
  const instants = { at: now, publishedAt, closesAt };
  if (times.revokedAt !== null) return { ...instants, state: "revoked", actions: [] };
  if (publishedAt === null) {
    if (times.startMode === "manual")
      return { ...instants, state: "non_scheduled", actions: isActive ? ["publish"] : [] };
    return event.state === "past"
      ? { ...instants, state: "cancelled", actions: [] }
      : { ...instants, state: "future", actions: isActive ? ["publish"] : [] };
  }
  if (now < publishedAt) return { ...instants, state: "future", actions: isActive ? ["publish"] : [] };
  if (closesAt === null || now < closesAt)
    return { ...instants, state: "current", actions: ["stop", ...afterwards] };
  return { ...instants, state: event.state === "on_demand" ? "on_demand" : "past", actions: afterwards };
}

/** A timecode that lies behind the end of the event never comes. */
function publicationOf(
  { startMode, startOffset, publishedAt }: ElementTimes,
  { begin, end }: EventPhase,
): number | null {
  if (publishedAt !== null) return publishedAt;
  if (startMode === "manual" || begin === null) return null;
  const at = begin + startOffset;
  return end !== null && at >= end ? null : at;
}

function closingOf(
  { duration, stoppedAt }: ElementTimes,
  { end }: EventPhase,
  publishedAt: number,
): number | null {
  // What is published while the event is on demand stays open until it is stopped or its duration is over.
  const eventEnd = end !== null && publishedAt >= end ? null : end;
  const ends = [stoppedAt, duration === 0 ? null : publishedAt + duration, eventEnd].filter(
    at => at !== null,
  );
  return ends.length === 0 ? null : Math.min(...ends);
}

const notedTimes = [
  "publishedAt",
  "stoppedAt",
  "revokedAt",
  "resultsRevealedAt",
  "answerRevealedAt",
] as const;

export type NotedTime = (typeof notedTimes)[number];

/** The parts of an element's record that its state follows from. */
export interface ElementFacts {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly state?: Readonly<Record<string, unknown>>;
}

/** Returns a time that an action noted, in Unix seconds; null if none did. */
export function notedTime({ state }: ElementFacts, name: NotedTime): number | null {
  const time = state?.[name];
  return typeof time === "number" ? time : null;
}

export function elementTimesOf(element: ElementFacts): ElementTimes {
  const {
    start_mode: startMode = "manual",
    start_offset: startOffset = 0,
    duration = 0,
  } = element.attributes;
  return {
    startMode: startMode as ElementTimes["startMode"],
    startOffset: Number(startOffset),
    duration: Number(duration),
    publishedAt: notedTime(element, "publishedAt"),
    stoppedAt: notedTime(element, "stoppedAt"),
    revokedAt: notedTime(element, "revokedAt"),
    ...lastNoted(notedTimes.map(name => notedTime(element, name))),
  };
}

/** The instants in Unix seconds from which everybody may see the results and the answer; null if nobody knows. */
export interface Revelation {
  readonly resultsAt: number | null;
  readonly answerAt: number | null;
}

/**
 * Returns when results and answer of an element become public. An action reveals them at once, but for results whose mode is
 * `never`. What a user sees with the own vote (`reveal_answer_on_vote`) is not public by that.
 */
export function revelation(
  element: ElementFacts,
  { publishedAt, closesAt }: ElementPhase,
  event: EventPhase,
): Revelation {
  const {
    reveal_results_mode: mode = "vote",
    reveal_answer_mode: answerMode = "manual",
    reveal_answer_in: answerIn = 0,
    correct_option: answer,
  } = element.attributes;
  const byMode = { vote: publishedAt, close: closesAt, event_end: publishedAt === null ? null : event.end };
  const resultsAt = byMode[mode as keyof typeof byMode] ?? null;
  const isAutomatic = answerMode === "auto" && typeof answer === "number" && answer > 0;
  const answerAt = isAutomatic && closesAt !== null ? closesAt + Number(answerIn) : null;
  return {
    resultsAt: mode === "never" ? null : earlier(notedTime(element, "resultsRevealedAt"), resultsAt),
    answerAt: earlier(notedTime(element, "answerRevealedAt"), answerAt),
  };
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
