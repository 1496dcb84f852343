/** The next state of a user while a change is applied, and the results to record. The state before is never changed. */

import type { CompiledAggregate, CompiledConfig } from "../config/compiled.ts";
import {
  type CounterWindow,
  hasEntries,
  ownValue,
  type Scope,
  type TriggerKind,
  triggerKey,
  type UserView,
} from "../config/compiled.ts";
import type { AccountChange, LedgerEntry, MetricAccount } from "../ledger/movements.ts";
import type { ChangePayload, ItemId } from "../user/change_payload.ts";
import type {
  HistoryRecord,
  LimitedFirings,
  MissionAdvance,
  Notification,
  Transaction,
  TransactionType,
} from "../user/history.ts";
import type { ProfileFields } from "../user/state.ts";
import {
  type ChallengeProgress,
  copyState,
  type Gift,
  type MilestoneProgress,
  type MutableState,
  timeZoneOf,
  type UserCoupon,
  type UserState,
  usableEarnings,
  zoneAfter,
} from "../user/state.ts";
import {
  addToCounter,
  boundCounters,
  boundMissionValues,
  countValues,
  expiryInstants,
  readCounter,
  retainCounters,
  stepsKept,
  subtractFromCounter,
} from "./counters.ts";

/** A change is one record and one commit, so it ends after this many transactions, ledger entries and notifications. */
const effectsMax = 500;

/** Something that the author of the configuration should know. */
export interface Diagnostic {
  /**
   * `roundsExhausted`: changes kept triggering changes. `effectsExhausted`: too many effects, the rest was left out.
   * `lapsesExhausted`: rules kept replacing expired points by points that expire.
   */
  readonly type: "roundsExhausted" | "effectsExhausted" | "lapsesExhausted";
  readonly triggers: readonly string[];
}

export interface Outcome {
  /** Not shared yet, so that the caller may complete it. */
  readonly state: MutableState;
  readonly record: HistoryRecord;
  readonly notifications: readonly Notification[];
  /** The difference of each metric that changed. */
  readonly gained: Readonly<Record<string, number>>;
  readonly diagnostics: readonly Diagnostic[];
  /** Ids of the rules that fired, once for each time. */
  readonly fired: readonly string[];
}

/** Checks whether a rule has reached its limit for all users together. */
export type GlobalLimitReached = (ruleId: string) => boolean;

/** A change as its record names it, without its effects. */
type RecordedChange = Omit<HistoryRecord, "at" | "config" | "transactions">;

/** The members of a state that are copied before their first change. */
type RecordMember =
  | "reminded"
  | "metrics"
  | "lifetime"
  | "lots"
  | "inventory"
  | "milestones"
  | "challenges"
  | "counters";

const noTriggers: ReadonlyMap<string, number> = new Map();

export class NextState implements UserView {
  readonly compiled: CompiledConfig;
  /** Unix ms; never before the last change of the state. */
  readonly at: number;
  /** When the change happened and counts, in Unix ms: before `at` where it arrived late. */
  readonly happenedAt: number;
  readonly timeZone: string;
  readonly diagnostics: Diagnostic[] = [];
  readonly fired: string[] = [];
  /** The missions that the change advanced. */
  readonly advanced: MissionAdvance[] = [];
  readonly transactions: Transaction[] = [];
  readonly #before: UserState;
  readonly #state: MutableState;
  readonly #globalLimitReached: GlobalLimitReached;
  readonly #profile: ProfileFields | null;
  readonly #notifications: Notification[] = [];
  readonly #gifts: Gift[] = [];
  #limited: Map<string, number> | null = null;
  #triggered: Map<string, number> | null = null;
  #hasMoreSteps = false;
  #hasMoreValues = false;
  #idsMade = 0;
  #effects = 0;

