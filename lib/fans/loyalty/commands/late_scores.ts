/**
 * Board scores that this process could not deliver, as the store was out of reach. The next sweep of the process delivers them. If the
 * process ends before, they are in the users' records, where the sweep finds them within an hour.
 *
 * @module
 */

import { mapConcurrent } from "../../../storage/background/mod.ts";
import type { CachedUser } from "../user/space_user.ts";

/** Most users that are remembered. */
const usersMax = 100_000;
/** Users whose scores are delivered at a time. */
const concurrency = 16;

/** The users whose scores are late. */
export class LateScores {
  #users = new Map<string, CachedUser>();

  /** Remembers a user. */
  add(user: CachedUser): void {
    if (this.#users.size < usersMax) this.#users.set(user.partition, user);
  }

  /** Delivers the scores of all users with a function, and keeps the users for whom it fails. */
  async deliver(deliver: (user: CachedUser) => Promise<void>): Promise<void> {
    const users = [...this.#users.values()];
    this.#users = new Map();
    await mapConcurrent(users, concurrency, user => deliver(user).catch(() => this.add(user)));
  }
}
