/**
 * What a search asks of users' loyalty. Areas do not know each other: the loyalty of the platform has what is named here.
 *
 * @module
 */

import type { ReadRecord, Stored } from "../../storage/mod.ts";

/** What a user has, as of now. */
export interface LoyaltyFacts {
  metric(id: string): number;
  items(setId: string): readonly string[];
  challenge(id: string): string;
}

/** What the users of a space may have, and how it is read. */
export interface SpaceFacts {
  /** Metrics with what they are for users who never had any. */
  readonly metrics: ReadonlyMap<string, number>;
  readonly inventory: ReadonlySet<string>;
  readonly challenges: ReadonlySet<string>;
  read(stored: Stored | null): LoyaltyFacts;
}

/** Reads what users have. */
export interface SearchFacts {
  /** The record of a user's partition that it is read from. */
  readonly record: ReadRecord;
  of(spaceId: string): Promise<SpaceFacts>;
}
