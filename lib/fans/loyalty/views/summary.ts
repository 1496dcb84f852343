/**
 * A user's loyalty at a glance, from one read.
 *
 * @module
 */

import type { Version } from "../../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { Metric } from "../config/document.ts";
import { ownValue } from "../config/scope.ts";
import { type Balances, balancesOf, balancesValidUntil } from "../ledger/mod.ts";
import { type UserState, usableEarnings } from "../user/state.ts";
import { activeChallenges, type ChallengeView, type ProgressView } from "./challenge_views.ts";

interface LifetimeBalances extends Balances {
  /** All that was credited, pending points included, without what was taken back; at least 0. */
  readonly lifetimeEarned: number;
  /** All that left otherwise than by expiring, without what was given back. */
  readonly lifetimeSpent: number;
}

/** A user's loyalty at a glance. */
export interface LoyaltySummary {
  /** Usable balance of every metric of the configuration. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Balances of each metric now and over all time. */
  readonly balances: Readonly<Record<string, LifetimeBalances>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  /** The milestone reached on the ladder that defines tiers; null: there is no such ladder, or none is reached. */
  readonly tier: {
    readonly id: string;
    readonly name: string;
    /** Progress to the next milestone, by the metric of the ladder; null on the highest one. */
    readonly progress: ProgressView | null;
  } | null;
  readonly activeChallenges: readonly ChallengeView[];
  readonly unreadNotifications: number;
}

/** Summarises a state that is advanced to `at` (Unix ms). */
export function summarize(
  compiled: CompiledConfig,
  state: UserState,
  at: number,
): Omit<LoyaltySummary, "unreadNotifications"> {
  const { config } = compiled;
  return {
    metrics: Object.fromEntries(config.metrics.map(metric => [metric.id, balanceOf(metric, state)])),
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

/** Returns until when (Unix ms, exclusive) the summary of a state that is advanced to `at` stays the same. */
export function summaryValidUntil({ dueAt, lots }: UserState, at: number): number {
  let until = dueAt ?? Number.POSITIVE_INFINITY;
  for (const id of Object.keys(lots)) until = Math.min(until, balancesValidUntil(lots[id] ?? [], at));
  return until;
}

function balanceOf({ id, defaultValue }: Metric, state: UserState): number {
  return ownValue(state.metrics, id) ?? defaultValue;
}

function lifetimeBalances(metric: Metric, state: UserState, at: number): LifetimeBalances {
  const [lifetimeEarned, lifetimeSpent] = ownValue(state.lifetime, metric.id) ?? [0, 0];
  const lots = ownValue(state.lots, metric.id) ?? (metric.lots === undefined ? null : []);
  const balances = balancesOf({ balance: balanceOf(metric, state), lots }, at);
  return { ...balances, lifetimeEarned: Math.max(0, lifetimeEarned), lifetimeSpent };
}

function tierOf({ config, metrics }: CompiledConfig, state: UserState): LoyaltySummary["tier"] {
  const ladder = config.milestones.find(({ isTier }) => isTier);
  const reached = ladder === undefined ? undefined : ownValue(state.milestones, ladder.id);
  const metric = ladder === undefined ? undefined : metrics.get(ladder.metricId);
  if (ladder === undefined || reached === undefined || metric === undefined) return null;
  const milestone = ladder.milestones.find(({ id }) => id === reached.milestoneId);
  if (milestone === undefined) return null;
  const next = ladder.milestones.find(({ threshold }) => threshold > reached.threshold);
  const { id, title: name } = milestone;
  if (next === undefined) return { id, name, progress: null };
  const value = ladder.measure === "earned" ? usableEarnings(state, metric.id) : balanceOf(metric, state);
  const current = Math.min(value, next.threshold);
  const share = (current - reached.threshold) / (next.threshold - reached.threshold);
  const percent = Math.min(99, Math.max(0, Math.floor(100 * share)));
  return { id, name, progress: { current, target: next.threshold, percent } };
}

/** Dependencies of a summary other than the state. */
export interface SummaryContext {
  readonly config: CompiledConfig;
  /** The version of the record that marks notifications as read; null: there is none. */
  readonly marks: Version | null;
  /** Unix ms. */
  readonly now: number;
}

/**
 * Summaries by the state object that they are made from. Every commit that adds a notification also changes the state, so a summary
 * stands for the notifications too if they were read after the state was known. No {@linkcode Cache}, because entries last as long
 * as their states.
 */
export class SummaryCache {
  readonly #summaries = new WeakMap<
    UserState,
    SummaryContext & { readonly summary: LoyaltySummary; readonly until: number }
  >();

  /** Returns true where there is a summary of the state that time has not outdated. */
  has(state: UserState, now: number): boolean {
    const cached = this.#summaries.get(state);
    return cached !== undefined && isCurrent(cached, now);
  }

  /** Returns the summary of the state where it is still true: the same object each time. */
  get(state: UserState, { config, marks, now }: SummaryContext): LoyaltySummary | undefined {
    const cached = this.#summaries.get(state);
    if (cached === undefined || cached.config !== config || cached.marks !== marks) return undefined;
    return isCurrent(cached, now) ? cached.summary : undefined;
  }

  /** Keeps the summary of a state that stays true until `until`, in Unix ms, exclusive. */
  set(
    state: UserState,
    context: SummaryContext,
    { summary, until }: { readonly summary: LoyaltySummary; readonly until: number },
  ): void {
    this.#summaries.set(state, { ...context, summary, until });
  }
}

function isCurrent(
  { now: from, until }: { readonly now: number; readonly until: number },
  now: number,
): boolean {
  return from <= now && now < until;
}
