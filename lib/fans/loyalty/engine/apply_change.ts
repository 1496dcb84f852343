/**
 * The changes of a user: actions, grants, adjustments and reversals. Each is a pure function of configuration, state and change to
 * the state after it and one history record.
 *
 * The state must be advanced to the time of the change before, see `advanceTime`; otherwise they throw a `RangeError`. A change
 * before the last change of the state changes balances at the time of that change. Counters count an action when it happened.
 */

import type { CompiledConfig, CompiledRule, Scope } from "../config/compiled.ts";
import type { ActionData, NotificationSetting } from "../config/document.ts";
import type { LedgerEntry } from "../ledger/movements.ts";
import { debit, isReversible, reverseEntry } from "../ledger/movements.ts";
import type { ItemId } from "../user/change_payload.ts";
import {
  type GrantedReward,
  type HistoryRecord,
  type HistoryTransaction,
  type Inheritance,
  type MetricChange,
  type RedemptionFact,
  scoredData,
} from "../user/history.ts";
import type { ProfileFields } from "../user/state.ts";
import { type Gift, nothingReceived, type Received, type UserState } from "../user/state.ts";
import type { ElementFacts } from "../votes/elements.ts";
import {
  type GlobalLimitReached,
  NextState,
  type Outcome,
  TransactionBuilder,
  type TransactionSubject,
} from "./next_state.ts";
import {
  correctMetric,
  type GrantedSingleReward,
  giveCoupon,
  giveRewards,
  inherit,
  movePoints,
  takeBackPoints,
} from "./rewards.ts";
import { missionKey, type OnRound, runRound, runTriggered, takeBackProgress } from "./rounds.ts";

export interface ChangeOptions {
  /** Called each time that a rule with a global limit would fire. @default no limit is reached */
  readonly globalLimitReached?: GlobalLimitReached | undefined;
  /** The custom fields of the user's profile that the configuration reads. @default none has a value */
  readonly profile?: ProfileFields | undefined;
}

export interface Action {
  readonly name: string;
  readonly data: ActionData;
  /** Unix ms. */
  readonly at: number;
  /** When it happened and counts, in Unix ms. @default `at` */
  readonly happenedAt?: number;
  readonly id?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** What rules may read of the element that it names. */
  readonly element?: ElementFacts | undefined;
  /** True where the action counted before, and what depends on the answer of its element applies now. */
  readonly isReveal?: true | undefined;
}

/** Applies an action. One that the configuration does not name has no effects but its record. */
export function applyAction(
  compiled: CompiledConfig,
  state: UserState,
  action: Action,
  { globalLimitReached, profile, onRound }: ChangeOptions & { readonly onRound?: OnRound } = {},
): Outcome {
  const { name, data, id, metadata, element, isReveal, happenedAt = action.at } = action;
  // Members by name: a spread takes several µs.
  const next = new NextState(compiled, state, action.at, { globalLimitReached, profile, happenedAt });
  const plan = compiled.actions.get(name);
  next.noteActivity();
  if (plan !== undefined) {
    const scope = element === undefined ? { data, user: next } : { data, user: next, element };
    if (isReveal !== true) next.countAction(plan.aggregates, scope);
    const part = isReveal === true ? plan.answered : plan;
    if (part !== null) {
      runRound(next, part, scope, onRound);
      runTriggered(next, onRound);
    }
  }
  const { fired, advanced } = next;
  return next.finish({
    kind: "action",
    action: {
      name,
      data,
      id,
      element,
      isReveal,
      at: happenedAt === next.at ? undefined : happenedAt,
      metadata,
      // What taking a transaction back needs to know.
      fired: fired.some(ruleId => compiled.boundedRules.has(ruleId)) ? fired : undefined,
      advanced: advanced.length === 0 ? undefined : advanced,
      limited: next.limited,
    },
  });
}

export interface Grant {
  readonly rewards: readonly GrantedReward[];
  readonly reason: string;
  readonly metadata?: ActionData | undefined;
  /** @default no announcement */
  readonly notification?: NotificationSetting | undefined;
  /** Unix ms. */
  readonly at: number;
  readonly id?: string | undefined;
  /** Of a merged user. @default none */
  readonly inheritance?: Inheritance | undefined;
}

