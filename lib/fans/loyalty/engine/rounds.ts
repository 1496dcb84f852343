/**
 * Rounds of evaluation: the effects of a trigger, and of the changes that these make.
 *
 * A round decides everything against the state before it. Then it applies rules by priority and id, failures of challenges,
 * missions, and milestones, in this order. The changes trigger the next round, in which rules fire once for each change.
 *
 * The points and items of a rule are one transaction. The coupons, notifications and challenges after it have transactions of
 * their own.
 *
 * @module
 */

import {
  type CompiledChallenge,
  type CompiledEffect,
  type CompiledMetricMission,
  type CompiledMission,
  type CompiledRule,
  compareRules,
  type TriggeredPart,
  type TriggerPlan,
} from "../config/compiled.ts";
import { giftedRewards } from "../config/gifts.ts";
import { multiplied } from "../config/multipliers.ts";
import type { Scope } from "../config/scope.ts";
import type { ChallengeProgress } from "../user/state.ts";
import {
  advanceMission,
  completeChallenge,
  completeMission,
  failChallenge,
  openRun,
  startChallenge,
  takesAction,
} from "./challenges.ts";
import type { StateDraft } from "./draft.ts";
import { giveMetric, type MetricAddition } from "./metric_changes.ts";
import { findReachedMilestones, reachMilestones } from "./milestones.ts";
import { giveCoupon } from "./rewards.ts";
import { TransactionBuilder } from "./transaction_builder.ts";

/** The changes of one event trigger this many rounds at most. */
const roundsMax = 8;

/** The rules that a round evaluates, and those of them that fire. */
export interface RuleRound {
  /** As it is before the round. */
  readonly draft: StateDraft;
  readonly scope: Scope;
  readonly rules: readonly CompiledRule[];
  readonly firing: readonly CompiledRule[];
}

/** Receives each round with rules before it applies. */
export type OnRound = (round: RuleRound) => void;

/** Runs the plan of an action, and then the rounds that its changes trigger. */
export function runRounds(draft: StateDraft, plan: TriggerPlan, scope: Scope, onRound?: OnRound): void {
  runRound(draft, plan, scope, onRound);
  runTriggered(draft, onRound);
}

/** Runs the rounds that the changes of a draft trigger. */
export function runTriggered(draft: StateDraft, onRound?: OnRound): void {
  for (let round = 0; ; round++) {
    const triggers = draft.takeTriggers();
    if (triggers.size === 0 || !draft.hasRoom()) return;
    if (round === roundsMax) {
      draft.diagnostics.push({ type: "roundsExhausted", triggers: [...triggers.keys()] });
      return;
    }
    const plans = plansOf(draft, triggers);
    const passes = passesOf(plans);
    runRound(draft, { ...joined(plans), rules: passes[0] ?? [] }, { data: {}, user: draft }, onRound, passes);
  }
}

/** The plan of a trigger, and the number of times that it happened. */
type TriggeredPlan = readonly [plan: TriggerPlan, times: number];

function plansOf({ compiled }: StateDraft, triggers: ReadonlyMap<string, number>): readonly TriggeredPlan[] {
  return [...triggers].flatMap(([key, times]): readonly TriggeredPlan[] => {
    const plan = compiled.triggers.get(key);
    return plan === undefined ? [] : [[plan, times]];
  });
}

/** Returns the rules of the first occurrence of each trigger, then of the second, and so on. */
function passesOf(plans: readonly TriggeredPlan[]): readonly (readonly CompiledRule[])[] {
  const passes = Math.max(0, ...plans.map(([{ rules }, times]) => (rules.length === 0 ? 0 : times)));
  return Array.from({ length: passes }, (_, pass) =>
    plans.flatMap(([{ rules }, times]) => (times > pass ? rules : [])).sort(compareRules),
  );
}

function joined(plans: readonly TriggeredPlan[]): Omit<TriggerPlan, "rules"> {
  return {
    failures: [],
    missions: [],
    metricMissions: plans.flatMap(([{ metricMissions }]) => metricMissions),
    milestoneSets: plans.flatMap(([{ milestoneSets }]) => milestoneSets),
  };
}

