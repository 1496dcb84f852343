import { ownValue } from "../config/own_property.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { ChangePayload, ItemId, Transaction, TransactionType } from "../user/history.ts";

/** What a transaction is about, beside what changed. */
export type TransactionSubject = Pick<
  ChangePayload,
  | "challengeId"
  | "missionId"
  | "couponId"
  | "userCouponId"
  | "redemptionId"
  | "productId"
  | "quantity"
  | "metadata"
  | "reason"
>;

/** Collects what belongs to one transaction. */
export class TransactionBuilder {
  readonly entries: LedgerEntry[] = [];
  readonly #metrics: Record<string, { readonly oldValue: number; newValue: number }> = {};
  readonly #received: ItemId[] = [];
  readonly #lost: ItemId[] = [];
  readonly #milestones: Record<string, { readonly oldValue: string; readonly newValue: string }> = {};

  metric(entry: LedgerEntry, oldValue: number): void {
    this.entries.push(entry);
    const { metricId, balanceAfter: newValue } = entry;
    const known = ownValue(this.#metrics, metricId);
    if (known === undefined) this.#metrics[metricId] = { oldValue, newValue };
    else known.newValue = newValue;
  }

  received(item: ItemId): void {
    this.#received.push(item);
  }

  lost(item: ItemId): void {
    this.#lost.push(item);
  }

  milestone(setId: string, oldValue: string, newValue: string): void {
    this.#milestones[setId] = { oldValue, newValue };
  }

  /** The transaction; a metric that is as it was before has not changed. */
  transaction(type: TransactionType, subject: TransactionSubject = {}): Transaction {
    for (const id in this.#metrics) {
      const change = this.#metrics[id];
      if (change !== undefined && change.oldValue === change.newValue) delete this.#metrics[id];
    }
    return {
      type,
      payload: {
        ...subject,
        metricChanges: this.#metrics,
        inventoryChanges: { received: this.#received, lost: this.#lost },
        milestoneChanges: this.#milestones,
      },
      entries: this.entries,
    };
  }
}