/** Gives rewards. Those that the configuration does not name give nothing. */
export function applyGrant(
  compiled: CompiledConfig,
  state: UserState,
  { rewards, reason, metadata, notification, at, id, inheritance }: Grant,
  options: ChangeOptions = {},
): Outcome {
  const next = new NextState(compiled, state, at, options);
  const single = rewards.flatMap((reward): readonly GrantedSingleReward[] =>
    reward.type === "reward" ? (compiled.bundles.get(reward.rewardId) ?? []) : [reward],
  );
  const subject = metadata === undefined ? { reason } : { reason, metadata };
  next.noteActivity();
  if (inheritance !== undefined) inherit(next, inheritance);
  giveRewards(next, single, { type: "rewardGranted", subject });
  runTriggered(next);
  const [granted] = next.transactions;
  // Announced last, so that the bound of effects cuts a replay, which announces nothing, at the same place.
  if (notification !== undefined && granted !== undefined) {
    next.notify({ type: "rewardGranted", ...notification, payload: granted.payload });
  }
  const { limited } = next;
  return next.finish({ kind: "grant", grant: { rewards, reason, id, inheritance, limited } });
}

interface Adjustment {
  /** Applied in this order. */
  readonly changes: readonly MetricChange[];
  readonly reason: string;
  readonly id?: string | undefined;
  /** Unix ms. */
  readonly at: number;
}

/** Corrects metrics within their bounds; null where nothing changes. Metrics that the configuration does not name stay. */
export function applyAdjustment(
  compiled: CompiledConfig,
  state: UserState,
  { changes, reason, id, at }: Adjustment,
  options: ChangeOptions = {},
): Outcome | null {
  const next = new NextState(compiled, state, at, options);
  const transaction = new TransactionBuilder();
  for (const { metricId, op, value } of changes) {
    const metric = compiled.metrics.get(metricId);
    if (metric === undefined) continue;
    const quantity = op === "set" ? value - next.metric(metricId) : value;
    correctMetric(next, metric, { quantity, transaction });
  }
  if (transaction.entries.length === 0) return null;
  next.record(transaction.build("adjusted", { reason }));
  runTriggered(next);
  return next.finish({ kind: "adjustment", adjustment: { changes, reason, id, limited: next.limited } });
}

export interface Refusal {
  readonly gift: Pick<Gift, "id" | "ruleId" | "userId">;
  readonly reason: string;
}

/** Notes in the history of a user that other users did not get gifts. Nothing else changes. */
export function applyRefusals(
  compiled: CompiledConfig,
  state: UserState,
  { refusals, at }: { readonly refusals: readonly Refusal[]; readonly at: number },
): Outcome {
  const next = new NextState(compiled, state, at, { profile: null });
  for (const { gift, reason } of refusals) {
    const { ruleId, userId } = gift;
    next.record(new TransactionBuilder().build("rewardRefused", { reason, metadata: { ruleId, userId } }));
  }
  return next.finish({ kind: "refusal" });
}

export interface Reversal {
  readonly transaction: Pick<HistoryTransaction, "id" | "type" | "entries" | "payload">;
  /** The action of the transaction, whose counts are taken back too. @default none */
  readonly action?: ReversedAction | undefined;
  /** Unix ms. */
  readonly at: number;
}

/**
 * Reverses a transaction: its entries, the last one first, the items received and lost, and the counts and caps of its action. Milestones,
 * challenges and coupons stay, and the changes trigger no rules. The caller makes sure that a transaction is reversed once.
 */
export function applyReversal(
  compiled: CompiledConfig,
  state: UserState,
  { transaction: { id, type, entries, payload }, action, at }: Reversal,
): Outcome {
  const next = new NextState(compiled, state, at, { profile: null });
  if (action !== undefined) takeBackCounts(next, action);
  const transaction = new TransactionBuilder();
  for (const entry of entries.toReversed()) {
    if (!isReversible(entry)) continue;
    const amount = takeBackEntry(next, entry, { transaction, isCorrection: type === "adjusted" });
    if (action !== undefined && entry.type === "credit") takeBackCaps(next, action, { ...entry, amount });
  }
  for (const { setId, itemId } of payload.inventoryChanges.received) {
    next.loseItem(setId, itemId, transaction);
  }
  for (const { setId, itemId } of payload.inventoryChanges.lost) {
    next.receiveItem(setId, itemId, transaction);
  }
  next.record(transaction.build("reversed"));
  const reversed = action && { at: action.at, data: scoredData(action.action) };
  return next.finish({ kind: "reversal", reversalOf: id, reversed });
}

