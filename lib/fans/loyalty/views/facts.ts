/**
 * Facts about users for searches and exports, which read many users: one record of each, of which nothing is kept.
 *
 * @module
 */

import type { Store, Stored } from "../../../storage/mod.ts";
import { ownValue } from "../config/scope.ts";
import { advanceTime, isDue } from "../engine/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import { type ChallengeProgress, emptyState, type UserState } from "../user/state.ts";
import { parseState, readState, StoredStateReader } from "../user/stored_state.ts";

/** A user's loyalty as of now. */
export interface LoyaltyFacts {
  metric(id: string): number;
  items(setId: string): readonly string[];
  challenge(id: string): Exclude<ChallengeProgress["status"], "none"> | "not_started";
}

/** Reads facts about users of a space. */
export interface FactsReader {
  /** The metrics of the space with their default values. */
  readonly metrics: ReadonlyMap<string, number>;
  readonly inventory: ReadonlySet<string>;
  readonly challenges: ReadonlySet<string>;
  /** Reads the facts of a user from the record; null: there is none. */
  read(stored: Stored | null): LoyaltyFacts;
}

/** The source of facts about users of all spaces. */
export type FactsSource = ReturnType<typeof createFactsSource>;

/** Creates the source of facts. */
export function createFactsSource({ clock, configOf }: Pick<LoyaltyServices, "clock" | "configOf">) {
  return {
    /** The record of a user's partition that facts are read from. */
    record: readState,
    async of(spaceId: string): Promise<FactsReader> {
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
          // Most users have nothing due; then the text is searched for what is asked and not parsed as a whole.
          if (!isDue(state, now)) return factsOf(state, defaults);
          return factsOf(advanceTime(compiled, parseState(stored.value), now).state, defaults);
        },
      };
    },
  };
}

/** Reads a user's metrics that have ever changed, with the revision of the state; null where nothing is on record. */
export async function readMetrics(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): Promise<Pick<UserState, "metrics" | "revision"> | null> {
  const [stored] = await store.read(spaceUserPartition(user), [readState]);
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
