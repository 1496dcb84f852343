/**
 * The effects of time alone: points become usable and expire, challenges fail, and runs make room for the next.
 *
 * Each instant has a record of its own, so that advancing twice equals advancing once to the later time. Readers advance the
 * state that they read without storing it, and the next command stores it.
 */

import { addDuration } from "../../../base/calendar/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { ownValue } from "../config/compiled.ts";
import { expireUsable, nextSettlement, settleLots } from "../ledger/settle_lots.ts";
import type { HistoryRecord, Notification, Transaction } from "../user/history.ts";
import { type ChallengeProgress, dueInstant, type UserState } from "../user/state.ts";
import { dueReminders, earlier, endOfDuration, expiryInstants } from "./counters.ts";
import { type Diagnostic, NextState, type Outcome, TransactionBuilder } from "./next_state.ts";
import { requalify } from "./rewards.ts";
import { deadlineOf, failRun, runTriggered } from "./rounds.ts";

/** Later instants are merged into one, at the end of the time that passes. */
export const settledInstantsMax = 64;
/**
 * Rules that replace expired points by points that expire would do so forever. After this many settlements in a row time triggers
 * nothing more until another change.
 */
const chainedExpiriesMax = 32;

export interface TimeOutcome {
  readonly state: UserState;
  /** In ascending time; none for changes that the history does not show. */
  readonly records: readonly HistoryRecord[];
  readonly notifications: readonly (Notification & { readonly at: number })[];
  /** The difference of each metric that changed. */
  readonly gained: Readonly<Record<string, number>>;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Lets time pass until `at` (Unix ms), inclusive. Returns a state with nothing due as it is. Up to `instantsMax` instants have
 * effects of their own; later ones are merged.
 */
export function advanceTime(
  compiled: CompiledConfig,
  state: UserState,
  at: number,
  { instantsMax = settledInstantsMax }: { readonly instantsMax?: number } = {},
): TimeOutcome {
  if (dueInstant(state, at) === null) {
    return { state, records: [], notifications: [], gained: {}, diagnostics: [] };
  }
  const records: HistoryRecord[] = [];
  const notifications: (Notification & { readonly at: number })[] = [];
  const gained = new Map<string, number>();
  const diagnostics: Diagnostic[] = [];
  const until = Math.max(at, state.changedAt);
  let now = state;
  for (let instants = 0; now.dueAt !== null && now.dueAt <= until; instants++) {
    const from = Math.max(now.dueAt, now.changedAt);
    const { next, outcome } = settleAt(compiled, now, { from, at: instants < instantsMax ? from : until });
    now = { ...next, dueAt: nextDueAt(compiled, next) };
    if (outcome === null) continue;
    records.push(outcome.record);
    for (const notification of outcome.notifications) {
      notifications.push({ ...notification, at: outcome.record.at });
    }
    for (const [id, gain] of Object.entries(outcome.gained)) gained.set(id, (gained.get(id) ?? 0) + gain);
    diagnostics.push(...outcome.diagnostics);
  }
  const changed = [...gained].filter(([, gain]) => gain !== 0);
  return { state: now, records, notifications, gained: Object.fromEntries(changed), diagnostics };
}

/** Settles one instant, or all from `from` to `at` as one. */
function settleAt(
  compiled: CompiledConfig,
  before: UserState,
  { from, at }: { readonly from: number; readonly at: number },
): { readonly next: UserState; readonly outcome: Outcome | null } {
  // Time passes for readers too, who cannot claim uses of global limits and do not read profiles, so rules with either do not fire
  // by time alone.
  const next = new NextState(compiled, before, at, { globalLimitReached: () => true, profile: null });
  settlePoints(next, before);
  expireInactive(next);
  settleChallenges(next, before);
  for (const set of compiled.config.milestones) if (set.requalify !== undefined) requalify(next, set);
  if (compiled.reminders.size > 0) remind(next, before);
  const settled = next.transactions.length;
  if (before.chainedExpiries < chainedExpiriesMax) runTriggered(next);
  else next.dropTriggers("lapsesExhausted");
  if (next.transactions.length === 0) return { next: next.finishSilently(), outcome: null };
  const isChained = next.transactions.slice(settled).some(givesDatedPoints);
  const outcome = next.finish(
    { kind: "settlement", ...(from === at ? {} : { mergedFrom: from }) },
    isChained ? before.chainedExpiries + 1 : before.chainedExpiries,
  );
  return { next: outcome.state, outcome };
}

function givesDatedPoints({ entries }: Transaction): boolean {
  return entries.some(({ lot }) => lot !== undefined && (lot.expiresAt !== null || lot.activatesAt > 0));
}

function settlePoints(next: NextState, { lots }: UserState): void {
  for (const metricId of Object.keys(lots)) {
    const { account, entries } = settleLots(next.account(metricId), next.at);
    let transaction = new TransactionBuilder();
    for (const [index, dated] of entries.entries()) {
      const { at, ...movement } = dated;
      const entry = at === next.at ? movement : dated;
      const balance = entry.balanceAfter;
      next.setAccount(metricId, { account: { ...account, balance }, entry }, transaction);
      // Entries of one kind share a transaction, but stay in the order of their balances.
      if (entries[index + 1]?.status === entry.status) continue;
      next.record(transaction.build(entry.status === "expired" ? "pointsExpired" : "pointsActivated"));
      transaction = new TransactionBuilder();
    }
  }
}

function settleChallenges(next: NextState, { challenges }: UserState): void {
  for (const [id, stored] of Object.entries(challenges)) {
    const of = next.compiled.challenges.get(id);
    if (of === undefined || stored.endsAt === null || stored.endsAt > next.at) continue;
    let progress: ChallengeProgress = stored;
    if (progress.status === "in_progress") {
      // The configuration may have given it more time since it started.
      const endsAt = deadlineOf(of, progress, next.timeZone);
      if (endsAt === null || endsAt > next.at) {
        next.setChallenge(id, { ...progress, endsAt });
        continue;
      }
      failRun(next, of, progress);
      progress = next.challengeProgress(id) ?? progress;
    }
    if (progress.endsAt !== null && progress.endsAt <= next.at) {
      const over = { status: "none", endsAt: null, counts: {}, missionsCompleted: [] } as const;
      const { values: _, ...rest } = progress;
      next.setChallenge(id, { ...rest, ...over });
    }
  }
}

/** Returns when time next changes something that the configuration names; null: never. */
function nextDueAt(compiled: CompiledConfig, state: UserState): number | null {
  const { challenges: declared, config } = compiled;
  const { lots, challenges, milestones } = state;
  const instants = [
    ...expiryInstants(compiled, state),
    ...Object.values(lots).map(list => nextSettlement({ balance: 0, lots: list })),
    ...config.milestones.map(set =>
      set.requalify === undefined ? null : (ownValue(milestones, set.id)?.until ?? null),
    ),
    ...Object.entries(challenges).map(([id, { endsAt }]) => (declared.has(id) ? endsAt : null)),
  ].filter(instant => instant !== null);
  return instants.length === 0 ? null : Math.min(...instants);
}

/** Lets the points expire of a user who was inactive for long. */
function expireInactive(next: NextState): void {
  const { compiled, activeAt } = next;
  if (activeAt === 0) return;
  for (const [metricId, inactive] of compiled.inactivity) {
    if (endOfDuration(activeAt, inactive, next.timeZone) > next.at) continue;
    const transaction = new TransactionBuilder();
    const change = expireUsable(next.account(metricId));
    if (change.entry === null) continue;
    next.setAccount(metricId, change, transaction);
    next.record(transaction.build("pointsExpired"));
  }
}

/**
 * Reminds the user of points that expire. A reminder also covers those that expire within the same time again, so that there is one
 * reminder in that time at most, and none comes late.
 */
function remind(next: NextState, state: UserState): void {
  const { compiled, at, timeZone } = next;
  for (const [metricId, { before, notification }] of compiled.reminders) {
    const lots = next.account(metricId).lots ?? [];
    const due = dueReminders(compiled, { ...state, activeAt: next.activeAt }, { metricId, lots, timeZone });
    const [first] = due;
    if (first === undefined || earlier(first.expiresAt, before, timeZone) > at) continue;
    const until = addDuration(addDuration(at, before, timeZone), before, timeZone);
    const covered = due.filter(({ expiresAt }) => expiresAt <= until);
    const last = covered.at(-1) ?? first;
    const transaction = new TransactionBuilder().build("pointsExpiring", {
      metadata: {
        metricId,
        amount: covered.reduce((sum, { amount }) => sum + amount, 0),
        expiresAt: Math.floor(first.expiresAt / 1_000),
        until: Math.floor(last.expiresAt / 1_000),
      },
    });
    next.setReminded(metricId, last.expiresAt);
    next.record(transaction);
    next.notify({ type: "pointsExpiring", ...notification, payload: transaction.payload });
  }
}
