/**
 * What the audience API shows: profiles, transactions, challenges and notifications as JSON.
 *
 * @module
 */

import { isoTime, isoTimeOrNull } from "./_times.ts";
import type { NotificationItem } from "./loyalty.ts";
import type { Profile } from "./profiles.ts";
import type { Progress, SeenChallenge, SeenEntry, SeenLoyalty } from "./sight.ts";

/** The document of a profile. */
export function profileDocument(userId: string, { record, loyalty }: Profile): unknown {
  const { metrics, inventory, tier } = loyalty;
  return {
    userId,
    displayName: record.displayName,
    preferences: record.preferences,
    customFields: record.customFields,
    loyalty: { metrics, balances: balancesDocument(loyalty.balances), inventory, tier },
    activeChallenges: loyalty.activeChallenges.map(challengeSummary),
    unreadNotifications: loyalty.unreadNotifications,
    createdAt: isoTimeOrNull(record.createdAt),
    updatedAt: isoTimeOrNull(record.updatedAt),
    version: record.version,
  };
}

/** The document of a transaction: one entry of the ledger. */
export function transactionDocument({ id, at, entry, transaction, record, isReversed }: SeenEntry): unknown {
  const { metricId, type, amount, balanceAfter, status, lot } = entry;
  return {
    transactionId: id,
    type,
    currency: metricId,
    amount,
    balanceAfter,
    status: isReversed && status !== "expired" ? "reversed" : status,
    reason: transaction.type,
    description: transaction.payload.reason ?? null,
    source: sourceOf({ transaction, record }),
    relatedTransactionId: record.reversalOf ?? null,
    availableAt: status === "pending" && lot !== undefined ? isoTime(lot.activatesAt) : null,
    expiresAt: isoTimeOrNull(lot?.expiresAt ?? null),
    createdAt: isoTime(at),
    metadata: metadataOf({ transaction, record }),
  };
}

/** The document of a challenge. */
export function challengeDocument(seen: SeenChallenge): unknown {
  const { challenge, status, progress, missions } = seen;
  return {
    challengeId: challenge.id,
    title: challenge.title,
    subtitle: challenge.subtitle,
    media: challenge.media,
    status,
    progress,
    missions: missions.map(({ mission, ...standing }) => ({
      missionId: mission.id,
      title: mission.title,
      type: mission.type,
      ...standing,
    })),
    rewards: challenge.rewards,
    startsAt: isoTimeOrNull(seen.startsAt),
    endsAt: isoTimeOrNull(seen.endsAt),
    startedAt: isoTimeOrNull(seen.startedAt),
    completedAt: isoTimeOrNull(seen.completedAt),
    failedAt: isoTimeOrNull(seen.failedAt),
    period: seen.period,
  };
}

/** The document of a notification. */
export function notificationDocument(item: NotificationItem): unknown {
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

function challengeSummary({ challenge, status, progress, endsAt }: SeenChallenge): {
  readonly progress: Progress;
} & Readonly<Record<string, unknown>> {
  const { id, title, subtitle, media } = challenge;
  return { challengeId: id, title, subtitle, media, status, progress, endsAt: isoTimeOrNull(endsAt) };
}

function balancesDocument(balances: SeenLoyalty["balances"]): unknown {
  return Object.fromEntries(
    Object.entries(balances).map(
      ([id, { available, pending, expiringSoon, lifetimeEarned, lifetimeSpent }]) => [
        id,
        {
          available,
          pending,
          expiringSoon: expiringSoon.map(({ amount, expiresAt }) => ({
            amount,
            expiresAt: isoTime(expiresAt),
          })),
          lifetimeEarned,
          lifetimeSpent,
        },
      ],
    ),
  );
}

/** What whoever caused the entry said of it. */
function metadataOf({ transaction, record }: Pick<SeenEntry, "transaction" | "record">): unknown {
  const { type, payload } = transaction;
  return payload.metadata ?? (type === "actionRewarded" ? record.action?.data : undefined) ?? {};
}

/** What an entry comes from, by the type of its transaction; types that are not listed are adjustments. */
function sourceOf({ transaction, record }: Pick<SeenEntry, "transaction" | "record">): {
  readonly type: string;
  readonly id: string | null;
} {
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
