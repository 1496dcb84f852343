/**
 * The state that a happening is making of the one before, and what is to be told of it. The state before stays as it was.
 *
 * @module
 */

import type { CompiledAggregate } from "../config/aggregates.ts";
import { type CompiledConfig, type TriggerKind, triggerKey } from "../config/compiled.ts";
import type { Metric } from "../config/document.ts";
import { ownValue } from "../config/own_property.ts";
import type { CounterWindow, Scope, UserView } from "../config/scope.ts";
import { type AccountChange, credit, debit, type LedgerMovement, type MetricAccount } from "../ledger/mod.ts";
import type { HistoryRecord, Notification, PointDates, Transaction } from "../user/history.ts";
import type {
  ChallengeProgress,
  Counter,
  LifetimeTotals,
  MilestoneProgress,
  UserCoupon,
  UserState,
} from "../user/state.ts";
import type { TransactionBuilder } from "./change.ts";
import { addToCounter, readCounter, subtractFromCounter } from "./counters.ts";
import { CopyOnWriteRecord } from "./entries.ts";
import { lotFor } from "./lots.ts";
import type { Diagnostic, Outcome } from "./outcome.ts";
import { retainCounters } from "./unnamed.ts";

/**
 * Transactions, ledger entries and announcements of one happening after which nothing more is begun. A happening takes effect in
 * one piece, in one record, and while everybody else waits.
 */
export const effectsMax = 500;

/** How points are added: by which change, and with which dates of their own. */
export interface MetricAddition extends PointDates {
  readonly change: TransactionBuilder;
}

/** A state in the making. */
export class StateDraft implements UserView {
  readonly compiled: CompiledConfig;
  readonly at: number;
  readonly timeZone: string;
  readonly challenges: CopyOnWriteRecord<ChallengeProgress>;
  readonly milestones: CopyOnWriteRecord<MilestoneProgress>;
  coupons: readonly UserCoupon[];
  readonly diagnostics: Diagnostic[] = [];
  /** Ids of the rules that fired, once for each time. */
  readonly fired: string[] = [];
  readonly #before: UserState;
  readonly #metrics: CopyOnWriteRecord<number>;
  readonly #lifetime: CopyOnWriteRecord<LifetimeTotals>;
  readonly #lots: CopyOnWriteRecord<MetricAccount["lots"] & object>;
  readonly #inventory: CopyOnWriteRecord<readonly string[]>;
  readonly #counters: CopyOnWriteRecord<Counter>;
  readonly #orphanedCounters: UserState["orphanedCounters"];
  readonly #transactions: Transaction[] = [];
  readonly #notifications: Notification[] = [];
  #triggered: Set<string> | null = null;
  #dueAt: number | null;
  #idsMade = 0;
  #effects = 0;

  /** @param at Unix ms; never before the state's last change. */
  constructor(compiled: CompiledConfig, before: UserState, at: number) {
    this.compiled = compiled;
    this.at = at;
    this.timeZone = compiled.config.timeZone;
    this.challenges = new CopyOnWriteRecord(before.challenges);
    this.milestones = new CopyOnWriteRecord(before.milestones);
    this.#before = before;
    this.#metrics = new CopyOnWriteRecord(before.metrics);
    this.#lifetime = new CopyOnWriteRecord(before.lifetime);
    this.#lots = new CopyOnWriteRecord(before.lots);
    this.#inventory = new CopyOnWriteRecord(before.inventory);
    this.coupons = before.coupons;
    this.#dueAt = before.dueAt;
    const isOther = before.config !== compiled.version;
    const { counters, orphanedCounters } = isOther
      ? retainCounters(before, { named: compiled.counterKeys, at })
      : before;
    this.#counters = new CopyOnWriteRecord(counters);
    this.#orphanedCounters = orphanedCounters;
  }

  get transactions(): readonly Transaction[] {
    return this.#transactions;
  }

  metric(id: string): number {
    return this.#metrics.get(id) ?? this.compiled.metrics.get(id)?.defaultValue ?? 0;
  }

  items(setId: string): readonly string[] {
    return this.#inventory.get(setId) ?? [];
  }

  challenge(id: string): string {
    return this.challenges.get(id)?.status ?? "none";
  }

  milestone(setId: string): string {
    return this.milestones.get(setId)?.milestoneId ?? "";
  }

