/**
 * What time alone does to a user: points become usable and expire, challenges fail, and runs make room for the next.
 *
 * It happens at its own instants, each with a record, so that settling twice is settling once at the later time. Readers settle
 * what they read without storing it; the next decision stores it.
 *
 * @module
 */

import type { CompiledConfig } from "../compile_types.ts";
import type { HistoryRecord, Notification } from "../history.ts";
import { nextSettlement, settle as settleAccount } from "../ledger/mod.ts";
import type { ChallengeProgress, UserState } from "../state.ts";
import { deadlineOf, failRun } from "./challenges.ts";
import { Change } from "./change.ts";
import { Draft } from "./draft.ts";
import { everyLimit } from "./held_back.ts";
import type { Diagnostic } from "./outcome.ts";
import { runTriggered } from "./rounds.ts";

/** Most instants that one settlement tells apart; all later ones count as the time of settling. */
export const settledInstantsMax = 64;

/** What settling made of a user. */
export interface Settlement {
  readonly state: UserState;
  /** In ascending time; none where nothing happened that a history tells. */
  readonly records: readonly HistoryRecord[];
  readonly notifications: readonly (Notification & { readonly at: number })[];
  /** Difference of each metric that changed. */
  readonly gained: Readonly<Record<string, number>>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Lets time pass until `at` (Unix ms), inclusive. A state with nothing due is answered as it is. */
export function settle(compiled: CompiledConfig, state: UserState, at: number): Settlement {
  if (state.dueAt === null || state.dueAt > Math.max(at, state.changedAt)) {
    return { state, records: [], notifications: [], gained: {}, diagnostics: [] };
  }
  const records: HistoryRecord[] = [];
  const notifications: (Notification & { readonly at: number })[] = [];
  const gained = new Map<string, number>();
  const diagnostics: Diagnostic[] = [];
  const until = Math.max(at, state.changedAt);
  let now = state;
  for (let instants = 0; now.dueAt !== null && now.dueAt <= until; instants++) {
    const instant = instants < settledInstantsMax ? Math.max(now.dueAt, now.changedAt) : until;
    const draft = new Draft(compiled, now, instant);
    settlePoints(draft, now);
    settleChallenges(draft, now);
    // Time passes for whoever reads, who cannot claim a use for all users: such rules do not fire by time alone.
    runTriggered(draft, everyLimit);
    const isTold = draft.transactions.length > 0;
    const outcome = isTold ? draft.outcome({ kind: "settlement" }) : null;
    const next = outcome?.state ?? draft.silently();
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

function settlePoints(draft: Draft, { lots }: UserState): void {
  for (const metricId of Object.keys(lots)) {
    const { account, entries } = settleAccount(draft.account(metricId), draft.at);
    let change = new Change();
    for (const [index, entry] of entries.entries()) {
      const { at, ...movement } = entry;
      const dated = at === draft.at ? movement : entry;
      draft.settled(metricId, { ...account, balance: entry.balanceAfter }, { entry: dated, change });
      // One transaction for all that is alike, and a new one for what is not: entries stay in the order of their balances.
      if (entries[index + 1]?.status === entry.status) continue;
      draft.record(change.transaction(entry.status === "expired" ? "pointsExpired" : "pointsActivated"));
      change = new Change();
    }
  }
}

function settleChallenges(draft: Draft, { challenges }: UserState): void {
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
