/**
 * What an action would do, and why it would not do what it does not.
 *
 * @module
 */

import type { Failure } from "../../expressions/mod.ts";
import type { CompiledConfig, CompiledMission, CompiledRule } from "../config/compiled.ts";
import type { Scope } from "../config/scope.ts";
import type { ReachedLimit } from "../limits/global_limits.ts";
import type { HistoryRecord, Notification, Transaction } from "../user/history.ts";
import type { UserState } from "../user/state.ts";
import { type Action, applyAction } from "./apply_action.ts";
import { openRun } from "./challenges.ts";
import { StateDraft } from "./draft.ts";
import type { Diagnostic } from "./outcome.ts";
import type { RuleRound } from "./rounds.ts";
import { advanceTime } from "./settle.ts";

/** Whether a rule would fire, and what keeps it from that. */
export interface DryRunRule {
  readonly ruleId: string;
  readonly fired: boolean;
  readonly failures: readonly Failure[];
}

/** Whether an action would count for a mission, and what keeps it from that. */
export interface DryRunMission {
  readonly challengeId: string;
  readonly missionId: string;
  readonly advanced: boolean;
  readonly completed: boolean;
  readonly failures: readonly Failure[];
}

/** A challenge whose status would change. */
export interface DryRunChallenge {
  readonly challengeId: string;
  readonly before: string;
  readonly after: string;
}

/** What an action would do. */
export interface DryRun {
  /** What time alone would do before. */
  readonly settled: readonly HistoryRecord[];
  readonly effects: readonly Transaction[];
  /** The rules that the action triggers, in their order, then those that its changes trigger, each once. */
  readonly rules: readonly DryRunRule[];
  readonly missions: readonly DryRunMission[];
  readonly challenges: readonly DryRunChallenge[];
  readonly notifications: readonly Notification[];
  readonly diagnostics: readonly Diagnostic[];
  /** What the user would have. */
  readonly state: UserState;
}

/** What keeps rules from firing besides the user. */
export interface DryRunContext {
  /** Limits for all users together that have no room, by the ids of their rules. @default none */
  readonly reached?: ReachedLimits;
}

type ReachedLimits = ReadonlyMap<string, readonly ReachedLimit[]>;

/** Tries an action out. Nothing changes. */
export function dryRun(
  compiled: CompiledConfig,
  state: UserState,
  action: Action,
  { reached = new Map() }: DryRunContext = {},
): DryRun {
  const at = Math.max(action.at, state.changedAt);
  const settled = advanceTime(compiled, state, at);
  const globalLimitReached = (ruleId: string): boolean => reached.has(ruleId);
  const rules = new Map<string, DryRunRule>();
  const onLook = (look: RuleRound): void => {
    for (const found of ruleFindings(look, reached)) {
      // Of a rule that is looked at in several rounds the one in which it fires tells, or else the last.
      if (rules.get(found.ruleId)?.fired !== true) rules.set(found.ruleId, found);
    }
  };
  const outcome = applyAction(
    compiled,
    settled.state,
    { ...action, at },
    { globalLimitReached, onRound: onLook },
  );
  return {
    settled: settled.records,
    effects: outcome.record.transactions,
    rules: [...rules.values()],
    missions: missionFindings(new StateDraft(compiled, settled.state, at), action, outcome.state),
    challenges: challengeFindings(settled.state, outcome.state),
    notifications: outcome.notifications,
    diagnostics: outcome.diagnostics,
    state: outcome.state,
  };
}

function ruleFindings(look: RuleRound, reached: ReachedLimits): readonly DryRunRule[] {
  return look.rules.map(compiled => {
    const fired = look.firing.includes(compiled);
    return {
      ruleId: compiled.rule.id,
      fired,
      failures: fired ? [] : ruleFailures(compiled, look, reached),
    };
  });
}

function ruleFailures(
  { rule, explain, limits, pointer }: CompiledRule,
  { draft, scope, firing }: RuleRound,
  reached: ReachedLimits,
): readonly Failure[] {
  const failures = [...explain()(scope)];
  for (const { key, window, max, pointer: path } of limits) {
    const actual = draft.counterValue(key, window);
    if (actual >= max)
      failures.push({ path, expected: `fired fewer than ${max} times for the user`, actual });
  }
  for (const { index, max, used: actual } of reached.get(rule.id) ?? []) {
    const path = `${pointer}/limits/${index}`;
    failures.push({ path, expected: `fired fewer than ${max} times for all users`, actual });
  }
  const other = firing.find(({ rule: { group } }) => group !== undefined && group === rule.group);
  if (failures.length > 0 || other === undefined) return failures;
  return [
    { path: `${pointer}/group`, expected: "no earlier rule of the group that fires", actual: other.rule.id },
  ];
}

function missionFindings(
  draft: StateDraft,
  { name, data }: Action,
  after: UserState,
): readonly DryRunMission[] {
  const plan = draft.compiled.actions.get(name);
  if (plan === undefined) return [];
  const scope: Scope = { data, user: draft };
  draft.countAction(plan.aggregates, scope);
  return plan.missions.map(compiled => missionFinding(draft, compiled, { scope, after }));
}

function missionFinding(
  draft: StateDraft,
  compiled: CompiledMission,
  { scope, after }: { readonly scope: Scope; readonly after: UserState },
): DryRunMission {
  const { of, mission, explain, pointer } = compiled;
  const { id } = of.challenge;
  const run = openRun(draft, of);
  const failures: Failure[] = [...explain()(scope)];
  if (run === null) {
    const path = pointer.split("/").slice(0, 3).join("/");
    failures.push({ path, expected: "a challenge that runs or may start", actual: draft.challenge(id) });
  }
  const wasDone = run?.missionsCompleted.includes(mission.id) === true;
  if (wasDone)
    failures.push({ path: pointer, expected: "a mission that is not completed", actual: "completed" });
  const isDone = after.challenges[id]?.missionsCompleted.includes(mission.id) === true;
  return {
    challengeId: id,
    missionId: mission.id,
    advanced: failures.length === 0,
    completed: failures.length === 0 && isDone,
    failures,
  };
}

function challengeFindings(before: UserState, after: UserState): readonly DryRunChallenge[] {
  if (before.challenges === after.challenges) return [];
  return Object.entries(after.challenges).flatMap(([challengeId, { status, run }]) => {
    const old = before.challenges[challengeId];
    if (old?.status === status && old.run === run) return [];
    return [{ challengeId, before: old?.status ?? "none", after: status }];
  });
}
