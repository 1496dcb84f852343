/** Documents of a user's lists: transactions, challenges and notifications. Names of types are open: more may come. */

import * as v from "valibot";
import { isoTime, isoTimeOrNull } from "../../../base/calendar/mod.ts";
import { type Immutable, named } from "../../../http/mod.ts";
import { ChangePayloadSchema, EarnedRewardSchema } from "../../loyalty/user/change_payload.ts";
import type { InboxItem } from "../../loyalty/user/inbox.ts";
import type { ChallengeView, LedgerEntryView } from "../../loyalty/views/loyalty_reader.ts";

const text = v.string();
const number = v.number();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const percent = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100));
/** A time in ISO 8601. */
export const TimeSchema = v.pipe(v.string(), v.isoTimestamp());
const timeOrNull = v.nullable(TimeSchema);

export const ProgressSchema = named("Progress", v.object({ current: number, target: number, percent }));

/** A transaction: one entry of the user's ledger. */
export const TransactionSchema = named(
  "Transaction",
  v.object({
    transactionId: text,
    type: v.picklist(["credit", "debit"]),
    currency: text,
    amount: number,
    balanceAfter: number,
    status: v.picklist(["completed", "pending", "expired", "reversed"]),
    reason: text,
    description: v.nullable(text),
    source: v.object({ type: text, id: v.nullable(text) }),
    relatedTransactionId: v.nullable(text),
    availableAt: timeOrNull,
    expiresAt: timeOrNull,
    createdAt: TimeSchema,
    happenedAt: v.pipe(
      TimeSchema,
      v.description("When the action happened; createdAt where no action caused the transaction"),
    ),
    actionId: v.nullable(v.pipe(text, v.description("Id of the action; null where none caused it"))),
    metadata: v.pipe(
      v.record(text, v.unknown()),
      v.description("Metadata given with the action, reward or redemption, else the data of the action"),
    ),
  }),
);

/** The statuses of a challenge. One that a user may still begin is in progress and has no `startedAt`. */
export const ChallengeStatusSchema = v.picklist(["in_progress", "completed", "failed"]);

/** The members of a challenge that summaries have too. */
export const challengeEntries = {
  challengeId: text,
  title: text,
  subtitle: text,
  media: text,
  status: ChallengeStatusSchema,
  progress: ProgressSchema,
};

export const ChallengeDocumentSchema = named(
  "Challenge",
  v.object({
    ...challengeEntries,
    missions: v.array(
      v.object({
        missionId: text,
        title: text,
        type: text,
        status: v.picklist(["not_started", "in_progress", "completed"]),
        progress: ProgressSchema,
      }),
    ),
    rewards: v.array(EarnedRewardSchema),
    startsAt: timeOrNull,
    endsAt: timeOrNull,
    startedAt: timeOrNull,
    completedAt: timeOrNull,
    failedAt: timeOrNull,
    period: v.nullable(text),
  }),
);

export const NotificationSchema = named(
  "Notification",
  v.object({
    notificationId: text,
    type: text,
    display: text,
    title: text,
    message: text,
    payload: ChangePayloadSchema,
    isRead: v.boolean(),
    readAt: timeOrNull,
    createdAt: TimeSchema,
    expiresAt: TimeSchema,
  }),
);

export type TransactionDocument = Immutable<v.InferOutput<typeof TransactionSchema>>;
export type ChallengeDocument = Immutable<v.InferOutput<typeof ChallengeDocumentSchema>>;
export type NotificationDocument = Immutable<v.InferOutput<typeof NotificationSchema>>;

export const pageEntries = { lastEvaluatedKey: v.nullable(text) };
export const notificationsPageEntries = { ...pageEntries, unreadCount: count };

export function transactionDocument(item: LedgerEntryView): TransactionDocument {
  const { id, at, entry, transaction, record, isReversed } = item;
  const { metricId, type, amount, balanceAfter, status, lot } = entry;
  const { reason = null } = transaction.payload;
  const { happenedAt = at, actionId = null, metadata } = transaction;
  const reported = transaction.type === "actionRewarded" ? record.action?.data : undefined;
  return {
    transactionId: id,
    type,
    currency: metricId,
    amount,
    balanceAfter,
    status: isReversed && status !== "expired" ? "reversed" : status,
    reason: transaction.type,
    description: reason,
    source: sourceOf(item),
    relatedTransactionId: record.reversalOf ?? null,
    availableAt: status === "pending" && lot !== undefined ? isoTime(lot.activatesAt) : null,
    expiresAt: isoTimeOrNull(lot?.expiresAt ?? null),
    createdAt: isoTime(at),
    happenedAt: isoTime(happenedAt),
    actionId,
    metadata: metadata ?? reported ?? {},
  };
}

/** Returns the source of an entry by the type of its transaction; other types are adjustments. */
function sourceOf({ transaction, record }: LedgerEntryView): TransactionDocument["source"] {
  const { type, payload } = transaction;
  if (payload.redemptionId !== undefined) return { type: "redemption", id: payload.redemptionId };
  switch (type) {
    case "actionRewarded":
      return { type: "action", id: record.action?.name ?? null };
    case "missionCompleted":
    case "challengeStarted":
    case "challengeCompleted":
    case "challengeFailed":
      return { type: "challenge", id: payload.challengeId ?? null };
    case "milestoneReached":
      return { type: "milestone", id: Object.keys(payload.milestoneChanges)[0] ?? null };
    case "rewardGranted":
      return { type: "reward", id: record.grant?.id ?? null };
    case "pointsExpired":
      return { type: "expiry", id: null };
    case "pointsActivated":
      return { type: "activation", id: null };
    case "reversed":
      return { type: "reversal", id: record.reversalOf ?? null };
    default:
      return { type: "adjustment", id: null };
  }
}

export function challengeHead({
  challenge,
  status,
  progress,
}: Pick<ChallengeView, "challenge" | "status" | "progress">): Pick<
  ChallengeDocument,
  keyof typeof challengeEntries
> {
  const { id: challengeId, title, subtitle, media } = challenge;
  const shown = status === "not_started" ? "in_progress" : status;
  return { challengeId, title, subtitle, media, status: shown, progress };
}

export function challengeDocument(view: ChallengeView): ChallengeDocument {
  return {
    ...challengeHead(view),
    missions: view.missions.map(({ mission: { id, title, type }, status, progress }) => ({
      missionId: id,
      title,
      type,
      status,
      progress,
    })),
    rewards: view.challenge.rewards,
    startsAt: isoTimeOrNull(view.startsAt),
    endsAt: isoTimeOrNull(view.endsAt),
    startedAt: isoTimeOrNull(view.startedAt),
    completedAt: isoTimeOrNull(view.completedAt),
    failedAt: isoTimeOrNull(view.failedAt),
    period: view.period,
  };
}

export function notificationDocument(item: InboxItem): NotificationDocument {
  const { id, type, display, title, message, payload, isRead, readAt, createdAt, expiresAt } = item;
  return {
    notificationId: id,
    type,
    display,
    title,
    message,
    payload,
    isRead,
    readAt: isoTimeOrNull(readAt),
    createdAt: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
  };
}
