/**
 * The rewards profile of a user.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import { ownValue } from "../config/scope.ts";
import type { UserState } from "../user/state.ts";

/** The rewards profile as the loyalty API shows it. */
export interface RewardsProfile {
  readonly metrics: Readonly<Record<string, number>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  readonly challenges: Readonly<
    Record<string, { readonly isCompleted: boolean; readonly missionsCompleted: readonly string[] }>
  >;
}

const shown = new WeakMap<UserState, { readonly config: CompiledConfig; readonly profile: RewardsProfile }>();

/** Makes the profile of a state: every metric, set and challenge of the configuration, and nothing else. */
export function rewardsProfile(compiled: CompiledConfig, state: UserState): RewardsProfile {
  const cached = shown.get(state);
  if (cached?.config === compiled) return cached.profile;
  const profile = show(compiled, state);
  shown.set(state, { config: compiled, profile });
  return profile;
}

function show({ config }: CompiledConfig, state: UserState): RewardsProfile {
  return {
    metrics: Object.fromEntries(
      config.metrics.map(({ id, defaultValue }) => [id, ownValue(state.metrics, id) ?? defaultValue]),
    ),
    inventory: Object.fromEntries(
      config.inventory.map(({ id }) => [id, ownValue(state.inventory, id) ?? []]),
    ),
    challenges: Object.fromEntries(
      config.challenges.map(({ id }) => {
        const { status, missionsCompleted = [] } = ownValue(state.challenges, id) ?? {};
        return [id, { isCompleted: status === "completed", missionsCompleted }];
      }),
    ),
  };
}
