/**
 * Which board scores this process knows to have arrived, so that users' records need not keep them any longer.
 * What is forgotten here is merely delivered once more.
 *
 * @module
 */

import type { ScoreUpdate } from "../ports/score_feed.ts";

/** Number of users that are remembered; the one delivered for longest ago is forgotten first. */
export const deliveriesMax = 50_000;

/** Remembers, by user, up to which revision every score has arrived. */
export class Deliveries {
  readonly #arrived = new Map<string, number>();

  /** Tells whether an update of the user has arrived. */
  of(user: string): (update: ScoreUpdate) => boolean {
    return update => update.asOf <= (this.#arrived.get(user) ?? -1);
  }

  /** Notes that all of a user's updates that waited have arrived. */
  add(user: string, updates: readonly ScoreUpdate[]): void {
    const revision = updates.reduce(
      (highest, { asOf }) => Math.max(highest, asOf),
      this.#arrived.get(user) ?? -1,
    );
    this.#arrived.delete(user);
    this.#arrived.set(user, revision);
    if (this.#arrived.size <= deliveriesMax) return;
    const [oldest] = this.#arrived.keys();
    if (oldest !== undefined) this.#arrived.delete(oldest);
  }
}
