/**
 * Points that expire without activity of their user, and reminders before points expire.
 *
 * @module
 */

import { addDuration } from "../../../base/calendar/mod.ts";
import { expireUsable } from "../ledger/mod.ts";
import type { UserState } from "../user/state.ts";
import type { StateDraft } from "./draft.ts";
import { dueReminders, earlier, endOfDuration } from "./expiry_times.ts";
import { TransactionBuilder } from "./transaction_builder.ts";

/** Lets the points expire of a user who was inactive for long. */
export function expireInactive(draft: StateDraft): void {
  const { compiled, activeAt } = draft;
  if (activeAt === 0) return;
  for (const [metricId, inactive] of compiled.inactivity) {
    if (endOfDuration(activeAt, inactive, draft.timeZone) > draft.at) continue;
    const transaction = new TransactionBuilder();
    const change = expireUsable(draft.account(metricId));
    if (change.entry === null) continue;
    draft.setAccount(metricId, change, transaction);
    draft.record(transaction.build("pointsExpired"));
  }
}

/**
 * Reminds the user of points that expire. A reminder also covers those that expire within the same time again, so that there is one
 * reminder in that time at most, and none comes late.
 */
export function remind(draft: StateDraft, state: UserState): void {
  const { compiled, at, timeZone } = draft;
  for (const [metricId, { before, notification }] of compiled.reminders) {
    const lots = draft.account(metricId).lots ?? [];
    const due = dueReminders(compiled, { ...state, activeAt: draft.activeAt }, { metricId, lots, timeZone });
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
    draft.setReminded(metricId, last.expiresAt);
    draft.record(transaction);
    draft.notify({ type: "pointsExpiring", ...notification, payload: transaction.payload });
  }
}
