/**
 * Rounds: what a trigger causes, and what that causes in turn.
 *
 * Everything that a round may do is decided against the state before it. Then it applies in this order: rules by priority
 * and id, failures of challenges, missions, milestoneSets. The changes that were made trigger the next round.
 *
 * @module
 */

import type {
  CompiledChallenge,
  CompiledFailure,
  CompiledMetricMission,
  CompiledMilestoneSet,
  CompiledMission,
  CompiledRule,
  TriggerPlan,
} from "../config/compiled.ts";
import { compareRules } from "../config/compiled.ts";
import type { Milestone } from "../config/document.ts";
import type { Scope } from "../config/scope.ts";
import type { ChallengeProgress } from "../user/state.ts";
import { advanceMission, completeMission, failChallenge, openRun } from "./challenges.ts";
import { TransactionBuilder } from "./change.ts";
import type { StateDraft } from "./draft.ts";
import { applyLater, applyNow } from "./effects.ts";
import { giveRewards } from "./give.ts";

/** Most rounds that the changes of one happening may trigger. */
export const roundsMax = 8;

/** Tells whether a rule has reached its limit for all users together. */
export type GlobalLimitReached = (ruleId: string) => boolean;

/** The rules that a round looks at, and those of them that fire. */
export interface RuleRound {
  /** As it is before the round. */
  readonly draft: StateDraft;
  readonly scope: Scope;
  readonly rules: readonly CompiledRule[];
  readonly firing: readonly CompiledRule[];
}

/** How rounds are run. */
export interface RoundOptions {
  /** Told of each round with rules before it applies. @default nobody */
  readonly onRound?: ((look: RuleRound) => void) | undefined;
}

/** Does what a plan says, and then what the changes trigger. */
export function runRounds(draft: StateDraft, plan: TriggerPlan, context: RoundContext): void {
  runRound(draft, plan, context);
  runTriggered(draft, context.isLimited, context);
}

/** Does what the changes of a draft trigger, round by round. */
export function runTriggered(
  draft: StateDraft,
  isLimited: GlobalLimitReached,
  { onRound: onLook }: RoundOptions = {},
): void {
  const scope: Scope = { data: {}, user: draft };
  for (let round = 0; ; round++) {
    const triggers = draft.takeTriggered();
    if (triggers.length === 0 || !draft.hasRoom()) return;
    if (round === roundsMax) {
      draft.diagnostics.push({ type: "roundsExhausted", triggers });
      return;
    }
    runRound(draft, planOf(draft, triggers), { scope, isLimited, onRound: onLook });
  }
}

/** What a round works with. */
export interface RoundContext extends RoundOptions {
  readonly scope: Scope;
  readonly isLimited: GlobalLimitReached;
}

/** The rules that fire: of those that hold and are within their limits, of each group the first. */
function firingRules(
  draft: StateDraft,
  rules: readonly CompiledRule[],
  { scope, isLimited }: Pick<RoundContext, "scope" | "isLimited">,
): readonly CompiledRule[] {
  const firing: CompiledRule[] = [];
  for (const compiled of rules) {
    const { rule, when, limits, hasGlobalLimit } = compiled;
    const { group } = rule;
    if (group !== undefined && firing.some(other => other.rule.group === group)) continue;
    if (!when(scope)) continue;
    if (limits.some(({ key, window, max }) => draft.counterValue(key, window) >= max)) continue;
    if (hasGlobalLimit && isLimited(rule.id)) continue;
    firing.push(compiled);
  }
  return firing;
}

function runRound(draft: StateDraft, plan: TriggerPlan, context: RoundContext): void {
  const { scope, onRound: onLook } = context;
  const { rules } = plan;
  const firing = rules.length === 0 ? [] : firingRules(draft, rules, context);
  if (onLook !== undefined && rules.length > 0) onLook({ draft, scope, rules, firing });
  const fired = firing.map(compiled => ({ compiled, amounts: amountsOf(compiled, scope) }));
  // Most actions cause nothing but what rules do, and need not look for anything else.
  const rest = hasOnlyRules(plan) ? null : decideRest(draft, plan, context);

  for (const each of fired) if (draft.hasRoom()) applyRule(draft, each);
  if (rest !== null) applyRest(draft, rest);
}

function hasOnlyRules({ failures, missions, metricMissions, milestoneSets }: TriggerPlan): boolean {
  return failures.length + missions.length + metricMissions.length + milestoneSets.length === 0;
}

/** What a round does to challenges and milestoneSets. */
interface Rest {
  readonly failing: readonly CompiledFailure[];
  readonly advancing: readonly Advance[];
  readonly reached: ReturnType<typeof reachedMissions>;
  readonly climbed: readonly { readonly ladder: CompiledMilestoneSet; readonly rungs: readonly number[] }[];
}

