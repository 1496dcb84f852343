/** Clocks for a season: each of several concurrent calls has the time at which it was made. */

import { AsyncLocalStorage } from "node:async_hooks";

/** A clock that moves with what happens. */
export interface Timeline {
  /** Unix ms. */
  now(): number;
  /** Makes a call that lives at a moment (Unix ms), from then on the latest of the timeline. */
  at<T>(moment: number, call: () => Promise<T>): Promise<T>;
}

/**
 * A timeline on which a call sees its own moment until it is over, also when others are made meanwhile. So the stamp
 * of every report is known beforehand, however its steps and those of others take turns.
 */
export function createTimeline(start: number): Timeline {
  const moments = new AsyncLocalStorage<number>();
  let latest = start;
  return {
    now: () => moments.getStore() ?? latest,
    at(moment, call) {
      latest = Math.max(latest, moment);
      return moments.run(moment, call);
    },
  };
}

/** A timeline without cost, for calls side by side that all share one moment. */
export function createSharedTimeline(start: number): Timeline {
  let latest = start;
  return {
    now: () => latest,
    at(moment, call) {
      latest = moment;
      return call();
    },
  };
}