  /**
   * @param at Unix ms.
   * @param options.profile Null: unknown, so that no rule that reads it fires.
   */
  constructor(
    compiled: CompiledConfig,
    before: UserState,
    at: number,
    {
      globalLimitReached = () => false,
      profile = {},
      happenedAt,
    }: {
      readonly globalLimitReached?: GlobalLimitReached | undefined;
      readonly profile?: ProfileFields | null | undefined;
      /** Unix ms. @default at */
      readonly happenedAt?: number | undefined;
    } = {},
  ) {
    this.compiled = compiled;
    this.at = Math.max(at, before.changedAt);
    this.happenedAt = happenedAt ?? this.at;
    this.#before = before;
    this.#state = copyState(before);
    this.timeZone = compiled.config.timeZone;
    if (compiled.zoneField !== null) {
      if (profile !== null) this.#state.zone = this.#zoneAfter(profile, compiled.zoneField);
      this.timeZone = this.timeZoneAt(this.at);
    }
    this.#globalLimitReached = globalLimitReached;
    this.#profile = profile;
    if (before.config === compiled.version) return;
    const { counters, orphanedCounters } = retainCounters(before, {
      named: compiled.counterWindows,
      at: this.at,
    });
    this.#state.counters = counters;
    this.#state.orphanedCounters = orphanedCounters;
  }

