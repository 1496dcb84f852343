/**
 * Rounds of evaluation: the effects of a trigger, and of the changes that these make.
 *
 * A round decides everything against the state before it. Then it applies rules by priority and id, failures of challenges,
 * missions, and milestones, in this order. The changes trigger the next round, in which rules fire once for each change.
 *
 * The points and items of a rule are one transaction. The coupons, notifications and challenges after it have transactions of
 * their own.
 */

import { addDuration, periodOf } from "../../../base/calendar/mod.ts";
import { addBounded } from "../../../base/text/mod.ts";
import { giftedRewards } from "../config/compile_parts.ts";
import {
  type CompiledChallenge,
  type CompiledEffect,
  type CompiledMetricMission,
  type CompiledMission,
  type CompiledRule,
  compareRules,
  multiplied,
  ownValue,
  type Scope,
  type TriggeredPart,
  type TriggerPlan,
} from "../config/compiled.ts";
import type { Mission } from "../config/document.ts";
import type { ChallengeProgress } from "../user/state.ts";
import { type NextState, TransactionBuilder } from "./next_state.ts";
import {
  findReachedMilestones,
  giveCoupon,
  giveMetric,
  giveRewards,
  type MetricAddition,
  reachMilestones,
} from "./rewards.ts";

/** One change triggers this many rounds at most. */
const roundsMax = 8;

export interface RuleRound {
  /** As it is before the round. */
  readonly next: NextState;
  readonly scope: Scope;
  readonly rules: readonly CompiledRule[];
  readonly firing: readonly CompiledRule[];
}

/** Receives each round with rules before it applies. */
export type OnRound = (round: RuleRound) => void;

export function runTriggered(next: NextState, onRound?: OnRound): void {
  for (let round = 0; ; round++) {
    const triggers = next.takeTriggers();
    if (triggers.size === 0 || !next.hasRoom()) return;
    if (round === roundsMax) {
      next.diagnostics.push({ type: "roundsExhausted", triggers: [...triggers.keys()] });
      return;
    }
    const plans = plansOf(next, triggers);
    const passes = passesOf(plans);
    runRound(next, { ...joined(plans), rules: passes[0] ?? [] }, { data: {}, user: next }, onRound, passes);
  }
}

/** The plan of a trigger, and the number of times that it happened. */
type TriggeredPlan = readonly [plan: TriggerPlan, times: number];

