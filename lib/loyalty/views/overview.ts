/**
 * A user's loyalty at a glance, from one read.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import type { Metric } from "../config/document.ts";
import { ownValue } from "../config/own_property.ts";
import { type Balances, balancesOf, balancesValidUntil } from "../ledger/mod.ts";
import type { UserState } from "../user/state.ts";
import { activeChallenges, type ChallengeView, type ProgressView } from "./challenge_views.ts";

/** Where a user stands on the ladder that makes tiers. */
export interface Tier {
  /** Id of the milestone. */
  readonly id: string;
  readonly name: string;
  /** On the way to the next rung, by the metric of the ladder; null on the highest one. */
  readonly progress: ProgressView | null;
}

/** What a user has of a metric, and ever had. */
export interface LifetimeBalances extends Balances {
  /** All that was credited, pending points included, without what was taken back; at least 0. */
  readonly lifetimeEarned: number;
  /** All that left otherwise than by expiring, without what was given back. */
  readonly lifetimeSpent: number;
}

/** A user's loyalty at a glance. */
export interface LoyaltyOverview {
  /** What can be used now, of every metric of the configuration. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly balances: Readonly<Record<string, LifetimeBalances>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  /** Null where no ladder makes tiers, or the user is below its lowest rung. */
  readonly tier: Tier | null;
  readonly activeChallenges: readonly ChallengeView[];
}

/** A user's loyalty at a glance, with the number of unread notifications. */
export type LoyaltySummary = LoyaltyOverview & { readonly unreadNotifications: number };

/** What there is to tell of a state that is settled at that time. */
export function overviewAt(compiled: CompiledConfig, state: UserState, at: number): LoyaltyOverview {
  const { config } = compiled;
  return {
    metrics: Object.fromEntries(config.metrics.map(metric => [metric.id, shownValue(metric, state)])),
    balances: Object.fromEntries(
      config.metrics.map(metric => [metric.id, lifetimeBalances(metric, state, at)]),
    ),
    inventory: Object.fromEntries(
      config.inventory.map(({ id }) => [id, ownValue(state.inventory, id) ?? []]),
    ),
    tier: tierOf(compiled, state),
    activeChallenges: activeChallenges(compiled, state),
  };
}

/** Until when (Unix ms, exclusive) there is the same to tell of a state that is settled at that time. */
export function overviewValidUntil({ dueAt, lots }: UserState, at: number): number {
  let until = dueAt ?? Number.POSITIVE_INFINITY;
  for (const id of Object.keys(lots)) until = Math.min(until, balancesValidUntil(lots[id] ?? [], at));
  return until;
}

function shownValue({ id, defaultValue }: Metric, state: UserState): number {
  return ownValue(state.metrics, id) ?? defaultValue;
}

function lifetimeBalances(metric: Metric, state: UserState, at: number): LifetimeBalances {
  const [lifetimeEarned, lifetimeSpent] = ownValue(state.lifetime, metric.id) ?? [0, 0];
  const balances = balancesOf(accountOf(metric, state), at);
  return { ...balances, lifetimeEarned: Math.max(0, lifetimeEarned), lifetimeSpent };
}

function accountOf(metric: Metric, state: UserState): Parameters<typeof balancesOf>[0] {
  const lots = ownValue(state.lots, metric.id) ?? (metric.lots === undefined ? null : []);
  return { balance: shownValue(metric, state), lots };
}

function tierOf({ config, metrics }: CompiledConfig, state: UserState): Tier | null {
  const ladder = config.milestones.find(({ isTier }) => isTier);
  const reached = ladder === undefined ? undefined : ownValue(state.milestones, ladder.id);
  const metric = ladder === undefined ? undefined : metrics.get(ladder.metricId);
  if (ladder === undefined || reached === undefined || metric === undefined) return null;
  const rung = ladder.milestones.find(({ id }) => id === reached.milestoneId);
  if (rung === undefined) return null;
  const next = ladder.milestones.find(({ threshold }) => threshold > reached.threshold);
  const { id, title: name } = rung;
  if (next === undefined) return { id, name, progress: null };
  const current = Math.min(shownValue(metric, state), next.threshold);
  const climbed = (current - reached.threshold) / (next.threshold - reached.threshold);
  const percent = Math.min(99, Math.max(0, Math.floor(100 * climbed)));
  return { id, name, progress: { current, target: next.threshold, percent } };
}