/** @param passes The rules that may fire, each pass for one occurrence of their triggers. */
function runRound(
  draft: StateDraft,
  plan: TriggerPlan,
  scope: Scope,
  onRound?: OnRound,
  passes: readonly (readonly CompiledRule[])[] = [plan.rules],
): void {
  const { rules, failures, missions, metricMissions, milestoneSets } = plan;
  const firing: CompiledRule[] = [];
  for (const pass of passes) firing.push(...findFiringRules(draft, pass, scope, firing));
  if (rules.length > 0) onRound?.({ draft, scope, rules, firing });
  const applied = firing.map(compiled => ({ compiled, ...given(compiled, scope, draft.happenedAt) }));
  const failing = failures.filter(
    failure =>
      !isAwaiting(failure, scope) &&
      failure.when(scope) &&
      takesAction(draft, failure.of) &&
      openRun(draft, failure.of) !== null,
  );
  const advances = findAdvances(draft, missions, scope);
  const reachedMissions = findReachedMissions(draft, metricMissions);
  const reachedMilestones = milestoneSets.map(set => ({ set, indexes: findReachedMilestones(draft, set) }));

  for (const rule of applied) if (draft.hasRoom()) applyRule(draft, rule, scope);
  for (const { of } of failing) if (draft.hasRoom()) failChallenge(draft, of);
  for (const { compiled, run, amount, value } of advances) {
    if (!draft.hasRoom()) break;
    const { of, mission, count } = compiled;
    advanceMission(draft, of, { mission, run, amount, needed: count, value });
  }
  for (const { of, mission, run } of reachedMissions) {
    if (draft.hasRoom()) completeMission(draft, of, { mission, run });
  }
  for (const { set, indexes } of reachedMilestones) reachMilestones(draft, set, indexes);
}

/** Tests if a part depends on an answer that the user may not know yet. */
export function isAwaiting({ readsAnswer }: TriggeredPart, { element }: Scope): boolean {
  return readsAnswer && element?.isRight === undefined;
}

/** Finds the rules that hold and are within their limits, after others of the round; of each group only the first. */
function findFiringRules(
  draft: StateDraft,
  rules: readonly CompiledRule[],
  scope: Scope,
  others: readonly CompiledRule[],
): readonly CompiledRule[] {
  const firing: CompiledRule[] = [];
  for (const compiled of rules) {
    const { rule, when, limits, hasGlobalLimit, timeFault, readsProfile } = compiled;
    if (isAwaiting(compiled, scope)) continue;
    const { group } = rule;
    if (timeFault !== null && timeFault(draft.happenedAt) !== null) continue;
    if (group !== undefined && firing.some(other => other.rule.group === group)) continue;
    if (readsProfile && !draft.hasProfile) continue;
    if (!when(scope)) continue;
    if (limits.length > 0 && hasReachedLimit(draft, compiled, scope, others)) continue;
    if (hasGlobalLimit && draft.isLimited(rule.id)) continue;
    firing.push(compiled);
  }
  return firing;
}

/** Checks the limits for the user. One for each value leaves no room to an action without a value. */
function hasReachedLimit(
  draft: StateDraft,
  compiled: CompiledRule,
  scope: Scope,
  others: readonly CompiledRule[],
): boolean {
  const pending = others.reduce((count, other) => (other === compiled ? count + 1 : count), 0);
  return compiled.limits.some(({ key, window, max, by }) => {
    const value = by?.(scope);
    return value === null || draft.counterValue(key, window, value) + pending >= max;
  });
}

/** Computes what a rule gives, before any rule of the round applies. */
function given(
  { effects, gifts, factorAt }: CompiledRule,
  scope: Scope,
  at: number,
): Omit<FiringRule, "compiled"> {
  const factor = factorAt === null ? 1 : factorAt(at);
  const amounts = effects.map(effect =>
    effect.type === "metric" ? multiplied(effect.amount(scope), factor) : 0,
  );
  return { amounts, gifts: gifts.length === 0 ? noGifts : giftedRewards(gifts, scope, factor) };
}

interface MissionAdvance {
  readonly compiled: CompiledMission;
  readonly run: string;
  readonly amount: number;
  /** Key of the value that a distinct mission counts. */
  readonly value: string | undefined;
}