  /** Returns the zone of the user's days at a time (Unix ms). */
  timeZoneAt(at: number): string {
    return timeZoneOf(this.compiled, this.#state, at);
  }

  metric(id: string): number {
    return ownValue(this.#state.metrics, id) ?? this.compiled.metrics.get(id)?.defaultValue ?? 0;
  }

  /** Returns what was ever earned of a metric and became usable. */
  earned(id: string): number {
    return usableEarnings(this.#state, id);
  }

  items(setId: string): readonly string[] {
    return ownValue(this.#state.inventory, setId) ?? [];
  }

  challenge(id: string): string {
    return this.challengeProgress(id)?.status ?? "none";
  }

  milestone(setId: string): string {
    return this.milestoneProgress(setId)?.milestoneId ?? "";
  }

  counterValue(key: string, window: CounterWindow, value?: string): number {
    const at = this.happenedAt;
    const timeZone = this.timeZoneAt(at);
    return readCounter(ownValue(this.#state.counters, key), window, { at, timeZone, value });
  }

  distinctValues(key: string, window: CounterWindow): number {
    const at = this.happenedAt;
    const timeZone = this.timeZoneAt(at);
    return countValues(ownValue(this.#state.counters, key), window, { at, timeZone });
  }

  customField(name: string): ProfileFields[string] | undefined {
    return this.#profile === null ? undefined : ownValue(this.#profile, name);
  }

  /** False where the custom fields of the user are unknown. */
  get hasProfile(): boolean {
    return this.#profile !== null;
  }

  /** Adds to a counter, or to that of a value of it. */
  count(key: string, window: CounterWindow, amount: number, value?: string): void {
    const at = this.happenedAt;
    const timeZone = this.timeZoneAt(at);
    const before = ownValue(this.#state.counters, key);
    const counter = addToCounter(before, window, { at, timeZone, amount, value });
    this.#hasMoreSteps ||= stepsKept(counter, value) > stepsKept(before, value);
    this.#put("counters", key, counter);
  }

  /** Subtracts from a counter what was added at an earlier time (Unix ms), if its window still covers that time. */
  uncount(
    key: string,
    window: CounterWindow,
    {
      amount,
      at,
      value,
    }: { readonly amount: number; readonly at: number; readonly value?: string | undefined },
  ): void {
    const counter = ownValue(this.#state.counters, key);
    if (counter === undefined) return;
    const timeZone = this.timeZoneAt(at);
    this.#put("counters", key, subtractFromCounter(counter, window, { at, timeZone, amount, value }));
  }

  countAction(aggregates: readonly CompiledAggregate[], scope: Scope): void {
    for (const { key, window, when, amount, by } of aggregates) {
      if (!when(scope)) continue;
      const value = by?.(scope);
      if (value !== null) this.count(key, window, amount(scope), value);
    }
  }

  challengeProgress(id: string): ChallengeProgress | undefined {
    return ownValue(this.#state.challenges, id);
  }

  setChallenge(id: string, progress: ChallengeProgress): void {
    this.#hasMoreValues ||= progress.values !== this.challengeProgress(id)?.values;
    this.#put("challenges", id, progress);
  }

  /** Takes the user back to before the first milestone of a set. */
  removeMilestone(setId: string): void {
    const { [setId]: _, ...others } = this.#state.milestones;
    this.#state.milestones = others;
  }

  milestoneProgress(setId: string): MilestoneProgress | undefined {
    return ownValue(this.#state.milestones, setId);
  }

  setMilestone(setId: string, progress: MilestoneProgress): void {
    this.#put("milestones", setId, progress);
    this.scheduleDue(progress.until ?? null);
  }

  get coupons(): readonly UserCoupon[] {
    return this.#state.coupons;
  }

  setCoupons(coupons: readonly UserCoupon[]): void {
    this.#state.coupons = coupons;
  }

  /** Returns the account of a metric. A metric that has lots goes on keeping them when its configuration does not. */
  account(metricId: string): MetricAccount {
    const keepsLots = this.compiled.metrics.get(metricId)?.lots !== undefined;
    const lots = ownValue(this.#state.lots, metricId) ?? (keepsLots ? [] : null);
    return { balance: this.metric(metricId), lots };
  }

  setAccount(
    metricId: string,
    { account: { balance, lots }, entry }: AccountChange,
    transaction: TransactionBuilder,
  ): void {
    if (entry === null) return;
    const isFirstChange = transaction.addEntry({ metricId, ...entry }, this.metric(metricId));
    this.#put("metrics", metricId, balance);
    if (lots !== null) this.#put("lots", metricId, lots);
    if (entry.lot !== undefined) {
      if (entry.lot.activatesAt > 0) this.scheduleDue(entry.lot.activatesAt);
      this.scheduleDue(entry.lot.expiresAt);
    }
    if (entry.type === "credit" && entry.draws !== undefined) {
      for (const { expiresAt } of entry.draws) this.scheduleDue(expiresAt);
    }
    if (entry.status !== "pending" && isFirstChange) this.trigger("metric", metricId);
  }

  /** Notes that the user did something, or was given something. */
  noteActivity(): void {
    if (this.compiled.inactivity.size === 0) return;
    this.#state.activeAt = Math.max(this.#state.activeAt, Math.min(this.happenedAt, this.at));
  }

  /** When the user was last active, in Unix ms; 0: not known. */
  get activeAt(): number {
    return this.#state.activeAt;
  }

  /** Notes up to which expiry (Unix ms) of a metric the user was reminded. */
  setReminded(metricId: string, until: number): void {
    this.#put("reminded", metricId, until);
  }

  addLifetime(metricId: string, earned: number, spent: number): void {
    const totals = ownValue(this.#state.lifetime, metricId);
    const [earnedBefore, spentBefore] = totals ?? [0, 0];
    this.#put("lifetime", metricId, [earnedBefore + earned, spentBefore + spent]);
  }

  receiveItem(setId: string, itemId: string, transaction: TransactionBuilder): void {
    const owned = this.items(setId);
    if (owned.includes(itemId)) return;
    this.#put("inventory", setId, [...owned, itemId]);
    transaction.addReceived({ setId, itemId });
    this.trigger("inventoryReceived", setId);
  }

  loseItem(setId: string, itemId: string, transaction: TransactionBuilder): void {
    const owned = this.items(setId);
    if (!owned.includes(itemId)) return;
    const left = owned.filter(id => id !== itemId);
    this.#put("inventory", setId, left);
    transaction.addLost({ setId, itemId });
  }

  /** Returns an id for a lot or coupon. It is unique for the user, and the same when the change is applied again. */
  newId(): string {
    this.#idsMade += 1;
    return `${this.#before.revision + 1}.${this.#idsMade}`;
  }

  record(transaction: Transaction): void {
    this.transactions.push(transaction);
    this.#effects += 1 + transaction.entries.length;
  }

  notify(notification: Notification): void {
    if (notification.display === "none") return;
    this.#notifications.push(notification);
    this.#effects += 1;
  }

  /** Gives rewards to another user, whom they reach after the change. */
  give(gift: Omit<Gift, "id">): void {
    this.#gifts.push({ id: this.newId(), ...gift });
    this.#effects += 1;
  }

  /** Checks whether another effect may begin. The first refusal adds a diagnostic. */
  hasRoom(): boolean {
    if (this.#effects < effectsMax) return true;
    const type = "effectsExhausted";
    if (!this.diagnostics.some(({ type: listed }) => listed === type))
      this.diagnostics.push({ type, triggers: [] });
    return false;
  }

  /** Checks the global limit of a rule, and keeps for the record which rules it kept from firing. */
  isLimited(ruleId: string): boolean {
    if (this.#limited?.has(ruleId) === true) return true;
    if (!this.#globalLimitReached(ruleId)) return false;
    this.#limited ??= new Map();
    this.#limited.set(ruleId, this.fired.filter(fired => fired === ruleId).length);
    return true;
  }

  /** The rules that global limits kept from firing, as the record has them. */
  get limited(): LimitedFirings["limited"] {
    return this.#limited === null ? undefined : Object.fromEntries(this.#limited);
  }

  dropTriggers(type: Diagnostic["type"]): void {
    const triggers = this.takeTriggers();
    if (triggers.size > 0) this.diagnostics.push({ type, triggers: [...triggers.keys()] });
  }

  /** Makes the state due at a time (Unix ms), unless it is due earlier. */
  scheduleDue(at: number | null): void {
    const { dueAt } = this.#state;
    if (at !== null && (dueAt === null || at < dueAt)) this.#state.dueAt = at;
  }

  /** Adds a trigger for the next round: one for each item, milestone and challenge, and for each metric of a transaction. */
  trigger(kind: TriggerKind, id: string): void {
    const key = triggerKey(kind, id);
    if (!this.compiled.triggers.has(key)) return;
    this.#triggered ??= new Map();
    this.#triggered.set(key, (this.#triggered.get(key) ?? 0) + 1);
  }

  /** Returns and removes the pending triggers, with the number of times that each happened. */
  takeTriggers(): ReadonlyMap<string, number> {
    const triggers = this.#triggered ?? noTriggers;
    this.#triggered = null;
    return triggers;
  }

  /** Ends it without a record. Later changes still count no earlier than this one. */
  finishSilently(): UserState {
    this.#state.changedAt = this.at;
    return this.#state;
  }

  finish(change: RecordedChange, chainedExpiries = 0): Outcome {
    const { at, compiled, diagnostics, fired, transactions } = this;
    const state = this.#state;
    // An action that adds no step and no value must not cost a look at all of them.
    if (this.#hasMoreSteps) {
      const time = { at: this.happenedAt, timeZone: this.timeZoneAt(this.happenedAt) };
      state.counters = boundCounters(state.counters, compiled.counterWindows, time);
    }
    if (this.#hasMoreValues) state.challenges = boundMissionValues(state.challenges);
    state.revision += 1;
    state.records += 1;
    state.changedAt = at;
    state.config = compiled.version;
    if (compiled.inactivity.size > 0 || compiled.reminders.size > 0) {
      for (const instant of expiryInstants(compiled, state)) this.scheduleDue(instant);
    }
    state.chainedExpiries = chainedExpiries;
    if (this.#gifts.length > 0) state.gifts = state.gifts.concat(this.#gifts);
    return {
      state,
      record: recordOf(change, { at, config: compiled.version, transactions }, this.#profile),
      notifications: this.#notifications,
      gained: this.#gained(),
      diagnostics,
      fired,
    };
  }

  #zoneAfter(profile: ProfileFields, field: string): UserState["zone"] {
    const { zone, revision } = this.#before;
    const wanted = ownValue(profile, field);
    return zoneAfter(zone, { wanted, documentZone: this.timeZone, at: this.at, isNew: revision === 0 });
  }

  #put<K extends RecordMember>(member: K, key: string, value: UserState[K][string]): void {
    if (this.#state[member] === this.#before[member]) this.#state[member] = { ...this.#before[member] };
    (this.#state[member] as Record<string, unknown>)[key] = value;
  }

  #gained(): Readonly<Record<string, number>> {
    const { metrics } = this.#before;
    if (this.#state.metrics === metrics) return {};
    const gained: Record<string, number> = {};
    for (const { entries } of this.transactions) {
      for (const { metricId } of entries) {
        if (Object.hasOwn(gained, metricId)) continue;
        const before = ownValue(metrics, metricId) ?? this.compiled.metrics.get(metricId)?.defaultValue ?? 0;
        const gain = this.metric(metricId) - before;
        if (gain !== 0) gained[metricId] = gain;
      }
    }
    return gained;
  }
}

/** Builds a record. Nearly all are of actions, for which a spread would cost 5 % of a whole report. */
function recordOf(
  change: RecordedChange,
  { at, config, transactions }: Pick<HistoryRecord, "at" | "config" | "transactions">,
  profile: ProfileFields | null,
): HistoryRecord {
  if (profile !== null && hasEntries(profile)) return { ...change, profile, at, config, transactions };
  const { kind, action } = change;
  if (action !== undefined) return { kind, action, at, config, transactions };
  return { ...change, at, config, transactions };
}

export type TransactionSubject = Omit<
  ChangePayload,
  "metricChanges" | "inventoryChanges" | "milestoneChanges"
>;

const noItems: readonly ItemId[] = [];
const noMilestones: ChangePayload["milestoneChanges"] = {};

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
