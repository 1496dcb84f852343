/**
 * What is known of targets that were asked for before: their endpoint, and their parameters as the schemas gave them out.
 *
 * Public answers are asked for by everybody under the same few targets, and finding and checking these is a pure function
 * of the text, so it is done once. Only targets that were answered well are kept, and the one kept for longest goes first.
 *
 * @module
 */

import type { Endpoint } from "./endpoint.ts";
import type { Target } from "./target.ts";

/** Number of targets that are kept. */
export const hotTargetsMax = 1_024;
/** Longest target that is kept, in UTF-16 units. */
export const hotTargetCharsMax = 512;

/** Parameters as a route's schemas gave them out. */
export interface Parsed {
  readonly params: unknown;
  readonly query: unknown;
}

/** A target with everything that follows from it. */
export interface HotTarget extends Parsed {
  readonly target: Target;
  readonly endpoint: Endpoint;
}

/** Keeps what is known of targets, by their text. */
export class HotTargets {
  readonly #known = new Map<string, HotTarget>();

  get(text: string): HotTarget | undefined {
    return this.#known.get(text);
  }

  /** Keeps a target of a public route. */
  put(text: string, hot: HotTarget): void {
    if (text.length > hotTargetCharsMax || this.#known.has(text)) return;
    this.#known.set(text, hot);
    if (this.#known.size <= hotTargetsMax) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}
