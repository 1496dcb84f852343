/**
 * Dry runs: the effects that an action would have, and the reasons of those that it would not have.
 *
 * @module
 */

import { isoTime } from "../../../base/calendar/mod.ts";
import type { Failure } from "../../../base/expressions/mod.ts";
import type { CompiledConfig, CompiledMission, CompiledRule } from "../config/compiled.ts";
import type { Scope } from "../config/scope.ts";
import type { ReachedLimit } from "../limits/global_limits.ts";
import type { HistoryRecord } from "../user/history.ts";
import type { UserState } from "../user/state.ts";
import { advanceTime } from "./advance_time.ts";
import { type Action, applyAction, type EventOptions } from "./apply_events.ts";
import { openRun } from "./challenges.ts";
import { type Outcome, StateDraft } from "./draft.ts";
import { isAwaiting, type RuleRound } from "./rounds.ts";

/** The effects that an action would have. */
export interface DryRun extends Pick<Outcome, "state" | "notifications" | "diagnostics"> {
  /** The effects of time before the action. */
  readonly settled: readonly HistoryRecord[];
  readonly effects: HistoryRecord["transactions"];
  /** Each rule once: those that the action triggers in their order, then those that its changes trigger. */
  readonly rules: readonly {
    readonly ruleId: string;
    readonly fired: boolean;
    readonly failures: readonly Failure[];
  }[];
  readonly missions: readonly {
    readonly challengeId: string;
    readonly missionId: string;
    readonly advanced: boolean;
    readonly completed: boolean;
    readonly failures: readonly Failure[];
  }[];
  /** The challenges whose status would change. */
  readonly challenges: readonly {
    readonly challengeId: string;
    readonly before: string;
    readonly after: string;
  }[];
}

type ReachedLimits = ReadonlyMap<string, readonly ReachedLimit[]>;

interface DryRunOptions extends Pick<EventOptions, "profile"> {
  /** The global limits without room, by the ids of their rules. @default none */
  readonly reached?: ReachedLimits;
}

/** Tries an action. Nothing changes. */
export function dryRun(
  compiled: CompiledConfig,
  state: UserState,
  action: Action,
  { reached = new Map(), profile }: DryRunOptions = {},
): DryRun {
  const at = Math.max(action.at, state.changedAt);
  const settled = advanceTime(compiled, state, at);
  const rules = new Map<string, DryRun["rules"][number]>();
  const outcome = applyAction(
    compiled,
    settled.state,
    { ...action, at },
    {
      profile,
      globalLimitReached: ruleId => reached.has(ruleId),
      onRound: round => {
        for (const rule of dryRunRules(round, reached)) {
          // Of several rounds the one in which the rule fires counts, or else the last.
          if (rules.get(rule.ruleId)?.fired !== true) rules.set(rule.ruleId, rule);
        }
      },
    },
  );
  return {
    settled: settled.records,
    effects: outcome.record.transactions,
    rules: [...rules.values()],
    missions: dryRunMissions(new StateDraft(compiled, settled.state, at, { profile }), action, outcome.state),
    challenges: changedChallenges(settled.state, outcome.state),
    notifications: outcome.notifications,
    diagnostics: outcome.diagnostics,
    state: outcome.state,
  };
}

function dryRunRules(round: RuleRound, reached: ReachedLimits): DryRun["rules"] {
  return round.rules.map(compiled => {
    const fired = round.firing.includes(compiled);
    return {
      ruleId: compiled.rule.id,
      fired,
      failures: fired ? [] : ruleFailures(compiled, round, reached),
    };
  });
}

function ruleFailures(
  compiled: CompiledRule,
  { draft, scope, firing }: RuleRound,
  reached: ReachedLimits,
): readonly Failure[] {
  const { rule, explain, limits, pointer, timeFault } = compiled;
  const failures = [...explain()(scope)];
  if (isAwaiting(compiled, scope)) {
    failures.push({ path: pointer, expected: "an element whose answer the user knows", actual: null });
  }
  const outside = timeFault?.(draft.happenedAt) ?? null;
  if (outside !== null) {
    const { member, expected } = outside;
    failures.push({ path: `${pointer}/${member}`, expected, actual: isoTime(draft.happenedAt) });
  }
  for (const { key, window, max, pointer: path, by } of limits) {
    const value = by?.(scope);
    if (value === null)
      failures.push({ path: `${path}/by`, expected: "an action with this value", actual: null });
    const actual = value === null ? 0 : draft.counterValue(key, window, value);
    if (actual < max) continue;
    const whom = by === undefined ? "for the user" : "for the user and this value";
    failures.push({ path, expected: `fired fewer than ${max} times ${whom}`, actual });
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

function dryRunMissions(draft: StateDraft, { name, data }: Action, after: UserState): DryRun["missions"] {
  const plan = draft.compiled.actions.get(name);
  if (plan === undefined) return [];
  const scope: Scope = { data, user: draft };
  draft.countAction(plan.aggregates, scope);
  return plan.missions.map(compiled => dryRunMission(draft, compiled, { scope, after }));
}

function dryRunMission(
  draft: StateDraft,
  compiled: CompiledMission,
  { scope, after }: { readonly scope: Scope; readonly after: UserState },
): DryRun["missions"][number] {
  const { of, mission, explain, pointer } = compiled;
  const { id } = of.challenge;
  const run = openRun(draft, of);
  const failures: Failure[] = [...explain()(scope)];
  if (run === null) {
    const path = pointer.split("/").slice(0, 3).join("/");
    failures.push({ path, expected: "a challenge that runs or may start", actual: draft.challenge(id) });
  }
  if (run?.missionsCompleted.includes(mission.id) === true) {
    failures.push({ path: pointer, expected: "a mission that is not completed", actual: "completed" });
  }
  const isCompleted = after.challenges[id]?.missionsCompleted.includes(mission.id) === true;
  return {
    challengeId: id,
    missionId: mission.id,
    advanced: failures.length === 0,
    completed: failures.length === 0 && isCompleted,
    failures,
  };
}

function changedChallenges(before: UserState, after: UserState): DryRun["challenges"] {
  if (before.challenges === after.challenges) return [];
  return Object.entries(after.challenges).flatMap(([challengeId, { status, run }]) => {
    const old = before.challenges[challengeId];
    if (old?.status === status && old.run === run) return [];
    return [{ challengeId, before: old?.status ?? "none", after: status }];
  });
}
