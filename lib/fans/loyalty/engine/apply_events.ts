/**
 * The events of a user: actions, grants, adjustments and reversals. Each is a pure function of configuration, state and event to
 * the state after it and one history record.
 *
 * The state must be advanced to the time of the event before, see `advanceTime`; otherwise they throw a `RangeError`. An event
 * before the last change of the state changes balances at the time of that change. Counters count an action when it happened.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData, NotificationSetting } from "../config/document.ts";
import { isReversible, type LedgerEntry, reverseEntry } from "../ledger/mod.ts";
import {
  type GrantedReward,
  type HistoryRecord,
  type HistoryTransaction,
  type Inheritance,
  type MetricChange,
  scoredData,
} from "../user/history.ts";
import type { ProfileFields } from "../user/profile_fields.ts";
import type { Gift, UserState } from "../user/state.ts";
import type { ElementFacts } from "../votes/elements.ts";
import { type GlobalLimitReached, type Outcome, StateDraft } from "./draft.ts";
import { correctMetric, movePoints, takeBackPoints } from "./metric_changes.ts";
import { type GrantedSingleReward, giveRewards, inherit } from "./rewards.ts";
import { type OnRound, runRounds, runTriggered } from "./rounds.ts";
import { type ReversedAction, takeBackCaps, takeBackCounts } from "./take_back.ts";
import { TransactionBuilder } from "./transaction_builder.ts";

type HistoryAction = NonNullable<HistoryRecord["action"]>;

export interface EventOptions {
  /** Called each time that a rule with a global limit would fire. @default no limit is reached */
  readonly globalLimitReached?: GlobalLimitReached | undefined;
  /** The custom fields of the user's profile that the configuration reads. @default none has a value */
  readonly profile?: ProfileFields | undefined;
}

/** A reported action. */
export interface Action {
  readonly name: string;
  readonly data: ActionData;
  /** Unix ms. */
  readonly at: number;
  /** When it happened and counts, in Unix ms. @default `at` */
  readonly happenedAt?: number;
  /** Given by the caller. */
  readonly id?: string | undefined;
  /** Given by the caller. */
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
  { onRound, ...options }: EventOptions & { readonly onRound?: OnRound } = {},
): Outcome {
  const { name, data, id, metadata, element, isReveal, happenedAt = action.at } = action;
  const draft = new StateDraft(compiled, state, action.at, { ...options, happenedAt });
  const plan = compiled.actions.get(name);
  draft.noteActivity();
  if (plan !== undefined) {
    const scope = element === undefined ? { data, user: draft } : { data, user: draft, element };
    if (isReveal !== true) draft.countAction(plan.aggregates, scope);
    const part = isReveal === true ? plan.answered : plan;
    if (part !== null) runRounds(draft, part, scope, onRound);
  }
  const plain = id === undefined ? { name, data } : { name, data, id };
  const voted = element === undefined ? plain : { ...plain, element };
  const named = isReveal === undefined ? voted : { ...voted, isReveal };
  const timed = happenedAt === draft.at ? named : { ...named, at: happenedAt };
  const noted = metadata === undefined ? timed : { ...timed, metadata };
  const reported = { ...noted, ...countedBy(draft) };
  const { limited } = draft.limitedFirings;
  return draft.finish({
    kind: "action",
    action: limited === undefined ? reported : { ...reported, limited },
  });
}

/** Returns what taking a transaction back needs to know. */
function countedBy({ fired, advanced, compiled }: StateDraft): Pick<HistoryAction, "fired" | "advanced"> {
  const isBounded = fired.length > 0 && fired.some(id => compiled.boundedRules.has(id));
  return { ...(isBounded ? { fired } : {}), ...(advanced.length === 0 ? {} : { advanced }) };
}

/** Rewards that a back end gives. */
export interface Grant {
  readonly rewards: readonly GrantedReward[];
  readonly reason: string;
  readonly metadata?: ActionData | undefined;
  /** @default no announcement */
  readonly notification?: NotificationSetting | undefined;
  /** Unix ms. */
  readonly at: number;
  /** Given by the caller. */
  readonly id?: string;
  /** Of a merged user. @default none */
  readonly inheritance?: Inheritance;
}

