/**
 * The life of a challenge: in progress, then completed or failed, exactly once in each of its runs.
 *
 * @module
 */

import { addDuration, periodOf } from "../../calendar/mod.ts";
import type { CompiledChallenge } from "../config/compiled.ts";
import type { Mission } from "../config/document.ts";
import { ownValue } from "../config/own_property.ts";
import type { ChallengeProgress } from "../user/state.ts";
import { TransactionBuilder } from "./change.ts";
import { countedMax } from "./counters.ts";
import type { StateDraft } from "./draft.ts";
import { giveRewards } from "./give.ts";

/** The run that is in progress, or, where the challenge starts by itself and may start now, the one that would begin. */
export function openRun(draft: StateDraft, of: CompiledChallenge): ChallengeProgress | null {
  if (draft.at < of.from || draft.at >= of.to) return null;
  const stored = draft.challenges.get(of.challenge.id);
  if (stored?.status === "in_progress") return stored;
  return of.challenge.start === "auto" ? nextRun(draft, of, stored) : null;
}

/** Starts a challenge by a rule, where it may start and has not. */
export function startChallenge(draft: StateDraft, of: CompiledChallenge): void {
  const { id } = of.challenge;
  const stored = draft.challenges.get(id);
  if (stored?.status === "in_progress" || draft.at < of.from || draft.at >= of.to) return;
  const run = nextRun(draft, of, stored);
  if (run === null) return;
  store(draft, of, run);
  draft.record(new TransactionBuilder().transaction("challengeStarted", { challengeId: id }));
}

/** Adds to what has counted for a mission in a run, and completes the mission once that is enough. */
export function advanceMission(
  draft: StateDraft,
  of: CompiledChallenge,
  step: {
    readonly mission: Mission;
    readonly run: string;
    readonly amount: number;
    readonly needed: number;
  },
): void {
  const { mission, run, amount, needed } = step;
  const progress = runOf(draft, of, run);
  if (progress === null || amount === 0 || progress.missionsCompleted.includes(mission.id)) return;
  const count = Math.min(Math.max(0, (ownValue(progress.counts, mission.id) ?? 0) + amount), countedMax);
  store(draft, of, { ...progress, counts: { ...progress.counts, [mission.id]: count } });
  if (count >= needed) completeMission(draft, of, { mission, run });
}

/** Completes a mission, and with the last one the challenge. `run`: in no other run than this one. */
export function completeMission(
  draft: StateDraft,
  of: CompiledChallenge,
  { mission, run }: { readonly mission: Mission; readonly run?: string },
): void {
  const progress = run === undefined ? openRun(draft, of) : runOf(draft, of, run);
  if (progress === null || progress.missionsCompleted.includes(mission.id)) return;
  const { challenge } = of;
  const missionsCompleted = [...progress.missionsCompleted, mission.id];
  store(draft, of, { ...progress, missionsCompleted });
  const subject = { challengeId: challenge.id, missionId: mission.id };
  giveRewards(draft, [], { type: "missionCompleted", subject, notification: mission.notification });
  if (challenge.missions.every(({ id }) => missionsCompleted.includes(id))) completeChallenge(draft, of);
}

/** Completes a challenge, and gives its rewards. */
export function completeChallenge(draft: StateDraft, of: CompiledChallenge): void {
  const progress = openRun(draft, of);
  if (progress === null) return;
  const { challenge, rewards } = of;
  const completions = progress.completions + 1;
  store(draft, of, ended(draft, of, { ...progress, status: "completed", completions }));
  const subject = { challengeId: challenge.id };
  giveRewards(draft, rewards, { type: "challengeCompleted", subject, notification: challenge.notification });
  draft.trigger("challengeCompleted", challenge.id);
}

/** Fails a challenge that is in progress, or would be. */
export function failChallenge(draft: StateDraft, of: CompiledChallenge): void {
  const progress = openRun(draft, of);
  if (progress !== null) failRun(draft, of, progress);
}

/** Fails a run. */
export function failRun(draft: StateDraft, of: CompiledChallenge, progress: ChallengeProgress): void {
  store(draft, of, ended(draft, of, { ...progress, status: "failed" }));
  const { id, failureNotification: notification } = of.challenge;
  giveRewards(draft, [], { type: "challengeFailed", subject: { challengeId: id }, notification });
}

/** When time fails a run in progress, by the configuration as it is now. */
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

/** When a run that began at a time makes room for the next one; null: time alone never does that. */
function renewalOf({ challenge }: CompiledChallenge, startedAt: number, timeZone: string): number | null {
  const { recurrence, period, within } = challenge;
  if (recurrence !== "onExpiration") return null;
  if (period !== undefined) return periodOf(period, timeZone, startedAt).endsAt;
  return within === undefined ? null : addDuration(startedAt, within, timeZone);
}

/** The run with this name, in progress or about to begin; an action counts for the run that it met and no other. */
function runOf(draft: StateDraft, of: CompiledChallenge, run: string): ChallengeProgress | null {
  const progress = openRun(draft, of);
  return progress?.run === run ? progress : null;
}

function nextRun(
  { at, timeZone, challenges }: StateDraft,
  of: CompiledChallenge,
  last: ChallengeProgress | undefined,
): ChallengeProgress | null {
  const { recurrence, period, requires } = of.challenge;
  const isFree =
    last === undefined ||
    last.status === "none" ||
    (last.status === "completed" && recurrence === "onCompletion");
  if (!isFree || requires.some(id => (challenges.get(id)?.completions ?? 0) === 0)) return null;
  return {
    status: "in_progress",
    run: period === undefined ? nextNumber(last?.run) : periodOf(period, timeZone, at).id,
    startedAt: at,
    endsAt: deadlineOf(of, { startedAt: at }, timeZone),
    endedAt: null,
    counts: {},
    missionsCompleted: [],
    completions: last?.completions ?? 0,
  };
}

/** A run that was named after a period is followed by number 1. */
function nextNumber(last = "0"): string {
  return String((/^\d{1,15}$/.test(last) ? Number(last) : 0) + 1);
}

function ended(
  { at, timeZone }: StateDraft,
  of: CompiledChallenge,
  progress: ChallengeProgress,
): ChallengeProgress {
  return { ...progress, endedAt: at, endsAt: renewalOf(of, progress.startedAt, timeZone) };
}

function store(draft: StateDraft, { challenge }: CompiledChallenge, progress: ChallengeProgress): void {
  const before = draft.challenges.get(challenge.id);
  const isNewRun = before === undefined || before.run !== progress.run;
  draft.challenges.set(challenge.id, progress);
  draft.due(progress.endsAt);
  if (isNewRun) draft.trigger("challengeStarted", challenge.id);
}
