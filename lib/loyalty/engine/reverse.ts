import type { CompiledConfig } from "../config/compiled.ts";
import { isReversible, type LedgerEntry, reverseEntry } from "../ledger/mod.ts";
import type { HistoryTransaction } from "../user/history.ts";
import type { UserState } from "../user/state.ts";
import { TransactionBuilder } from "./change.ts";
import { StateDraft } from "./draft.ts";
import type { Outcome } from "./outcome.ts";

/** What is taken back. */
export interface Reversal {
  readonly transaction: Pick<HistoryTransaction, "id" | "type" | "entries" | "payload">;
  /** Unix ms. */
  readonly at: number;
}

/**
 * Takes a transaction back, for a user whose state is settled at that time: its entries, the last one first, and the
 * items received and lost. Milestones, challenges and coupons stay as they are, and no rule looks at what changes. Whoever calls
 * sees to it that a transaction is taken back once.
 *
 * @throws {RangeError} The state is not settled: see `settle`.
 */
export function applyReversal(compiled: CompiledConfig, state: UserState, reversal: Reversal): Outcome {
  const { id, type, entries, payload } = reversal.transaction;
  const draft = new StateDraft(compiled, state, Math.max(reversal.at, state.changedAt));
  const change = new TransactionBuilder();
  for (const entry of entries.toReversed()) {
    if (isReversible(entry)) takeBack(draft, entry, { change, isCorrection: type === "adjusted" });
  }
  for (const { setId, itemId } of payload.inventoryChanges.received) draft.lose(setId, itemId, change);
  for (const { setId, itemId } of payload.inventoryChanges.lost) draft.receive(setId, itemId, change);
  draft.record(change.transaction("reversed"));
  return draft.outcome({ kind: "reversal", reversalOf: id });
}

/** A metric that the configuration no longer names has no bounds. */
function takeBack(
  draft: StateDraft,
  entry: LedgerEntry,
  { change, isCorrection }: { readonly change: TransactionBuilder; readonly isCorrection: boolean },
): void {
  const { at, compiled } = draft;
  const metric = compiled.metrics.get(entry.metricId);
  const moved = reverseEntry(draft.account(entry.metricId), entry, {
    at,
    floor: metric?.minimumValue ?? Number.NEGATIVE_INFINITY,
    ceiling: metric?.maximumValue ?? Number.POSITIVE_INFINITY,
    allowNegative: metric?.allowNegative ?? true,
  });
  // What a correction took counts as never earned, so it is earned again.
  if (isCorrection && entry.type === "debit") draft.move(entry.metricId, moved, change);
  else draft.moveBack(entry.metricId, moved, change);
}