/** Reverses an entry and returns the amount. A metric that the configuration no longer names has no bounds. */
function takeBackEntry(
  next: NextState,
  entry: LedgerEntry,
  { transaction, isCorrection }: { readonly transaction: TransactionBuilder; readonly isCorrection: boolean },
): number {
  const { metricId } = entry;
  const metric = next.compiled.metrics.get(metricId);
  const change = reverseEntry(next.account(metricId), entry, {
    at: next.at,
    floor: metric?.allowNegative === false ? metric.minimumValue : Number.NEGATIVE_INFINITY,
    ceiling: metric?.maximumValue ?? Number.POSITIVE_INFINITY,
  });
  // Points that a correction took count as never earned, so the reversal earns them again.
  if (isCorrection && entry.type === "debit") movePoints(next, metricId, { change, transaction });
  else takeBackPoints(next, metricId, { change, transaction });
  return change.entry?.amount ?? 0;
}

export interface ReversedAction {
  readonly action: NonNullable<HistoryRecord["action"]>;
  /** When it happened, Unix ms. */
  readonly at: number;
  /** The rule that made the transaction; null: none, or one without limits and caps. */
  readonly ruleId: string | null;
  /** False where another transaction of the action was reversed before. */
  readonly isFirst: boolean;
}

/** Returns the action of a transaction by its index in the record; undefined where no action caused it. */
export function reversedAction(
  { action, at, transactions }: HistoryRecord,
  index: number,
  isFirst: boolean,
): ReversedAction | undefined {
  if (action === undefined) return undefined;
  const isRewarded = ({ type }: { readonly type: string }): boolean => type === "actionRewarded";
  const [transaction, before] = [transactions[index], transactions.slice(0, index)];
  const isOfRule = transaction !== undefined && isRewarded(transaction);
  const ruleId = isOfRule ? action.fired?.[before.filter(isRewarded).length] : undefined;
  return { action, at: action.at ?? at, ruleId: ruleId ?? null, isFirst };
}

/**
 * Takes back the use of the limits of the transaction's rule, and with the first transaction what the action has counted: counts,
 * sums, distinct values, and the progress of missions whose run is open. Streaks stay.
 */
function takeBackCounts(next: NextState, { action, at, ruleId, isFirst }: ReversedAction): void {
  const scope: Scope = { data: action.data, user: next, element: action.element };
  for (const { key, window, by } of findRule(next, ruleId)?.limits ?? []) {
    const value = by?.(scope);
    if (value !== null) next.uncount(key, window, { amount: 1, at, value });
  }
  const plan = next.compiled.actions.get(action.name);
  if (!isFirst || plan === undefined) return;
  for (const { key, window, when, amount, by } of action.isReveal === true ? [] : plan.aggregates) {
    const value = by?.(scope);
    if (value !== null && when(scope)) next.uncount(key, window, { amount: amount(scope), at, value });
  }
  for (const [key, run, amount] of action.advanced ?? []) {
    const compiled = plan.missions.find(({ of, mission }) => missionKey(of.challenge, mission) === key);
    if (compiled === undefined) continue;
    const value = compiled.by?.(scope) ?? undefined;
    takeBackProgress(next, compiled.of, { ...compiled, run, amount, needed: compiled.count, value });
  }
}

/** Gives back to the caps of the transaction's rule what was taken of a metric. Points that could not be taken stay counted. */
function takeBackCaps(
  next: NextState,
  { at, ruleId }: ReversedAction,
  { metricId, amount }: Pick<LedgerEntry, "metricId" | "amount">,
): void {
  const effect = findRule(next, ruleId)?.effects.find(
    one => one.type === "metric" && one.metricId === metricId,
  );
  if (effect?.type !== "metric") return;
  for (const { key, window } of effect.caps) next.uncount(key, window, { amount, at });
}

function findRule({ compiled }: NextState, ruleId: string | null): CompiledRule | undefined {
  for (const { rules } of compiled.triggers.values()) {
    const found = rules.find(({ rule: { id } }) => id === ruleId);
    if (found !== undefined) return found;
  }
  return undefined;
}

export interface RedemptionInput {
  /** The first step replaces `boughtAt` by the time at which it counts. */
  readonly fact: RedemptionFact;
  /** Unix ms. */
  readonly at: number;
  /** The payment of earlier steps. @default nothing */
  readonly paid?: readonly LedgerEntry[] | undefined;
  /** The deliveries of earlier steps. @default nothing */
  readonly received?: Received | undefined;
  /** The code of a unique coupon. @default none yet */
  readonly code?: string | null;
  readonly metadata?: ActionData | undefined;
  readonly reason?: string | undefined;
}

