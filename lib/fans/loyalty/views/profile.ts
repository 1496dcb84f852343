/**
 * The rewards profile of a user.
 *
 * @module
 */

import * as v from "valibot";
import { type Immutable, named } from "../../../http/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { ownValue } from "../config/scope.ts";
import type { UserState } from "../user/state.ts";

const texts = v.array(v.string());

export const RewardsProfileSchema = named(
  "RewardsProfile",
  v.object({
    metrics: v.record(v.string(), v.number()),
    inventory: v.record(v.string(), texts),
    challenges: v.record(v.string(), v.object({ isCompleted: v.boolean(), missionsCompleted: texts })),
  }),
);
/** The rewards profile as the loyalty API shows it. */
export type RewardsProfile = Immutable<v.InferOutput<typeof RewardsProfileSchema>>;

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
