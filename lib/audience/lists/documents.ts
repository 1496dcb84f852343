/**
 * What the audience API shows: profiles, transactions, challenges and notifications as JSON.
 *
 * @module
 */

import type { Version } from "../../storage/mod.ts";
import { isoTime, isoTimeOrNull } from "../_times.ts";
import type { NotificationItem } from "../loyalty.ts";
import type { Profile } from "../profile/profiles.ts";
import { ProfileMembers, type ProfileRecord } from "../profile/record.ts";
import type { Progress, SeenChallenge, SeenEntry, SeenLoyalty } from "../sight.ts";

interface Printed {
  /** Of the profile's record; null: there is none. */
  readonly version: Version | null;
  readonly text: string;
}

/** The texts of profiles by what was shown of the user's loyalty, which is the same object as long as it stays the same. */
const printed = new WeakMap<SeenLoyalty, Printed>();

/** The JSON of a profile's document. What is stored as JSON goes into it as it is, and what was printed before is not again. */
export function profileText(userId: string, { record, loyalty }: Profile): string {
  const version = record?.version ?? null;
  const known = printed.get(loyalty);
  if (known?.version === version) return known.text;
  const text = printProfile(userId, { record, loyalty });
  printed.set(loyalty, { version, text });
  return text;
}

function printProfile(userId: string, { record, loyalty }: Profile): string {
  const members = new ProfileMembers(record);
  const member = (name: keyof ProfileRecord): string => `"${name}":${members.text(name)}`;
  const time = (name: "createdAt" | "updatedAt"): string => {
    const at = members.text(name);
    return `"${name}":${at === "null" ? at : `"${isoTime(Number(at))}"`}`;
  };
  return (
    `{"userId":${JSON.stringify(userId)},${member("displayName")},${member("preferences")},` +
    `${member("customFields")},${loyaltyMembers(loyalty)},${time("createdAt")},${time("updatedAt")},${member("version")}}`
  );
}

/** The members of a profile's document that tell of the user's loyalty. */
function loyaltyMembers(loyalty: SeenLoyalty): string {
  const { metrics, inventory, tier, activeChallenges, unreadNotifications } = loyalty;
  const document = {
    loyalty: { metrics, balances: balancesDocument(loyalty.balances), inventory, tier },
    activeChallenges: activeChallenges.map(challengeSummary),
    unreadNotifications,
  };
  return JSON.stringify(document).slice(1, -1);
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
