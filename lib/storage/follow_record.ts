/**
 * Scores that follow a record of another partition, whatever version of it they have seen. An entry has seen a later version than the
 * record has where a replica took over that had lost the last writes of one partition and not of the other. It then refuses what is
 * written next as old.
 *
 * @module
 */

import { AppError } from "../base/errors/mod.ts";

const attemptsMax = 16;

/** An entry that has another score than the one that was written. */
export interface FollowingEntry<S extends { readonly score: number }> {
  /** The score that the entry has. */
  readonly shown: number;
  /** Reads the score that the record has now; null where the entry is left as it is. */
  readonly read: () => Promise<S | null>;
  /** Removes the entry and writes it anew in one commit, so that its version is forgotten. Returns the score that it then has. */
  readonly overwrite: (score: S) => Promise<number | null>;
}

/**
 * Gives an entry the score of its record where it has another one. What is overwritten meanwhile was on record before it was written,
 * so the record is read again after every write, until it has what was written.
 *
 * @throws {AppError} `busy`: the record keeps changing.
 */
export async function followRecord<S extends { readonly score: number }>({
  shown: before,
  read,
  overwrite,
}: FollowingEntry<S>): Promise<void> {
  let shown: number | null = before;
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const recorded = await read();
    if (recorded === null || recorded.score === shown) return;
    shown = await overwrite(recorded);
  }
  throw new AppError("busy", "Cannot write the score on record as that keeps changing", {
    retryAfterMs: 1_000,
  });
}
