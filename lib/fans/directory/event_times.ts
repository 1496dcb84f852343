/** States of events, from their record and the clock alone. */

export const eventStates = ["future", "current", "on_demand", "past"] as const;
export type EventState = (typeof eventStates)[number];

/** Facts that decide the state of an event. All times are Unix seconds. */
export interface EventTimes {
  /** `clock`: it begins at `startAt`; `manual`: when somebody starts it. */
  readonly startMode: "manual" | "clock";
  readonly startAt: number | null;
  readonly startedAt: number | null;
  readonly stoppedAt: number | null;
  readonly closedAt: number | null;
  /** Seconds from the begin to the end; 0: until it is stopped. */
  readonly duration: number;
  readonly endMode: "duration" | "scheduled";
  readonly endAt: number | null;
  /** Seconds that were added to the duration while it ran. */
  readonly extraTime: number;
  /** Seconds for which it stays on demand after its end. */
  readonly onDemand: number;
  /** A state that the clock does not change: a seed named it. */
  readonly fixedState?: EventState | undefined;
}

/** The instants at which the state of an event changes, in Unix seconds. */
export interface EventInstants {
  /** When it began or will begin; null if nobody knows. */
  readonly begin: number | null;
  /** When it ended or will end; null if nobody knows. */
  readonly end: number | null;
  /** When it was or will be past, which is later than its end where it is on demand; null if nobody knows. */
  readonly over: number | null;
  /** When its last action was noted: the action has happened also for processes whose clocks are behind. Absent if there was none. */
  readonly noted?: number;
  /** A state that the clock does not change. */
  readonly fixedState?: EventState | undefined;
}

/** The state of an event at an instant, and the instants around it. */
export interface EventPhase extends EventInstants {
  /** The instant, in Unix seconds: that of the clock, or a later one at which an action was noted. */
  readonly at: number;
  readonly state: EventState;
  /** The next instant at which the clock alone changes the state; null if there is none. */
  readonly changesAt: number | null;
}

export function eventInstants(times: EventTimes): EventInstants {
  const { fixedState, startedAt, stoppedAt, closedAt, onDemand } = times;
  const begin = beginOf(times);
  const end = begin === null ? stoppedAt : endOf(times, begin);
  const over = end === null ? null : Math.min(closedAt ?? Number.POSITIVE_INFINITY, end + onDemand);
  // The times of a fixed state were planned and not noted.
  const noted = fixedState === undefined ? lastNoted([startedAt, stoppedAt, closedAt]) : {};
  return { begin, end, over, ...noted, fixedState };
}

/** Returns the state of an event at `now`, in Unix seconds. */
export function eventState({ begin, end, over, noted, fixedState }: EventInstants, now: number): EventState {
  if (fixedState !== undefined) return fixedState;
  const at = latest(now, noted);
  if (begin === null || at < begin) return "future";
  if (end === null || at < end) return "current";
  return over !== null && at < over ? "on_demand" : "past";
}

/** Returns the phase of an event at `now`, in Unix seconds. */
export function eventPhase(times: EventTimes, now: number): EventPhase {
  const instants = eventInstants(times);
  const { begin, end, over, noted, fixedState } = instants;
  const state = eventState(instants, now);
  const next = { future: begin, current: end, on_demand: over, past: null };
  return {
    ...instants,
    at: latest(now, noted),
    state,
    changesAt: fixedState === undefined ? next[state] : null,
  };
}

export function lastNoted(times: readonly (number | null)[]): { readonly noted?: number } {
  const noted = times.filter(at => at !== null);
  return noted.length === 0 ? {} : { noted: Math.max(...noted) };
}

/** Returns the instant at which something is looked at: now, or when the last of its actions was noted by a clock that is ahead. */
export function latest(now: number, noted = now): number {
  return Math.max(now, noted);
}

function beginOf({ startMode, startAt, startedAt }: EventTimes): number | null {
  return startMode === "clock" ? startAt : startedAt;
}

function endOf(times: EventTimes, begin: number): number | null {
  const planned = plannedEnd(times, begin);
  const { stoppedAt } = times;
  if (stoppedAt === null || planned === null) return stoppedAt ?? planned;
  return Math.min(stoppedAt, planned);
}

function plannedEnd({ endMode, endAt, duration, extraTime }: EventTimes, begin: number): number | null {
  if (endMode === "scheduled" && endAt !== null) return Math.max(begin, endAt) + extraTime;
  return duration === 0 ? null : begin + duration + extraTime;
}
