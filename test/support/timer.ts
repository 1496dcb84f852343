import type { Timer } from "../../lib/http/mod.ts";

/** A timer whose time moves only by `advance`. */
export interface ManualTimer {
  readonly timer: Timer;
  /** Delays of what waits, in ms from when it was set, soonest first. */
  readonly waiting: readonly number[];
  /** Moves the time, calling back whatever is due on the way, and lets what follows from each settle. */
  advance(ms: number): Promise<void>;
}

/** Creates a timer that stands still. */
export function createManualTimer(): ManualTimer {
  let now = 0;
  let waiting: { readonly at: number; readonly delay: number; readonly callback: () => void }[] = [];
  return {
    timer(callback, delay) {
      const entry = { at: now + delay, delay, callback };
      waiting = [...waiting, entry].sort((a, b) => a.at - b.at);
      return () => {
        waiting = waiting.filter(other => other !== entry);
      };
    },
    get waiting() {
      return waiting.map(({ delay }) => delay);
    },
    async advance(ms) {
      const end = now + ms;
      for (;;) {
        const [next] = waiting;
        if (next === undefined || next.at > end) break;
        now = next.at;
        waiting = waiting.filter(other => other !== next);
        next.callback();
        await settle();
      }
      now = end;
      await settle();
    },
  };
}

/** Lets everything go on that waits for nothing but its turn. */
export function settle(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}
