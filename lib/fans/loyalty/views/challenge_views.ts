/**
 * Challenges as a user sees them, with progress and deadlines.
 *
 * @module
 */

import type { CompiledChallenge, CompiledConfig } from "../config/compiled.ts";
import type { Challenge, Mission } from "../config/document.ts";
import { ownValue } from "../config/scope.ts";
import type { ChallengeProgress, UserState } from "../user/state.ts";

/** Status of a user's challenge. */
export type ChallengeStatus = "not_started" | "in_progress" | "completed" | "failed";

/** Progress; `percent` is a whole number from 0 to 100. */
export interface ProgressView {
  readonly current: number;
  readonly target: number;
  readonly percent: number;
}

/** A challenge as a user sees it; times in Unix ms. */
export interface ChallengeView {
  readonly challenge: Challenge;
  readonly status: ChallengeStatus;
  /** Missions completed, of all; the percentage includes progress within missions. */
  readonly progress: ProgressView;
  readonly missions: readonly {
    readonly mission: Mission;
    readonly status: "not_started" | "in_progress" | "completed";
    readonly progress: ProgressView;
  }[];
  /** Earliest start; null: none. */
  readonly startsAt: number | null;
  /** Deadline of the run, or of beginning one, exclusive; null: none. */
  readonly endsAt: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly failedAt: number | null;
  /** The calendar period that the run belongs to; null where the challenge has none, or no run. */
  readonly period: string | null;
}

/** Lists the challenges that a user has begun or may begin at `at` (Unix ms), for a state that is advanced to it. */
export function challengeViews(
  compiled: CompiledConfig,
  state: UserState,
  at: number,
): readonly ChallengeView[] {
  return [...compiled.challenges.values()].flatMap(of => {
    const progress = ownValue(state.challenges, of.challenge.id);
    const hasRun = progress !== undefined && progress.status !== "none";
    return hasRun || at < of.to ? [challengeView(compiled, state, of, progress)] : [];
  });
}

/** Lists the challenges that are in progress and shown in profiles. */
export function activeChallenges(compiled: CompiledConfig, state: UserState): readonly ChallengeView[] {
  return Object.entries(state.challenges).flatMap(([id, progress]) => {
    const of = progress.status === "in_progress" ? compiled.challenges.get(id) : undefined;
    return of?.challenge.showInProfile === true ? [challengeView(compiled, state, of, progress)] : [];
  });
}

function challengeView(
  compiled: CompiledConfig,
  state: UserState,
  { challenge, from, to }: CompiledChallenge,
  progress: ChallengeProgress | undefined,
): ChallengeView {
  const run = progress?.status === "none" ? undefined : progress;
  const status = run === undefined || run.status === "none" ? "not_started" : run.status;
  const missions = challenge.missions.map(mission => missionView(compiled, state, mission, run));
  const completed = missions.filter(mission => mission.status === "completed").length;
  const parts = missions.reduce((sum, mission) => sum + mission.progress.percent, 0);
  const isDone = status === "completed";
  const [current, percent] = isDone
    ? [missions.length, 100]
    : [completed, Math.floor(parts / missions.length)];
  return {
    challenge,
    status,
    progress: { current, target: missions.length, percent },
    missions,
    startsAt: challenge.time.from === 0 ? null : from,
    endsAt: status === "in_progress" ? (run?.endsAt ?? null) : Number.isFinite(to) ? to : null,
    startedAt: run?.startedAt ?? null,
    completedAt: isDone ? (run?.endedAt ?? null) : null,
    failedAt: status === "failed" ? (run?.endedAt ?? null) : null,
    period: challenge.period === undefined ? null : (run?.run ?? null),
  };
}

function missionView(
  compiled: CompiledConfig,
  state: UserState,
  mission: Mission,
  run: ChallengeProgress | undefined,
): ChallengeView["missions"][number] {
  const { rule } = mission;
  const target = "metric" in rule ? rule.atLeast : rule.count;
  const reached =
    "metric" in rule
      ? (ownValue(state.metrics, rule.metric) ?? compiled.metrics.get(rule.metric)?.defaultValue ?? 0)
      : (ownValue(run?.counts ?? {}, mission.id) ?? 0);
  const isCompleted = run?.missionsCompleted.includes(mission.id) ?? false;
  const current = isCompleted ? target : Math.min(Math.max(reached, 0), Math.max(target, 0));
  const percent = isCompleted ? 100 : target > 0 ? Math.min(99, Math.floor((100 * current) / target)) : 0;
  const status = isCompleted ? "completed" : run !== undefined && current > 0 ? "in_progress" : "not_started";
  return { mission, status, progress: { current, target, percent } };
}
