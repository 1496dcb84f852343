/**
 * How much a loyalty configuration may do at once and keep of each user, as far as that follows from several of its parts.
 *
 * @module
 */

import type { FieldError } from "../../errors/mod.ts";
import { rewardsTotalMax, windowStepsTotalMax } from "./bounds.ts";
import type { CompiledAggregate } from "./compile_counters.ts";
import { toCounterWindow } from "./counter_window.ts";
import type { LoyaltyConfig, Reward, RuleEffect } from "./document.ts";

/** The bundles of a configuration by id. */
export type Bundles = ReadonlyMap<string, readonly unknown[]>;

/** The parts that give too much at once, and the document itself where its windows have too many steps. */
export function sizeErrors(
  config: LoyaltyConfig,
  { bundles, aggregates }: { readonly bundles: Bundles; readonly aggregates: readonly CompiledAggregate[] },
): FieldError[] {
  const given: (readonly [pointer: string, rewards: readonly (RuleEffect | Reward)[]])[] = [
    ...config.rules.map(({ effects }, r) => [`/rules/${r}/effects`, effects] as const),
    ...config.challenges.map(({ rewards }, c) => [`/challenges/${c}/rewards`, rewards] as const),
    ...config.milestones.flatMap(({ milestones }, m) =>
      milestones.map(({ rewards }, i) => [`/milestones/${m}/milestones/${i}/rewards`, rewards] as const),
    ),
  ];
  const faults = given
    .filter(([, rewards]) => countRewards(rewards, bundles) > rewardsTotalMax)
    .map(([pointer]) => ({ pointer, detail: `Give at most ${rewardsTotalMax}, those of bundles included` }));
  if (windowSteps(config, aggregates) <= windowStepsTotalMax) return faults;
  const detail = `Count in windows of at most ${windowStepsTotalMax} steps together, for example in hours instead of minutes`;
  return [...faults, { pointer: "", detail }];
}

/** How many rewards these are once their bundles are taken apart. */
export function countRewards(rewards: readonly { readonly type: string }[], bundles: Bundles): number {
  return rewards.reduce((count, reward) => count + partsOf(reward, bundles), 0);
}

function partsOf(reward: { readonly type: string; readonly rewardId?: unknown }, bundles: Bundles): number {
  if (reward.type !== "reward" || typeof reward.rewardId !== "string") return 1;
  return bundles.get(reward.rewardId)?.length ?? 0;
}

function windowSteps({ rules }: LoyaltyConfig, aggregates: readonly CompiledAggregate[]): number {
  const limits = rules.flatMap(rule => rule.limits.map(({ window }) => toCounterWindow(window)));
  return [...aggregates.map(({ window }) => window), ...limits].reduce(
    (steps, window) => steps + (window.kind === "buckets" ? window.last : 1),
    0,
  );
}