  counterValue(key: string, window: CounterWindow): number {
    return readCounter(this.#counters.get(key), window, this);
  }

  /** Adds to what is counted under a key. */
  count(key: string, window: CounterWindow, amount: number): void {
    this.#counters.set(
      key,
      addToCounter(this.#counters.get(key), window, { at: this.at, timeZone: this.timeZone, amount }),
    );
  }

  /** Takes back what was counted under a key at an earlier time (Unix ms), as far as that time still counts. */
  uncount(
    key: string,
    window: CounterWindow,
    { amount, at }: { readonly amount: number; readonly at: number },
  ): void {
    const counter = this.#counters.get(key);
    if (counter === undefined) return;
    this.#counters.set(key, subtractFromCounter(counter, window, { at, timeZone: this.timeZone, amount }));
  }

  /** Counts an action in the aggregates that look at it. */
  countAction(aggregates: readonly CompiledAggregate[], scope: Scope): void {
    for (const { key, window, when, amount } of aggregates) {
      if (when(scope)) this.count(key, window, amount(scope));
    }
  }

  account(id: string): MetricAccount {
    const keepsLots = this.compiled.metrics.get(id)?.lots !== undefined;
    return { balance: this.metric(id), lots: this.#lots.get(id) ?? (keepsLots ? [] : null) };
  }

  /** Adds to a metric, or takes from it where the quantity is negative, within its bounds. */
  addToMetric(metric: Metric, quantity: number, { change, availableAt, expiresAt }: MetricAddition): void {
    if (quantity === 0) return;
    const account = this.account(metric.id);
    const { at } = this;
    if (quantity < 0) {
      this.move(metric.id, debit(account, { amount: -quantity, at, floor: metric.minimumValue }), change);
      return;
    }
    const lot =
      account.lots === null
        ? { lotId: "" }
        : lotFor(account.lots, { policy: metric.lots ?? {}, availableAt, expiresAt }, this);
    this.move(
      metric.id,
      credit(account, { amount: quantity, at, ceiling: metric.maximumValue, ...lot }),
      change,
    );
  }

  /** Corrects a metric, within its bounds. What a correction takes was not spent: it was never earned. */
  correctMetric(metric: Metric, quantity: number, change: TransactionBuilder): void {
    if (quantity >= 0) {
      this.addToMetric(metric, quantity, { change });
      return;
    }
    const order = { amount: -quantity, at: this.at, floor: metric.minimumValue };
    this.moveBack(metric.id, debit(this.account(metric.id), order), change);
  }

  /** Takes over what the ledger made of a metric. */
  move(metricId: string, { account, entry }: AccountChange, change: TransactionBuilder): void {
    if (entry === null) return;
    const [earned, spent] = this.#lifetime.get(metricId) ?? nothingEver;
    const { type, amount } = entry;
    this.#lifetime.set(metricId, type === "credit" ? [earned + amount, spent] : [earned, spent + amount]);
    this.settled(metricId, account, { entry, change });
  }

  /** Takes over what the ledger has taken back of a metric, or given back. */
  moveBack(metricId: string, { account, entry }: AccountChange, change: TransactionBuilder): void {
    if (entry === null) return;
    const [earned, spent] = this.#lifetime.get(metricId) ?? nothingEver;
    const { type, amount } = entry;
    this.#lifetime.set(metricId, type === "debit" ? [earned - amount, spent] : [earned, spent - amount]);
    this.settled(metricId, account, { entry, change });
  }

  /** Takes over a movement of a metric, as settled at its own time. */
  settled(
    metricId: string,
    { balance, lots }: MetricAccount,
    { entry, change }: { readonly entry: LedgerMovement; readonly change: TransactionBuilder },
  ): void {
    change.metric({ metricId, ...entry }, this.metric(metricId));
    this.#metrics.set(metricId, balance);
    if (lots !== null) this.#lots.set(metricId, lots);
    if (entry.lot !== undefined) {
      if (entry.lot.activatesAt > 0) this.due(entry.lot.activatesAt);
      this.due(entry.lot.expiresAt);
    }
    for (const { expiresAt } of entry.type === "credit" ? (entry.draws ?? []) : []) this.due(expiresAt);
    if (entry.status !== "pending") this.trigger("metric", metricId);
  }

  receive(setId: string, itemId: string, change: TransactionBuilder): void {
    const owned = this.items(setId);
    if (owned.includes(itemId)) return;
    this.#inventory.set(setId, [...owned, itemId]);
    change.received({ setId, itemId });
    this.trigger("inventoryReceived", setId);
  }

  lose(setId: string, itemId: string, change: TransactionBuilder): void {
    const owned = this.items(setId);
    if (!owned.includes(itemId)) return;
    this.#inventory.set(
      setId,
      owned.filter(id => id !== itemId),
    );
    change.lost({ setId, itemId });
  }

  /** An id that no other lot or coupon of the user has, the same whenever the happening is decided again. */
  newId(): string {
    this.#idsMade += 1;
    return `${this.#before.revision + 1}.${this.#idsMade}`;
  }

  record(transaction: Transaction): void {
    this.#transactions.push(transaction);
    this.#effects += 1 + transaction.entries.length;
  }

  notify(notification: Notification): void {
    if (notification.display === "none") return;
    this.#notifications.push(notification);
    this.#effects += 1;
  }

  /** Whether something more may be begun; the first time that it may not, a diagnostic says so. */
  hasRoom(): boolean {
    if (this.#effects < effectsMax) return true;
    const type = "effectsExhausted";
    if (!this.diagnostics.some(known => known.type === type)) this.diagnostics.push({ type, triggers: [] });
    return false;
  }

  /** Leaves out what the changes would trigger, and says so where there are any. */
  stop(type: Diagnostic["type"]): void {
    const triggers = this.takeTriggered();
    if (triggers.length > 0) this.diagnostics.push({ type, triggers });
  }

  /** Notes when time alone will change something. */
  due(at: number | null): void {
    if (at !== null && (this.#dueAt === null || at < this.#dueAt)) this.#dueAt = at;
  }

  /** Notes a change that rules may wait for. */
  trigger(kind: TriggerKind, id: string): void {
    const key = triggerKey(kind, id);
    if (!this.compiled.triggers.has(key)) return;
    this.#triggered ??= new Set();
    this.#triggered.add(key);
  }

  /** The changes that were noted since this was last asked. */
  takeTriggered(): readonly string[] {
    const keys = this.#triggered === null ? [] : [...this.#triggered];
    this.#triggered = null;
    return keys;
  }

  /** The state as it is now, without a record of its own. What happens later counts no earlier than this all the same. */
  silently(): UserState {
    return this.#state({ dueAt: this.#dueAt, changedAt: this.at });
  }

  /** The outcome with the record of the happening. `chainedExpiries`: what the state counts of settlements in a row. */
  outcome(
    happening: Occurrence,
    { chainedExpiries }: Pick<UserState, "chainedExpiries"> = unchained,
  ): Outcome {
    const { at, compiled, diagnostics, fired } = this;
    const { revision, records } = this.#before;
    const state = this.#state({
      revision: revision + 1,
      records: records + 1,
      changedAt: at,
      config: compiled.version,
      dueAt: this.#dueAt,
      chainedExpiries,
    });
    const record = recordOf(happening, { at, config: compiled.version, transactions: this.#transactions });
    return {
      state,
      record,
      notifications: this.#notifications,
      gained: this.#gained(),
      diagnostics,
      fired,
    };
  }

  /** Every member by its name: copying a state of so many would be the most expensive step of an action. */
  #state(changes: Pick<UserState, "dueAt"> & Partial<UserState>): UserState {
    const { revision, changedAt, config, projectId, records, redemptions, undelivered, sums, onceMarks } =
      this.#before;
    return {
      revision: changes.revision ?? revision,
      changedAt: changes.changedAt ?? changedAt,
      config: changes.config ?? config,
      projectId,
      metrics: this.#metrics.all,
      lifetime: this.#lifetime.all,
      lots: this.#lots.all,
      inventory: this.#inventory.all,
      milestones: this.milestones.all,
      challenges: this.challenges.all,
      coupons: this.coupons,
      counters: this.#counters.all,
      orphanedCounters: this.#orphanedCounters,
      dueAt: changes.dueAt,
      chainedExpiries: changes.chainedExpiries ?? this.#before.chainedExpiries,
      records: changes.records ?? records,
      redemptions,
      undelivered,
      sums,
      onceMarks,
    };
  }

  #gained(): Readonly<Record<string, number>> {
    if (this.#metrics.all === this.#before.metrics) return {};
    const gained: Record<string, number> = {};
    for (const { entries } of this.#transactions) {
      for (const { metricId } of entries) {
        if (Object.hasOwn(gained, metricId)) continue;
        const before =
          ownValue(this.#before.metrics, metricId) ?? this.compiled.metrics.get(metricId)?.defaultValue ?? 0;
        const gain = this.metric(metricId) - before;
        if (gain !== 0) gained[metricId] = gain;
      }
    }
    return gained;
  }
}

const unchained = { chainedExpiries: 0 };
const nothingEver: LifetimeTotals = [0, 0];

type Occurrence = Pick<
  HistoryRecord,
  "kind" | "action" | "grant" | "adjustment" | "reversalOf" | "redemption" | "mergedFrom"
>;

function recordOf(
  happening: Occurrence,
  { at, config, transactions }: Pick<HistoryRecord, "at" | "config" | "transactions">,
): HistoryRecord {
  const { kind, action } = happening;
  // Nearly every record is one of an action, and written out it is made several times faster.
  if (action !== undefined) return { kind, action, at, config, transactions };
  return { ...happening, at, config, transactions };
}
