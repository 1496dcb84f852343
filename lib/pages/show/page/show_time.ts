/** The server's time, which a wrong clock of the device does not change. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

/** Lead of the clock over the timer from which the device has slept, as timers may stand still then, in ms. */
const sleptMs = 1_000;

/** The clock of a show: `performance.now()` with an offset that the server gives. */
export class ShowTime {
  #offset = Number.NEGATIVE_INFINITY;
  #lead = 0;
  #leadSeen = leadOfClock();

  /** Takes a time of the server, in Unix ms. Documents arrive late, never early, so the latest is the truest. */
  hear(serverNow: number): void {
    const offset = serverNow - performance.now();
    this.#offset = this.sleptFor() > 0 ? offset : Math.max(this.#offset, offset);
    this.#lead = leadOfClock();
  }

  /** Returns for how long the device has slept since the server was heard, in ms. */
  sleptFor(): number {
    const ms = leadOfClock() - this.#lead;
    return ms > sleptMs ? ms : 0;
  }

  /** Returns true once after each sleep, unless the server was heard since. */
  wokeUp(): boolean {
    const lead = leadOfClock();
    const isNew = lead - this.#leadSeen > sleptMs;
    this.#leadSeen = lead;
    return isNew && this.sleptFor() > 0;
  }

  /** Returns the server's time, in Unix ms. */
  now(): number {
    return performance.now() + this.#offset + this.sleptFor();
  }
}

function leadOfClock(): number {
  return Date.now() - performance.now();
}

/** Draws a component again every second while something in it counts. */
export function useSeconds(counts: boolean): void {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!counts) return;
    const timer = setInterval(() => tick(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, [counts]);
}

/** Time between two looks at the clock, in ms: a device that wakes up is right as soon. */
const tickMs = 250;

/** Returns the ms that are left until an instant. One timer writes them. */
export function useTimeLeft(time: ShowTime, at: number): Signal<number> {
  const left = useSignal(at - time.now());
  useEffect(() => {
    const tick = (): void => {
      left.value = at - time.now();
    };
    tick();
    const timer = setInterval(tick, tickMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [at]);
  return left;
}
