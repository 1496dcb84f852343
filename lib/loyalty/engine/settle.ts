/**
 * What time alone does to a user: points become usable and expire, challenges fail, and runs make room for the next.
 *
 * It happens at its own instants, each with a record, so that settling twice is settling once at the later time. Readers settle
 * what they read without storing it; the next decision stores it.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import { nextSettlement, settleLots } from "../ledger/mod.ts";
import type { HistoryRecord, Notification, Transaction } from "../user/history.ts";
import type { ChallengeProgress, UserState } from "../user/state.ts";
import { deadlineOf, failRun } from "./challenges.ts";
import { TransactionBuilder } from "./change.ts";
import { StateDraft } from "./draft.ts";
import { alwaysLimited } from "./held_back.ts";
import type { Diagnostic, Outcome } from "./outcome.ts";
import { runTriggered } from "./rounds.ts";

/** Most instants that one settlement tells apart; all later ones are one, which counts as the time of settling. */
export const settledInstantsMax = 64;
/**
 * Most settlements in a row that may give points which time changes again, while nothing else happens to the user. Beyond it
 * time triggers no rules, missions or ladders any more: points that are given whenever points lapse would lapse for ever.
 */
export const chainedExpiriesMax = 32;

/** What settling made of a user. */
export interface TimeOutcome {
  readonly state: UserState;
  /** In ascending time; none where nothing happened that a history tells. */
  readonly records: readonly HistoryRecord[];
  readonly notifications: readonly (Notification & { readonly at: number })[];
  /** Difference of each metric that changed. */
  readonly gained: Readonly<Record<string, number>>;
  readonly diagnostics: readonly Diagnostic[];
}

/** How settling goes about it. */
export interface AdvanceTimeOptions {
  /** How many instants are told apart. @default {@linkcode settledInstantsMax} */
  readonly instantsMax?: number;
}

/** Lets time pass until `at` (Unix ms), inclusive. A state with nothing due is answered as it is. */
export function advanceTime(
  compiled: CompiledConfig,
  state: UserState,
  at: number,
  { instantsMax = settledInstantsMax }: AdvanceTimeOptions = {},
): TimeOutcome {
  if (!isDue(state, at)) {
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
    now = { ...next, dueAt: dueOf(compiled, next) };
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

/** Whether settling a state at that time (Unix ms) may change it. */
export function isDue(state: Pick<UserState, "dueAt" | "changedAt">, at: number): boolean {
  const { dueAt } = state;
  return dueAt !== null && dueAt <= Math.max(at, state.changedAt);
}

/** What happens at an instant, or at all that there are between two. */
function settleAt(
  compiled: CompiledConfig,
  before: UserState,
  { from, at }: { readonly from: number; readonly at: number },
): { readonly next: UserState; readonly outcome: Outcome | null } {
  const draft = new StateDraft(compiled, before, at);
  settlePoints(draft, before);
  settleChallenges(draft, before);
  const own = draft.transactions.length;
  // Time passes for whoever reads, who cannot claim a use for all users: such rules do not fire by time alone.
  if (before.chainedExpiries < chainedExpiriesMax) runTriggered(draft, alwaysLimited);
  else draft.stop("lapsesExhausted");
  if (draft.transactions.length === 0) return { next: draft.silently(), outcome: null };
  const isChained = draft.transactions.slice(own).some(givesDatedPoints);
  const outcome = draft.outcome(
    { kind: "settlement", ...(from === at ? {} : { mergedFrom: from }) },
    { chainedExpiries: isChained ? before.chainedExpiries + 1 : before.chainedExpiries },
  );
  return { next: outcome.state, outcome };
}

function givesDatedPoints({ entries }: Transaction): boolean {
  return entries.some(({ lot }) => lot !== undefined && (lot.expiresAt !== null || lot.activatesAt > 0));
}

function settlePoints(draft: StateDraft, { lots }: UserState): void {
  for (const metricId of Object.keys(lots)) {
    const { account, entries } = settleLots(draft.account(metricId), draft.at);
    let change = new TransactionBuilder();
    for (const [index, entry] of entries.entries()) {
      const { at, ...movement } = entry;
      const dated = at === draft.at ? movement : entry;
      draft.settled(metricId, { ...account, balance: entry.balanceAfter }, { entry: dated, change });
      // One transaction for all that is alike, and a new one for what is not: entries stay in the order of their balances.
      if (entries[index + 1]?.status === entry.status) continue;
      draft.record(change.transaction(entry.status === "expired" ? "pointsExpired" : "pointsActivated"));
      change = new TransactionBuilder();
    }
  }
}

function settleChallenges(draft: StateDraft, { challenges }: UserState): void {
  for (const [id, stored] of Object.entries(challenges)) {
    const of = draft.compiled.challenges.get(id);
    if (of === undefined || stored.endsAt === null || stored.endsAt > draft.at) continue;
    let progress: ChallengeProgress = stored;
    if (progress.status === "in_progress") {
      // The configuration may have given it more time since it started.
      const endsAt = deadlineOf(of, progress, draft.timeZone);
      if (endsAt === null || endsAt > draft.at) {
        draft.challenges.set(id, { ...progress, endsAt });
        continue;
      }
      failRun(draft, of, progress);
      progress = draft.challenges.get(id) ?? progress;
    }
    if (progress.endsAt !== null && progress.endsAt <= draft.at) {
      draft.challenges.set(id, {
        ...progress,
        status: "none",
        endsAt: null,
        counts: {},
        missionsCompleted: [],
      });
    }
  }
}

/** When time next changes something that the configuration knows. */
function dueOf({ challenges: known }: CompiledConfig, { lots, challenges }: UserState): number | null {
  const instants = [
    ...Object.values(lots).map(list => nextSettlement({ balance: 0, lots: list })),
    ...Object.entries(challenges).map(([id, { endsAt }]) => (known.has(id) ? endsAt : null)),
  ].filter(instant => instant !== null);
  return instants.length === 0 ? null : Math.min(...instants);
}
