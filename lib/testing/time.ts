/** Time that moves when a test says so. */

import type { Clock } from "../auth/mod.ts";
import type { Timer } from "../http/mod.ts";

/** When a test begins unless it says otherwise, Unix ms. */
export const startAtDefault: number = Date.UTC(2030, 0, 1);

export interface TestTime {
  /** Unix ms. */
  readonly clock: Clock;
  /** Fires as the clock moves. */
  readonly timer: Timer;
  /** Moves the clock, and fires on the way what is due until then, each at its time. Never moves it back. */
  moveTo(at: number): void;
}

interface Waiting {
  readonly at: number;
  readonly callback: () => void;
}

/** Creates a clock that stands still. */
export function createTestTime(startAt: number): TestTime {
  let now = startAt;
  const waiting = new Set<Waiting>();
  const nextUntil = (at: number): Waiting | undefined =>
    [...waiting].filter(each => each.at <= at).sort((a, b) => a.at - b.at)[0];
  return {
    clock: () => now,
    timer(callback, ms) {
      // At least 1 ms, so that timers that set themselves again let the clock move.
      const entry = { at: now + Math.max(ms, 1), callback };
      waiting.add(entry);
      return () => waiting.delete(entry);
    },
    moveTo(at) {
      for (let next = nextUntil(at); next !== undefined; next = nextUntil(at)) {
        waiting.delete(next);
        now = Math.max(now, next.at);
        next.callback();
      }
      now = Math.max(now, at);
    },
  };
}

const unitMs = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
} as const;
type Unit = keyof typeof unitMs;

/** A length of time: milliseconds, or words such as `"1 day"` and `"90 minutes"`. A day has 24 hours. */
export type Span = number | `${number} ${Unit}` | `${number} ${Unit}s`;

/** Returns a length of time in ms. @throws {TypeError} It is none, or it is negative. */
export function spanMs(span: Span): number {
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?) ([a-z]+?)s?$/.exec(String(span)) ?? [];
  const ms = typeof span === "number" ? span : Number(amount) * (unitMs[unit as Unit] ?? Number.NaN);
  if (ms >= 0 && Number.isFinite(ms) && (typeof span === "number" || amount !== "")) return Math.round(ms);
  throw new TypeError(
    `Cannot pass the time ${JSON.stringify(span)}: give milliseconds, or a number with ${Object.keys(unitMs).join(", ")}: "90 minutes"`,
  );
}
