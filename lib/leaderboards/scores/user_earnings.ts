/**
 * The port through which boards are rebuilt from what is recorded of users.
 *
 * @module
 */

import type { Gain } from "./score_feed.ts";

/** What a user gained at a time. */
export interface Earning {
  readonly gain: Gain;
  /** Unix ms. */
  readonly at: number;
}

/** What is recorded of everything that a user gained. */
export interface UserEarnings {
  /** The project whose boards the user is on; null where none is known. */
  readonly projectId: string | null;
  /** The revision of the user's state that all of it belongs to. */
  readonly revision: number;
  /** When the state last changed, Unix ms. */
  readonly changedAt: number;
  /** The value of every metric that has ever changed. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Oldest first. The oldest may no longer be recorded. */
  readonly earnings: readonly Earning[];
}

/** Reads what is recorded of a user; null where there is no such user. */
export type ReadEarnings = (userId: string) => Promise<UserEarnings | null>;