export interface RedemptionOutcome extends Outcome {
  readonly paid: readonly LedgerEntry[];
  readonly received: Received;
}

/**
 * Applies a step to a state that is advanced to its time. The price is taken and given back whole, whatever the bounds of the
 * metric. The changes trigger rules once the product is delivered.
 *
 * @throws {RangeError} The state is not advanced: see `advanceTime`.
 */
export function applyRedemption(
  compiled: CompiledConfig,
  state: UserState,
  input: RedemptionInput,
  options: ChangeOptions = {},
): RedemptionOutcome {
  const next = new NextState(compiled, state, input.at, options);
  const { step } = input.fact;
  const isFirst = step === "reserved" || step === "sold";
  const isDelivered = step === "confirmed" || step === "sold";
  const fact = isFirst ? { ...input.fact, boughtAt: next.at } : input.fact;
  if (isFirst) next.noteActivity();
  const paid = isFirst ? charge(next, fact) : (input.paid ?? []);
  const received = isDelivered ? deliver(next, input) : (input.received ?? nothingReceived);
  if (step === "rejected" || step === "refunded") giveBack(next, input);
  if (step === "completed") {
    next.record(new TransactionBuilder().build("redemptionCompleted", subjectOf(fact)));
  }
  if (isDelivered) {
    // A sale at once has triggered its payment already.
    if (!isFirst || paid.length === 0) next.trigger("metric", fact.cost.currency);
    runTriggered(next);
  }
  const outcome = next.finish({ kind: "redemption", redemption: { ...fact, limited: next.limited } });
  return { ...outcome, paid, received };
}

function charge(next: NextState, fact: RedemptionFact): readonly LedgerEntry[] {
  const { currency, amount } = fact.cost;
  const transaction = new TransactionBuilder();
  const floor = Number.NEGATIVE_INFINITY;
  const change = debit(next.account(currency), { amount, at: next.at, floor });
  movePoints(next, currency, { change, transaction });
  next.record(transaction.build("redeemed", subjectOf(fact)));
  const limit = next.compiled.products.get(fact.productId)?.limit ?? null;
  if (limit !== null) next.count(limit.key, limit.window, fact.quantity);
  return transaction.entries;
}

/** Coupons have transactions of their own, after that of the redemption. */
function deliver(next: NextState, { fact, code = null, metadata }: RedemptionInput): Received {
  const transaction = new TransactionBuilder();
  const items: ItemId[] = [];
  const given = fact.given ?? [];
  for (const reward of given) {
    if (reward.type !== "inventory") continue;
    const [setId, itemId] = [reward.inventorySetId, reward.inventoryItemId];
    if (next.items(setId).includes(itemId)) continue;
    next.receiveItem(setId, itemId, transaction);
    items.push({ setId, itemId });
  }
  const extra = metadata === undefined ? {} : { metadata };
  const { couponExpiresAt: expiresAt } = fact;
  const claimed = expiresAt === undefined ? null : { code, expiresAt };
  next.record(transaction.build("redemptionConfirmed", { ...subjectOf(fact), ...extra }));
  const coupons = given.flatMap(reward => {
    const id = reward.type === "coupon" ? giveCoupon(next, reward.couponId, claimed) : null;
    return id === null ? [] : [id];
  });
  return { items, coupons };
}

function giveBack(
  next: NextState,
  { fact, paid = [], received = nothingReceived, reason }: RedemptionInput,
): void {
  const { productId, quantity, boughtAt, step } = fact;
  const transaction = new TransactionBuilder();
  const [floor, ceiling] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const entry of paid.toReversed()) {
    if (!isReversible(entry)) continue;
    const change = reverseEntry(next.account(entry.metricId), entry, { at: next.at, floor, ceiling });
    takeBackPoints(next, entry.metricId, { change, transaction });
  }
  for (const { setId, itemId } of received.items) next.loseItem(setId, itemId, transaction);
  if (received.coupons.length > 0) {
    next.setCoupons(next.coupons.filter(({ id }) => !received.coupons.includes(id)));
  }
  const limit = next.compiled.products.get(productId)?.limit ?? null;
  if (limit !== null) next.uncount(limit.key, limit.window, { amount: quantity, at: boughtAt });
  const type = step === "rejected" ? "redemptionRejected" : "redemptionRefunded";
  const extra = reason === undefined ? {} : { reason };
  next.record(transaction.build(type, { ...subjectOf(fact), ...extra }));
}

function subjectOf({ id, productId, quantity }: RedemptionFact): TransactionSubject {
  return { redemptionId: id, productId, quantity };
}
