/**
 * What is on record of users' loyalty, for those who look through many users: one record of the user's partition, read off
 * without keeping anything of it.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { ReadRecord, Store, Stored } from "../../storage/mod.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import { ownValue } from "../config/own_property.ts";
import { advanceTime, isDue } from "../engine/mod.ts";
import { type Member, memberPartition } from "../user/member.ts";
import { type ChallengeProgress, emptyState, type UserState } from "../user/state.ts";
import { parseState, readState, StoredStateReader } from "../user/stored_state.ts";

/** What a user has, as of now. */
export interface LoyaltyFacts {
  /** The value of a metric of the space. */
  metric(id: string): number;
  /** The items of a set. */
  items(setId: string): readonly string[];
  /** How far a challenge is: `not_started`, `in_progress`, `completed` or `failed`. */
  challenge(id: string): Exclude<ChallengeProgress["status"], "none"> | "not_started";
}

/** What the users of a space may have, and how it is read. */
export interface FactsReader {
  /** Metrics with what they are for users who never had any. */
  readonly metrics: ReadonlyMap<string, number>;
  readonly inventory: ReadonlySet<string>;
  readonly challenges: ReadonlySet<string>;
  /** What is on record; null: nothing. */
  read(stored: Stored | null): LoyaltyFacts;
}

/** Reads many users. */
export interface FactsSource {
  /** The record of a user's partition that it is read from. */
  readonly record: ReadRecord;
  /** What the users of a space may have. */
  of(spaceId: string): Promise<FactsReader>;
}

/** What reading needs. */
export interface FactsOptions {
  readonly clock: Clock;
  readonly configOf: ConfigCache;
}

/** Creates a reader of facts. */
export function createFactsSource({ clock, configOf }: FactsOptions): FactsSource {
  return {
    record: readState,
    async of(spaceId) {
      const compiled = await configOf(spaceId);
      const { metrics, inventory, challenges } = compiled.config;
      const defaults = new Map(metrics.map(({ id, defaultValue }) => [id, defaultValue]));
      return {
        metrics: defaults,
        inventory: new Set(inventory.map(({ id }) => id)),
        challenges: new Set(challenges.map(({ id }) => id)),
        read(stored) {
          if (stored === null) return factsOf(nothing, defaults);
          const state = new StoredStateReader(stored.value);
          const now = clock();
          // Nothing is due with most users, and then a text tells what is asked for without being parsed as a whole.
          if (!isDue(state, now)) return factsOf(state, defaults);
          return factsOf(advanceTime(compiled, parseState(stored.value), now).state, defaults);
        },
      };
    },
  };
}

/** A user's metrics that have ever changed, as of a revision of the user's state; null where nothing is on record. */
export async function readMetrics(
  store: Store,
  user: Pick<Member, "organisationId" | "userId">,
): Promise<Pick<UserState, "metrics" | "revision"> | null> {
  const [stored] = await store.read(memberPartition(user), [readState]);
  return stored === null ? null : parseState(stored.value);
}

const nothing = emptyState(null);

function factsOf(
  state: Pick<UserState, "metrics" | "inventory" | "challenges">,
  defaults: ReadonlyMap<string, number>,
): LoyaltyFacts {
  return {
    metric: id => ownValue(state.metrics, id) ?? defaults.get(id) ?? 0,
    items: setId => ownValue(state.inventory, setId) ?? [],
    challenge(id) {
      const status = ownValue(state.challenges, id)?.status ?? "none";
      return status === "none" ? "not_started" : status;
    },
  };
}
