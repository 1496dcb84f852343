/**
 * What is kept of a user's loyalty, and how it is shown.
 *
 * @module
 */

import type { ScoreUpdate } from "../ports/score_feed.ts";
import { own } from "./_own.ts";
import type { CompiledConfig } from "./compile.ts";

/** Progress of one challenge. */
export interface ChallengeProgress {
  /** How often each mission's action has counted, by mission id. */
  readonly counts: Readonly<Record<string, number>>;
  readonly missionsCompleted: readonly string[];
  readonly isCompleted: boolean;
}

/** The loyalty of one user: one record, changed only through `decide`. */
export interface UserState {
  /** Number of changes so far; a later state has a higher one. */
  readonly revision: number;
  /** When that was, in Unix ms. */
  readonly changedAt: number;
  /** The project whose boards the user's metrics feed; null while none is known. */
  readonly projectId: string | null;
  /** Values that differ from the default of the configuration. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  readonly challenges: Readonly<Record<string, ChallengeProgress>>;
  /** Board scores whose delivery has not been confirmed. */
  readonly undelivered: readonly ScoreUpdate[];
  /** How many action ids the newest generation of seen ids holds. */
  readonly seen: { readonly generation: number; readonly count: number };
}

/** The state of a user who has not done anything. */
export function emptyState(projectId: string | null): UserState {
  return {
    revision: 0,
    changedAt: 0,
    projectId,
    metrics: {},
    inventory: {},
    challenges: {},
    undelivered: [],
    seen: { generation: 0, count: 0 },
  };
}

/** The rewards profile as the loyalty API shows it. */
export interface RewardsProfile {
  readonly metrics: Readonly<Record<string, number>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  readonly challenges: Readonly<
    Record<string, { readonly isCompleted: boolean; readonly missionsCompleted: readonly string[] }>
  >;
}

const shown = new WeakMap<UserState, { readonly config: CompiledConfig; readonly profile: RewardsProfile }>();

/** Shows a state: every metric, set and challenge of the configuration, and nothing that it no longer names. */
export function rewardsProfile(compiled: CompiledConfig, state: UserState): RewardsProfile {
  const known = shown.get(state);
  if (known?.config === compiled) return known.profile;
  const profile = show(compiled, state);
  shown.set(state, { config: compiled, profile });
  return profile;
}

function show({ config }: CompiledConfig, state: UserState): RewardsProfile {
  return {
    metrics: Object.fromEntries(
      config.metrics.map(({ id, defaultValue }) => [id, own(state.metrics, id) ?? defaultValue]),
    ),
    inventory: Object.fromEntries(config.inventory.map(({ id }) => [id, own(state.inventory, id) ?? []])),
    challenges: Object.fromEntries(
      config.challenges.map(({ id }) => {
        const { isCompleted = false, missionsCompleted = [] } = own(state.challenges, id) ?? {};
        return [id, { isCompleted, missionsCompleted }];
      }),
    ),
  };
}
