/**
 * Asking again where a server was out of reach or busy. Most requests of the commands may be repeated: reads and trials
 * change nothing, a push names the version that it replaces, and a rollback that took effect makes no second version. What
 * would take effect twice is asked once.
 *
 * @module
 */

import type { CliContext } from "./command.ts";

/** Most times that a request is sent. */
export const attemptsMax = 4;
/** Longest first pause between two attempts, in ms; it doubles with each. */
export const firstPauseMsMax = 250;
/** Longest pause, in ms, also where the server asks for more. */
export const pauseMsMax = 8_000;

const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** An answer whose body was read. */
export interface Answered {
  readonly response: Response;
  readonly text: string;
}

/** How often a request may be sent. */
export interface Attempts {
  /** @default {@linkcode attemptsMax} */
  readonly attempts?: number;
}

/**
 * Sends a request until it is answered by more than "later", with full jitter between attempts and `Retry-After` as a floor.
 *
 * @throws whatever the last attempt failed with.
 */
export async function answered(
  request: () => Request,
  { fetch, pause, random, attempts = attemptsMax }: Pick<CliContext, "fetch" | "pause" | "random"> & Attempts,
): Promise<Answered> {
  for (let attempt = 1; ; attempt++) {
    const jitterMs = random() * Math.min(firstPauseMsMax * 2 ** (attempt - 1), pauseMsMax);
    try {
      const response = await fetch(request());
      const text = await response.text();
      if (attempt === attempts || !passing.has(response.status)) return { response, text };
      const seconds = Number(response.headers.get("retry-after") ?? 0);
      const floorMs = Number.isFinite(seconds) ? seconds * 1_000 : 0;
      await pause(Math.min(Math.max(jitterMs, floorMs), pauseMsMax));
    } catch (error) {
      if (attempt === attempts) throw error;
      await pause(jitterMs);
    }
  }
}
