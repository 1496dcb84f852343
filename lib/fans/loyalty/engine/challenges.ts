/**
 * Runs of challenges. Each run is in progress, and then completed or failed exactly once.
 *
 * @module
 */

import { addDuration, periodOf } from "../../../base/calendar/mod.ts";
import { addBounded } from "../../../base/text/mod.ts";
import type { CompiledChallenge } from "../config/compiled.ts";
import type { Mission } from "../config/document.ts";
import { ownValue } from "../config/scope.ts";
import type { ChallengeProgress } from "../user/state.ts";
import type { StateDraft } from "./draft.ts";
import { giveRewards } from "./rewards.ts";
import { TransactionBuilder } from "./transaction_builder.ts";

/** Returns the run in progress, or the one that would begin where the challenge starts automatically and may start now. */
export function openRun(draft: StateDraft, of: CompiledChallenge): ChallengeProgress | null {
  if (draft.at < of.from || draft.at >= of.to) return null;
  const stored = draft.challengeProgress(of.challenge.id);
  if (stored?.status === "in_progress") return stored;
  return of.challenge.start === "auto" ? nextRun(draft, of, stored) : null;
}

/**
 * Checks that an action happened within the time and the running period of a challenge, and not before a rule started it. One that
 * arrives after the end of its period counts for no other.
 */
export function takesAction(draft: StateDraft, of: CompiledChallenge): boolean {
  const { at, happenedAt, timeZone } = draft;
  if (happenedAt >= at) return true;
  if (happenedAt < of.from || happenedAt >= of.to) return false;
  const { id, start } = of.challenge;
  const { period } = of;
  const startedAt = start === "rule" ? draft.challengeProgress(id)?.startedAt : undefined;
  if (startedAt !== undefined && happenedAt < startedAt) return false;
  return (
    period === null ||
    periodOf(period, draft.timeZoneAt(happenedAt), happenedAt).id === periodOf(period, timeZone, at).id
  );
}

/** Starts a challenge by a rule if it may start. */
export function startChallenge(draft: StateDraft, of: CompiledChallenge): void {
  const { id } = of.challenge;
  const stored = draft.challengeProgress(id);
  if (stored?.status === "in_progress" || draft.at < of.from || draft.at >= of.to) return;
  const run = nextRun(draft, of, stored);
  if (run === null) return;
  store(draft, of, run);
  draft.record(new TransactionBuilder().build("challengeStarted", { challengeId: id }));
}

/** Adds to the count of a mission in a run, and completes the mission once that is enough. */
export function advanceMission(
  draft: StateDraft,
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
  const progress = runOf(draft, of, run);
  if (progress === null || amount === 0 || progress.missionsCompleted.includes(mission.id)) return;
  const counted = value === undefined ? [] : (ownValue(progress.values ?? {}, mission.id) ?? []);
  if (value !== undefined && counted.includes(value)) return;
  const values =
    value === undefined ? {} : { values: { ...progress.values, [mission.id]: [...counted, value] } };
  const count = Math.max(0, addBounded(ownValue(progress.counts, mission.id) ?? 0, amount));
  store(draft, of, { ...progress, counts: { ...progress.counts, [mission.id]: count }, ...values });
  draft.advanced.push([missionKey(of.challenge, mission), run, amount]);
  if (count >= needed) completeMission(draft, of, { mission, run });
}

/** Returns a short name of a mission: the last digits of both ids. */
export function missionKey(challenge: { readonly id: string }, mission: { readonly id: string }): string {
  return challenge.id.slice(-12) + mission.id.slice(-12);
}

/** Takes back what an action added to a mission while the run is open. A mission without enough is open again. */
export function takeBackProgress(
  draft: StateDraft,
  { challenge }: CompiledChallenge,
  { mission, run, amount, needed, value }: Parameters<typeof advanceMission>[2],
): void {
  const progress = draft.challengeProgress(challenge.id);
  if (progress?.run !== run || progress.status !== "in_progress") return;
  const count = Math.max(0, addBounded(ownValue(progress.counts, mission.id) ?? 0, -amount));
  const counted = ownValue(progress.values ?? {}, mission.id) ?? [];
  const left = counted.filter(other => other !== value);
  draft.setChallenge(challenge.id, {
    ...progress,
    counts: { ...progress.counts, [mission.id]: count },
    missionsCompleted: progress.missionsCompleted.filter(id => id !== mission.id || count >= needed),
    ...(value === undefined ? {} : { values: { ...progress.values, [mission.id]: left } }),
  });
}

/** Completes a mission, and with the last one the challenge. With `run`, only in this run. */
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

/** Fails a challenge that is in progress or may start automatically. */
export function failChallenge(draft: StateDraft, of: CompiledChallenge): void {
  const progress = openRun(draft, of);
  if (progress !== null) failRun(draft, of, progress);
}

export function failRun(draft: StateDraft, of: CompiledChallenge, progress: ChallengeProgress): void {
  store(draft, of, ended(draft, of, { ...progress, status: "failed" }));
  const { id, failureNotification: notification } = of.challenge;
  giveRewards(draft, [], { type: "challengeFailed", subject: { challengeId: id }, notification });
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
function runOf(draft: StateDraft, of: CompiledChallenge, run: string): ChallengeProgress | null {
  const progress = openRun(draft, of);
  return progress?.run === run ? progress : null;
}

function nextRun(
  draft: StateDraft,
  of: CompiledChallenge,
  last: ChallengeProgress | undefined,
): ChallengeProgress | null {
  const { at, timeZone } = draft;
  const { recurrence, requires } = of.challenge;
  const isFree =
    last === undefined ||
    last.status === "none" ||
    (last.status === "completed" && recurrence === "onCompletion");
  if (!isFree || requires.some(id => (draft.challengeProgress(id)?.completions ?? 0) === 0)) return null;
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
  { at, timeZone }: StateDraft,
  of: CompiledChallenge,
  { values: _, ...progress }: ChallengeProgress,
): ChallengeProgress {
  return { ...progress, endedAt: at, endsAt: renewalOf(of, progress.startedAt, timeZone) };
}

function store(draft: StateDraft, { challenge }: CompiledChallenge, progress: ChallengeProgress): void {
  const before = draft.challengeProgress(challenge.id);
  const isNewRun = before === undefined || before.run !== progress.run;
  draft.setChallenge(challenge.id, progress);
  draft.scheduleDue(progress.endsAt);
  if (isNewRun) draft.trigger("challengeStarted", challenge.id);
}