/** Finds the missions that an action counts for. Those of one challenge follow each other, so its run is found once. */
function findAdvances(
  draft: StateDraft,
  missions: readonly CompiledMission[],
  scope: Scope,
): readonly MissionAdvance[] {
  const advances: MissionAdvance[] = [];
  let challenge: CompiledChallenge | null = null;
  let run: ChallengeProgress | null = null;
  for (const compiled of missions) {
    if (isAwaiting(compiled, scope) || !compiled.when(scope)) continue;
    const { of, mission } = compiled;
    if (challenge !== of) run = takesAction(draft, of) ? openRun(draft, of) : null;
    challenge = of;
    if (run === null || run.missionsCompleted.includes(mission.id)) continue;
    const value = compiled.by?.(scope);
    if (value !== null) advances.push({ compiled, run: run.run, amount: compiled.amount(scope), value });
  }
  return advances;
}

function findReachedMissions(
  draft: StateDraft,
  missions: readonly CompiledMetricMission[],
): readonly (Pick<CompiledMetricMission, "of" | "mission"> & { readonly run: string })[] {
  return missions.flatMap(({ of, mission, metricId, atLeast, isAtStart }) => {
    const run = draft.metric(metricId) >= atLeast ? openRun(draft, of) : null;
    const isOpen = run !== null && (!isAtStart || draft.challenge(of.challenge.id) === "in_progress");
    return isOpen ? [{ of, mission, run: run.run }] : [];
  });
}

/** A rule that fires, with the amounts of its metric effects by their indexes, and its gifts by the ids of their users. */
interface FiringRule {
  readonly compiled: CompiledRule;
  readonly amounts: readonly number[];
  readonly gifts: ReturnType<typeof giftedRewards>;
}

const noGifts: FiringRule["gifts"] = new Map();

function applyRule(draft: StateDraft, { compiled, amounts, gifts }: FiringRule, scope: Scope): void {
  const { rule, effects, limits } = compiled;
  for (const { key, window, by } of limits) draft.count(key, window, 1, by?.(scope) ?? undefined);
  draft.fired.push(rule.id);
  const transaction = new TransactionBuilder();
  let index = 0;
  for (const effect of effects) {
    const quantity = amounts[index++] ?? 0;
    if (effect.type === "metric") giveCapped(draft, effect, { quantity, transaction });
    else if (effect.type === "inventory") {
      draft.receiveItem(effect.inventorySetId, effect.inventoryItemId, transaction);
    } else if (effect.type === "inventoryLoss") {
      draft.loseItem(effect.inventorySetId, effect.inventoryItemId, transaction);
    }
  }
  draft.record(transaction.build("actionRewarded"));
  for (const effect of effects) if (draft.hasRoom()) applySeparateEffect(draft, effect);
  for (const [userId, rewards] of gifts) {
    if (draft.hasRoom()) draft.give({ ruleId: rule.id, userId, rewards });
  }
}

/** Gives the part of an amount for which every cap has room. */
function giveCapped(
  draft: StateDraft,
  { metricId, caps }: Extract<CompiledEffect, { readonly type: "metric" }>,
  { quantity, transaction }: MetricAddition,
): void {
  const room = caps.map(({ key, window, max }) => Math.max(0, max - draft.counterValue(key, window)));
  const given = giveMetric(draft, metricId, { quantity: Math.min(quantity, ...room), transaction });
  if (given > 0) for (const { key, window } of caps) draft.count(key, window, given);
}

/** Applies an effect that has a transaction of its own. */
function applySeparateEffect(draft: StateDraft, effect: CompiledEffect): void {
  switch (effect.type) {
    case "coupon":
      giveCoupon(draft, effect.couponId);
      break;
    case "notification":
      draft.notify({
        type: "custom",
        ...effect.notification,
        payload: new TransactionBuilder().build("actionRewarded").payload,
      });
      break;
    case "challengeStart":
    case "missionCompletion":
    case "challengeCompletion":
    case "challengeFailure":
      applyToChallenge(draft, effect);
  }
}

function applyToChallenge(
  draft: StateDraft,
  effect: Extract<CompiledEffect, { readonly challengeId: string }>,
): void {
  const of = draft.compiled.challenges.get(effect.challengeId);
  if (of === undefined) return;
  if (effect.type === "challengeStart") startChallenge(draft, of);
  if (effect.type === "challengeCompletion") completeChallenge(draft, of);
  if (effect.type === "challengeFailure") failChallenge(draft, of);
  if (effect.type !== "missionCompletion") return;
  const mission = of.challenge.missions.find(({ id }) => id === effect.missionId);
  if (mission !== undefined) completeMission(draft, of, { mission });
}
