import { ownValue } from "../config/scope.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { ChangePayload, ItemId } from "../user/change_payload.ts";
import type { Transaction, TransactionType } from "../user/history.ts";

/** The subject of a transaction, without its changes. */
export type TransactionSubject = Omit<
  ChangePayload,
  "metricChanges" | "inventoryChanges" | "milestoneChanges"
>;

const noItems: readonly ItemId[] = [];
const noMilestones: ChangePayload["milestoneChanges"] = {};

/** Collects the changes of one transaction. */
export class TransactionBuilder {
  readonly entries: LedgerEntry[] = [];
  readonly #metrics: Record<string, { readonly oldValue: number; newValue: number }> = {};
  #received = noItems;
  #lost = noItems;
  #milestones = noMilestones;

  /** Adds an entry. Returns true where the transaction had not changed the metric before. */
  addEntry(entry: LedgerEntry, oldValue: number): boolean {
    this.entries.push(entry);
    const { metricId, balanceAfter: newValue } = entry;
    const change = ownValue(this.#metrics, metricId);
    const isFirst = change === undefined || change.newValue === change.oldValue;
    if (change === undefined) this.#metrics[metricId] = { oldValue, newValue };
    else change.newValue = newValue;
    return isFirst;
  }

  addReceived(item: ItemId): void {
    this.#received = [...this.#received, item];
  }

  addLost(item: ItemId): void {
    this.#lost = [...this.#lost, item];
  }

  addMilestone(setId: string, oldValue: string, newValue: string): void {
    this.#milestones = { ...this.#milestones, [setId]: { oldValue, newValue } };
  }

  /** Builds the transaction. Metrics that end with their old value are not among its changes. */
  build(type: TransactionType, subject: TransactionSubject = {}): Transaction {
    for (const id of Object.keys(this.#metrics)) {
      const change = this.#metrics[id];
      if (change?.oldValue === change?.newValue) delete this.#metrics[id];
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