function plansOf({ compiled }: NextState, triggers: ReadonlyMap<string, number>): readonly TriggeredPlan[] {
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
export function runRound(
  next: NextState,
  plan: TriggerPlan,
  scope: Scope,
  onRound?: OnRound,
  passes: readonly (readonly CompiledRule[])[] = [plan.rules],
): void {
  const { rules, failures, missions, metricMissions, milestoneSets } = plan;
  const firing: CompiledRule[] = [];
  for (const pass of passes) firing.push(...findFiringRules(next, pass, scope, firing));
  if (rules.length > 0) onRound?.({ next, scope, rules, firing });
  const applied = firing.map(compiled => given(compiled, scope, next.happenedAt));
  const failing = failures.filter(
    failure =>
      !isAwaiting(failure, scope) &&
      failure.when(scope) &&
      takesAction(next, failure.of) &&
      openRun(next, failure.of) !== null,
  );
  const advances = findAdvances(next, missions, scope);
  const reachedMissions = findReachedMissions(next, metricMissions);
  const reachedMilestones = milestoneSets.map(set => ({ set, indexes: findReachedMilestones(next, set) }));

  for (const rule of applied) if (next.hasRoom()) applyRule(next, rule, scope);
  for (const { of } of failing) if (next.hasRoom()) failChallenge(next, of);
  for (const { compiled, run, amount, value } of advances) {
    if (!next.hasRoom()) break;
    const { of, mission, count } = compiled;
    advanceMission(next, of, { mission, run, amount, needed: count, value });
  }
  for (const { of, mission, run } of reachedMissions) {
    if (next.hasRoom()) completeMission(next, of, { mission, run });
  }
  for (const { set, indexes } of reachedMilestones) reachMilestones(next, set, indexes);
}

/** Tests if a part depends on an answer that the user may not know yet. */
export function isAwaiting({ readsAnswer }: TriggeredPart, { element }: Scope): boolean {
  return readsAnswer && element?.isRight === undefined;
}

/** Finds the rules that hold and are within their limits, after others of the round; of each group only the first. */
function findFiringRules(
  next: NextState,
  rules: readonly CompiledRule[],
  scope: Scope,
  others: readonly CompiledRule[],
): readonly CompiledRule[] {
  const firing: CompiledRule[] = [];
  for (const compiled of rules) {
    const { rule, when, limits, hasGlobalLimit, timeFault, readsProfile } = compiled;
    if (isAwaiting(compiled, scope)) continue;
    const { group } = rule;
    if (timeFault !== null && timeFault(next.happenedAt) !== null) continue;
    if (group !== undefined && firing.some(other => other.rule.group === group)) continue;
    if (readsProfile && !next.hasProfile) continue;
    if (!when(scope)) continue;
    if (limits.length > 0 && hasReachedLimit(next, compiled, scope, others)) continue;
    if (hasGlobalLimit && next.isLimited(rule.id)) continue;
    firing.push(compiled);
  }
  return firing;
}

/** Checks the limits for the user. One for each value leaves no room to an action without a value. */
function hasReachedLimit(
  next: NextState,
  compiled: CompiledRule,
  scope: Scope,
  others: readonly CompiledRule[],
): boolean {
  const pending = others.reduce((count, other) => (other === compiled ? count + 1 : count), 0);
  return compiled.limits.some(({ key, window, max, by }) => {
    const value = by?.(scope);
    return value === null || next.counterValue(key, window, value) + pending >= max;
  });
}

/** Computes what a rule gives, before any rule of the round applies. */
function given(compiled: CompiledRule, scope: Scope, at: number): FiringRule {
  const { effects, gifts, factorAt } = compiled;
  const factor = factorAt === null ? 1 : factorAt(at);
  const amounts = effects.map(effect =>
    effect.type === "metric" ? multiplied(effect.amount(scope), factor) : 0,
  );
  return { compiled, amounts, gifts: gifts.length === 0 ? noGifts : giftedRewards(gifts, scope, factor) };
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
  next: NextState,
  missions: readonly CompiledMission[],
  scope: Scope,
): readonly MissionAdvance[] {
  const advances: MissionAdvance[] = [];
  let challenge: CompiledChallenge | null = null;
  let run: ChallengeProgress | null = null;
  for (const compiled of missions) {
    if (isAwaiting(compiled, scope) || !compiled.when(scope)) continue;
    const { of, mission } = compiled;
    if (challenge !== of) run = takesAction(next, of) ? openRun(next, of) : null;
    challenge = of;
    if (run === null || run.missionsCompleted.includes(mission.id)) continue;
    const value = compiled.by?.(scope);
    if (value !== null) advances.push({ compiled, run: run.run, amount: compiled.amount(scope), value });
  }
  return advances;
}

function findReachedMissions(
  next: NextState,
  missions: readonly CompiledMetricMission[],
): readonly (Pick<CompiledMetricMission, "of" | "mission"> & { readonly run: string })[] {
  return missions.flatMap(({ of, mission, metricId, atLeast, isAtStart }) => {
    const run = next.metric(metricId) >= atLeast ? openRun(next, of) : null;
    const isOpen = run !== null && (!isAtStart || next.challenge(of.challenge.id) === "in_progress");
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

function applyRule(next: NextState, { compiled, amounts, gifts }: FiringRule, scope: Scope): void {
  const { rule, effects, limits } = compiled;
  for (const { key, window, by } of limits) next.count(key, window, 1, by?.(scope) ?? undefined);
  next.fired.push(rule.id);
  const transaction = new TransactionBuilder();
  let index = 0;
  for (const effect of effects) {
    const quantity = amounts[index++] ?? 0;
    if (effect.type === "metric") giveCapped(next, effect, { quantity, transaction });
    else if (effect.type === "inventory") {
      next.receiveItem(effect.inventorySetId, effect.inventoryItemId, transaction);
    } else if (effect.type === "inventoryLoss") {
      next.loseItem(effect.inventorySetId, effect.inventoryItemId, transaction);
    }
  }
  next.record(transaction.build("actionRewarded"));
  for (const effect of effects) if (next.hasRoom()) applySeparateEffect(next, effect);
  for (const [userId, rewards] of gifts) {
    if (next.hasRoom()) next.give({ ruleId: rule.id, userId, rewards });
  }
}

/** Gives the part of an amount for which every cap has room. */
function giveCapped(
  next: NextState,
  { metricId, caps }: Extract<CompiledEffect, { readonly type: "metric" }>,
  { quantity, transaction }: MetricAddition,
): void {
  const room = caps.map(({ key, window, max }) => Math.max(0, max - next.counterValue(key, window)));
  const given = giveMetric(next, metricId, { quantity: Math.min(quantity, ...room), transaction });
  if (given > 0) for (const { key, window } of caps) next.count(key, window, given);
}

function applySeparateEffect(next: NextState, effect: CompiledEffect): void {
  switch (effect.type) {
    case "coupon":
      giveCoupon(next, effect.couponId);
      break;
    case "notification":
      next.notify({
        type: "custom",
        ...effect.notification,
        payload: new TransactionBuilder().build("actionRewarded").payload,
      });
      break;
    case "challengeStart":
    case "missionCompletion":
    case "challengeCompletion":
    case "challengeFailure":
      applyToChallenge(next, effect);
  }
}

function applyToChallenge(
  next: NextState,
  effect: Extract<CompiledEffect, { readonly challengeId: string }>,
): void {
  const of = next.compiled.challenges.get(effect.challengeId);
  if (of === undefined) return;
  if (effect.type === "challengeStart") startChallenge(next, of);
  if (effect.type === "challengeCompletion") completeChallenge(next, of);
  if (effect.type === "challengeFailure") failChallenge(next, of);
  if (effect.type !== "missionCompletion") return;
  const mission = of.challenge.missions.find(({ id }) => id === effect.missionId);
  if (mission !== undefined) completeMission(next, of, { mission });
}

/** Returns the run in progress, or the one that would begin where the challenge starts automatically and may start now. */
export function openRun(next: NextState, of: CompiledChallenge): ChallengeProgress | null {
  if (next.at < of.from || next.at >= of.to) return null;
  const stored = next.challengeProgress(of.challenge.id);
  if (stored?.status === "in_progress") return stored;
  return of.challenge.start === "auto" ? nextRun(next, of, stored) : null;
}

/**
 * Checks that an action happened within the time and the running period of a challenge, and not before a rule started it. One that
 * arrives after the end of its period counts for no other.
 */
function takesAction(next: NextState, of: CompiledChallenge): boolean {
  const { at, happenedAt, timeZone } = next;
  if (happenedAt >= at) return true;
  if (happenedAt < of.from || happenedAt >= of.to) return false;
  const { id, start } = of.challenge;
  const { period } = of;
  const startedAt = start === "rule" ? next.challengeProgress(id)?.startedAt : undefined;
  if (startedAt !== undefined && happenedAt < startedAt) return false;
  return (
    period === null ||
    periodOf(period, next.timeZoneAt(happenedAt), happenedAt).id === periodOf(period, timeZone, at).id
  );
}

function startChallenge(next: NextState, of: CompiledChallenge): void {
  const { id } = of.challenge;
  const stored = next.challengeProgress(id);
  if (stored?.status === "in_progress" || next.at < of.from || next.at >= of.to) return;
  const run = nextRun(next, of, stored);
  if (run === null) return;
  store(next, of, run);
  next.record(new TransactionBuilder().build("challengeStarted", { challengeId: id }));
}

/** Adds to the count of a mission in a run, and completes the mission once that is enough. */
function advanceMission(
  next: NextState,
  of: CompiledChallenge,
  step: {
    readonly mission: Mission;
    readonly run: string;
    readonly amount: number;
    readonly needed: number;
    /** Key of a value, which counts once. */
    readonly value: string | undefined;
  },
): void {
  const { mission, run, amount, needed, value } = step;
  const progress = runOf(next, of, run);
  if (progress === null || amount === 0 || progress.missionsCompleted.includes(mission.id)) return;
  const counted = value === undefined ? [] : (ownValue(progress.values ?? {}, mission.id) ?? []);
  if (value !== undefined && counted.includes(value)) return;
  const count = Math.max(0, addBounded(ownValue(progress.counts, mission.id) ?? 0, amount));
  const after = { ...progress, counts: { ...progress.counts, [mission.id]: count } };
  if (value !== undefined) after.values = { ...progress.values, [mission.id]: [...counted, value] };
  store(next, of, after);
  next.advanced.push([missionKey(of.challenge, mission), run, amount]);
  if (count >= needed) completeMission(next, of, { mission, run });
}

/** Returns a short name of a mission: the last digits of both ids. */
export function missionKey(challenge: { readonly id: string }, mission: { readonly id: string }): string {
  return challenge.id.slice(-12) + mission.id.slice(-12);
}

/** Takes back what an action added to a mission while the run is open. A mission without enough is open again. */
export function takeBackProgress(
  next: NextState,
  { challenge }: CompiledChallenge,
  { mission, run, amount, needed, value }: Parameters<typeof advanceMission>[2],
): void {
  const progress = next.challengeProgress(challenge.id);
  if (progress?.run !== run || progress.status !== "in_progress") return;
  const count = Math.max(0, addBounded(ownValue(progress.counts, mission.id) ?? 0, -amount));
  const counted = ownValue(progress.values ?? {}, mission.id) ?? [];
  const left = counted.filter(other => other !== value);
  const after = {
    ...progress,
    counts: { ...progress.counts, [mission.id]: count },
    missionsCompleted: progress.missionsCompleted.filter(id => id !== mission.id || count >= needed),
  };
  if (value !== undefined) after.values = { ...progress.values, [mission.id]: left };
  next.setChallenge(challenge.id, after);
}

/** Completes a mission, and with the last one the challenge. With `run`, only in this run. */
function completeMission(
  next: NextState,
  of: CompiledChallenge,
  { mission, run }: { readonly mission: Mission; readonly run?: string },
): void {
  const progress = run === undefined ? openRun(next, of) : runOf(next, of, run);
  if (progress === null || progress.missionsCompleted.includes(mission.id)) return;
  const { challenge } = of;
  const missionsCompleted = [...progress.missionsCompleted, mission.id];
  store(next, of, { ...progress, missionsCompleted });
  const subject = { challengeId: challenge.id, missionId: mission.id };
  giveRewards(next, [], { type: "missionCompleted", subject, notification: mission.notification });
  if (challenge.missions.every(({ id }) => missionsCompleted.includes(id))) completeChallenge(next, of);
}

function completeChallenge(next: NextState, of: CompiledChallenge): void {
  const progress = openRun(next, of);
  if (progress === null) return;
  const { challenge, rewards } = of;
  const completions = progress.completions + 1;
  store(next, of, ended(next, of, { ...progress, status: "completed", completions }));
  const subject = { challengeId: challenge.id };
  giveRewards(next, rewards, { type: "challengeCompleted", subject, notification: challenge.notification });
  next.trigger("challengeCompleted", challenge.id);
}

/** Fails a challenge that is in progress or may start automatically. */
function failChallenge(next: NextState, of: CompiledChallenge): void {
  const progress = openRun(next, of);
  if (progress !== null) failRun(next, of, progress);
}

export function failRun(next: NextState, of: CompiledChallenge, progress: ChallengeProgress): void {
  store(next, of, ended(next, of, { ...progress, status: "failed" }));
  const { id, failureNotification: notification } = of.challenge;
  giveRewards(next, [], { type: "challengeFailed", subject: { challengeId: id }, notification });
}

/** Returns when a run in progress fails by the current configuration, in Unix ms; null: never. */
export function deadlineOf(
  of: CompiledChallenge,
  { startedAt }: Pick<ChallengeProgress, "startedAt">,
  timeZone: string,
): number | null {
  const { within } = of.challenge;
  const ends = [of.to, renewalOf(of, startedAt, timeZone) ?? Number.POSITIVE_INFINITY];
  if (within !== undefined) ends.push(addDuration(startedAt, within, timeZone));
  const end = Math.min(...ends);
  return end === Number.POSITIVE_INFINITY ? null : end;
}

/** Returns when a run makes room for the next one; null: not by time alone. */
function renewalOf(
  { challenge, period }: CompiledChallenge,
  startedAt: number,
  timeZone: string,
): number | null {
  const { recurrence, within } = challenge;
  if (recurrence !== "onExpiration") return null;
  if (period !== null) return periodOf(period, timeZone, startedAt).endsAt;
  return within === undefined ? null : addDuration(startedAt, within, timeZone);
}

/** Returns the open run if it is the given one: an action counts only for the run that was open when it was evaluated. */
function runOf(next: NextState, of: CompiledChallenge, run: string): ChallengeProgress | null {
  const progress = openRun(next, of);
  return progress?.run === run ? progress : null;
}

function nextRun(
  next: NextState,
  of: CompiledChallenge,
  last: ChallengeProgress | undefined,
): ChallengeProgress | null {
  const { at, timeZone } = next;
  const { recurrence, requires } = of.challenge;
  const isFree =
    last === undefined ||
    last.status === "none" ||
    (last.status === "completed" && recurrence === "onCompletion");
  if (!isFree || requires.some(id => (next.challengeProgress(id)?.completions ?? 0) === 0)) return null;
  const run = of.period === null ? nextNumber(last?.run) : periodOf(of.period, timeZone, at).id;
  // A user who travelled west sees a day again that is over.
  if (of.period !== null && last !== undefined && isNotLater(run, last.run)) return null;
  return {
    status: "in_progress",
    run,
    startedAt: at,
    endsAt: deadlineOf(of, { startedAt: at }, timeZone),
    endedAt: null,
    counts: {},
    missionsCompleted: [],
    completions: last?.completions ?? 0,
  };
}

/** Checks whether a period is not later than another one of its unit. */
function isNotLater(id: string, last: string): boolean {
  const shape = (text: string): string => text.replaceAll(/\d/g, "0");
  return shape(id) === shape(last) && id <= last;
}

/** Numbers begin at 1, also after runs that were named after a period. */
function nextNumber(last = "0"): string {
  return String((/^\d{1,15}$/.test(last) ? Number(last) : 0) + 1);
}

function ended(
  { at, timeZone }: NextState,
  of: CompiledChallenge,
  { values: _, ...progress }: ChallengeProgress,
): ChallengeProgress {
  return { ...progress, endedAt: at, endsAt: renewalOf(of, progress.startedAt, timeZone) };
}

function store(next: NextState, { challenge }: CompiledChallenge, progress: ChallengeProgress): void {
  const before = next.challengeProgress(challenge.id);
  const isNewRun = before === undefined || before.run !== progress.run;
  next.setChallenge(challenge.id, progress);
  next.scheduleDue(progress.endsAt);
  if (isNewRun) next.trigger("challengeStarted", challenge.id);
}