function decideRest(draft: StateDraft, plan: TriggerPlan, { scope }: RoundContext): Rest {
  return {
    failing: plan.failures.filter(({ of, when }) => when(scope) && openRun(draft, of) !== null),
    advancing: advancedMissions(draft, plan.missions, scope),
    reached: reachedMissions(draft, plan.metricMissions),
    climbed: plan.milestoneSets.map(ladder => ({ ladder, rungs: rungsReached(draft, ladder) })),
  };
}

function applyRest(draft: StateDraft, { failing, advancing, reached, climbed }: Rest): void {
  for (const { of } of failing) if (draft.hasRoom()) failChallenge(draft, of);
  for (const { compiled, run, amount } of advancing) {
    if (!draft.hasRoom()) break;
    const { of, mission, count } = compiled;
    advanceMission(draft, of, { mission, run, amount, needed: count });
  }
  for (const { of, mission, run } of reached) {
    if (draft.hasRoom()) completeMission(draft, of, { mission, run });
  }
  for (const { ladder, rungs } of climbed) climb(draft, ladder, rungs);
}

interface Advance {
  readonly compiled: CompiledMission;
  readonly run: string;
  readonly amount: number;
}

/** The missions that an action counts for. Those of one challenge follow each other, so its run is found once. */
function advancedMissions(
  draft: StateDraft,
  missions: readonly CompiledMission[],
  scope: Scope,
): readonly Advance[] {
  const advances: Advance[] = [];
  let met: CompiledChallenge | null = null;
  let run: ChallengeProgress | null = null;
  for (const compiled of missions) {
    if (!compiled.when(scope)) continue;
    const { of, mission } = compiled;
    if (met !== of) run = openRun(draft, of);
    met = of;
    if (run === null || run.missionsCompleted.includes(mission.id)) continue;
    advances.push({ compiled, run: run.run, amount: compiled.amount(scope) });
  }
  return advances;
}

function reachedMissions(
  draft: StateDraft,
  missions: readonly CompiledMetricMission[],
): readonly (Pick<CompiledMetricMission, "of" | "mission"> & { readonly run: string })[] {
  return missions.flatMap(({ of, mission, metricId, atLeast, isAtStart }) => {
    const run = draft.metric(metricId) >= atLeast ? openRun(draft, of) : null;
    const isOpen = run !== null && (!isAtStart || draft.challenge(of.challenge.id) === "in_progress");
    return isOpen ? [{ of, mission, run: run.run }] : [];
  });
}

interface Firing {
  readonly compiled: CompiledRule;
  /** What each metric effect comes to, by the place of the effect. */
  readonly amounts: readonly number[];
}

function amountsOf({ effects }: CompiledRule, scope: Scope): readonly number[] {
  return effects.map(effect => (effect.type === "metric" ? effect.amount(scope) : 0));
}

function applyRule(draft: StateDraft, { compiled, amounts }: Firing): void {
  const { rule, effects, limits } = compiled;
  for (const { key, window } of limits) draft.count(key, window, 1);
  draft.fired.push(rule.id);
  const change = new TransactionBuilder();
  effects.forEach((effect, index) => {
    applyNow(draft, effect, { amount: amounts[index] ?? 0, change });
  });
  draft.record(change.transaction("actionRewarded"));
  for (const effect of effects) if (draft.hasRoom()) applyLater(draft, effect);
}

/** The places of the rungs that were not reached before. */
function rungsReached(draft: StateDraft, { set }: CompiledMilestoneSet): readonly number[] {
  const value = draft.metric(set.metricId);
  const highest = draft.milestones.get(set.id)?.threshold ?? Number.NEGATIVE_INFINITY;
  const isReached = ({ threshold }: Milestone): boolean => threshold > highest && threshold <= value;
  return set.milestones.flatMap((rung, index) => (isReached(rung) ? [index] : []));
}

function climb(draft: StateDraft, { set, rewards }: CompiledMilestoneSet, rungs: readonly number[]): void {
  for (const index of rungs) {
    const rung = set.milestones[index];
    if (rung === undefined || !draft.hasRoom()) continue;
    const change = new TransactionBuilder();
    change.milestone(set.id, draft.milestone(set.id), rung.id);
    draft.milestones.set(set.id, { milestoneId: rung.id, threshold: rung.threshold });
    const { notification } = rung;
    giveRewards(draft, rewards[index] ?? [], { type: "milestoneReached", subject: {}, notification, change });
    draft.trigger("milestoneReached", set.id);
  }
}

function planOf({ compiled }: StateDraft, triggers: readonly string[]): TriggerPlan {
  const plans = triggers.flatMap(key => compiled.triggers.get(key) ?? []);
  const [only, ...others] = plans;
  if (only !== undefined && others.length === 0) return only;
  return {
    rules: plans.flatMap(({ rules }) => rules).sort(compareRules),
    failures: [],
    missions: [],
    metricMissions: plans.flatMap(({ metricMissions }) => metricMissions),
    milestoneSets: plans.flatMap(({ milestoneSets }) => milestoneSets),
  };
}