/** Gives rewards. Those that the configuration does not name give nothing. */
export function applyGrant(
  compiled: CompiledConfig,
  state: UserState,
  { rewards, reason, metadata, notification, at, id, inheritance }: Grant,
  options: EventOptions = {},
): Outcome {
  const draft = new StateDraft(compiled, state, at, options);
  const single = rewards.flatMap((reward): readonly GrantedSingleReward[] =>
    reward.type === "reward" ? (compiled.bundles.get(reward.rewardId) ?? []) : [reward],
  );
  const subject = metadata === undefined ? { reason } : { reason, metadata };
  draft.noteActivity();
  if (inheritance !== undefined) inherit(draft, inheritance);
  giveRewards(draft, single, { type: "rewardGranted", subject });
  runTriggered(draft);
  const [granted] = draft.transactions;
  // Announced last, so that the bound of effects cuts a replay, which announces nothing, at the same place.
  if (notification !== undefined && granted !== undefined) {
    draft.notify({ type: "rewardGranted", ...notification, payload: granted.payload });
  }
  const given = {
    ...{ rewards, reason },
    ...(id === undefined ? {} : { id }),
    ...(inheritance === undefined ? {} : { inheritance }),
  };
  return draft.finish({ kind: "grant", grant: { ...given, ...draft.limitedFirings } });
}

/** A correction of metrics by a back end. */
export interface Adjustment {
  /** Applied in this order. */
  readonly changes: readonly MetricChange[];
  /** For people. */
  readonly reason: string;
  /** Names it in the history. */
  readonly id?: string | undefined;
  /** Unix ms. */
  readonly at: number;
}

/** Corrects metrics within their bounds; null where nothing changes. Metrics that the configuration does not name stay. */
export function applyAdjustment(
  compiled: CompiledConfig,
  state: UserState,
  { changes, reason, id, at }: Adjustment,
  options: EventOptions = {},
): Outcome | null {
  const draft = new StateDraft(compiled, state, at, options);
  const transaction = new TransactionBuilder();
  for (const { metricId, op, value } of changes) {
    const metric = compiled.metrics.get(metricId);
    if (metric === undefined) continue;
    const quantity = op === "set" ? value - draft.metric(metricId) : value;
    correctMetric(draft, metric, { quantity, transaction });
  }
  if (transaction.entries.length === 0) return null;
  draft.record(transaction.build("adjusted", { reason }));
  runTriggered(draft);
  const made = { changes, reason, ...(id === undefined ? {} : { id }), ...draft.limitedFirings };
  return draft.finish({ kind: "adjustment", adjustment: made });
}

/** A gift that its user cannot get. */
export interface Refusal {
  readonly gift: Pick<Gift, "id" | "ruleId" | "userId">;
  /** For people. */
  readonly reason: string;
}

/** Notes in the history of a user that other users did not get gifts. Nothing else changes. */
export function applyRefusals(
  compiled: CompiledConfig,
  state: UserState,
  { refusals, at }: { readonly refusals: readonly Refusal[]; readonly at: number },
): Outcome {
  const draft = new StateDraft(compiled, state, at, { profile: null });
  for (const { gift, reason } of refusals) {
    const { ruleId, userId } = gift;
    draft.record(new TransactionBuilder().build("rewardRefused", { reason, metadata: { ruleId, userId } }));
  }
  return draft.finish({ kind: "refusal" });
}

/** The reversal of a transaction. */
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
  const draft = new StateDraft(compiled, state, at, { profile: null });
  if (action !== undefined) takeBackCounts(draft, action);
  const transaction = new TransactionBuilder();
  for (const entry of entries.toReversed()) {
    if (!isReversible(entry)) continue;
    const amount = takeBackEntry(draft, entry, { transaction, isCorrection: type === "adjusted" });
    if (action !== undefined && entry.type === "credit") takeBackCaps(draft, action, { ...entry, amount });
  }
  for (const { setId, itemId } of payload.inventoryChanges.received) {
    draft.loseItem(setId, itemId, transaction);
  }
  for (const { setId, itemId } of payload.inventoryChanges.lost) {
    draft.receiveItem(setId, itemId, transaction);
  }
  draft.record(transaction.build("reversed"));
  const reversed =
    action === undefined ? {} : { reversed: { at: action.at, data: scoredData(action.action) } };
  return draft.finish({ kind: "reversal", reversalOf: id, ...reversed });
}

/** Reverses an entry and returns the amount. A metric that the configuration no longer names has no bounds. */
function takeBackEntry(
  draft: StateDraft,
  entry: LedgerEntry,
  { transaction, isCorrection }: { readonly transaction: TransactionBuilder; readonly isCorrection: boolean },
): number {
  const { metricId } = entry;
  const metric = draft.compiled.metrics.get(metricId);
  const change = reverseEntry(draft.account(metricId), entry, {
    at: draft.at,
    floor: metric?.minimumValue ?? Number.NEGATIVE_INFINITY,
    ceiling: metric?.maximumValue ?? Number.POSITIVE_INFINITY,
    allowNegative: metric?.allowNegative ?? true,
  });
  // Points that a correction took count as never earned, so the reversal earns them again.
  if (isCorrection && entry.type === "debit") movePoints(draft, metricId, { change, transaction });
  else takeBackPoints(draft, metricId, { change, transaction });
  return change.entry?.amount ?? 0;
}
