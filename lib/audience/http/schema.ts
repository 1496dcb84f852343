/**
 * Shapes of the audience API, as the OpenAPI document tells them. Times are ISO 8601; names of types are open: more may come.
 *
 * @module
 */

import * as v from "valibot";
import {
  ChangePayloadSchema,
  EarnedRewardSchema,
  PropertiesSchema,
} from "../../loyalty/views/change_payload.ts";

const text = v.string();
const flag = v.boolean();
const number = v.number();
const textOrNull = v.nullable(text);

/** Any JSON object: what an application keeps here is its own. */
const JsonObject = v.record(text, v.unknown());
const Progress = v.object({ current: number, target: number, percent: number });
const ChallengeStatus = v.picklist(["in_progress", "completed", "failed"]);

const Balance = v.object({
  available: number,
  pending: number,
  expiringSoon: v.array(v.object({ amount: number, expiresAt: text })),
  lifetimeEarned: number,
  lifetimeSpent: number,
});

const challengeEntries = { challengeId: text, title: text, subtitle: text, media: text };

const Profile = v.object({
  userId: text,
  displayName: textOrNull,
  preferences: JsonObject,
  customFields: PropertiesSchema,
  loyalty: v.object({
    metrics: v.record(text, number),
    balances: v.record(text, Balance),
    inventory: v.record(text, v.array(text)),
    tier: v.nullable(v.object({ id: text, name: text, progress: v.nullable(Progress) })),
  }),
  activeChallenges: v.array(
    v.object({ ...challengeEntries, status: ChallengeStatus, progress: Progress, endsAt: textOrNull }),
  ),
  unreadNotifications: number,
  createdAt: textOrNull,
  updatedAt: textOrNull,
  version: number,
});

const Transaction = v.object({
  transactionId: text,
  type: v.picklist(["credit", "debit"]),
  currency: text,
  amount: number,
  balanceAfter: number,
  status: v.picklist(["completed", "pending", "expired", "reversed"]),
  reason: text,
  description: textOrNull,
  source: v.object({ type: text, id: textOrNull }),
  relatedTransactionId: textOrNull,
  availableAt: textOrNull,
  expiresAt: textOrNull,
  createdAt: text,
  metadata: PropertiesSchema,
});

const Mission = v.object({
  missionId: text,
  title: text,
  type: text,
  status: v.picklist(["not_started", "in_progress", "completed"]),
  progress: Progress,
});

const Challenge = v.object({
  ...challengeEntries,
  status: ChallengeStatus,
  progress: Progress,
  missions: v.array(Mission),
  rewards: v.array(EarnedRewardSchema),
  startsAt: textOrNull,
  endsAt: textOrNull,
  startedAt: textOrNull,
  completedAt: textOrNull,
  failedAt: textOrNull,
  period: textOrNull,
});

const Notification = v.object({
  notificationId: text,
  type: text,
  display: text,
  title: text,
  message: text,
  payload: ChangePayloadSchema,
  isRead: flag,
  readAt: textOrNull,
  createdAt: text,
  expiresAt: text,
});

const Product = v.object({
  productId: text,
  title: text,
  description: text,
  media: text,
  category: text,
  sku: textOrNull,
  prices: v.array(v.object({ currency: text, amount: number })),
  stock: v.variant("type", [
    v.object({ type: v.literal("unlimited") }),
    v.object({ type: v.literal("limited"), available: number }),
  ]),
  limits: v.nullable(v.object({ perUser: number, window: textOrNull })),
  availableFrom: textOrNull,
  availableTo: textOrNull,
  fulfilment: v.object({ type: text }),
  canRedeem: flag,
  reasons: v.array(text),
});

const message = text;
const transactions = { data: v.array(Transaction), lastEvaluatedKey: textOrNull };
const challenges = { data: v.array(Challenge), lastEvaluatedKey: textOrNull };
const notifications = {
  data: v.array(Notification),
  lastEvaluatedKey: textOrNull,
  unreadCount: number,
};

const UnknownUser = v.object({
  user_id: text,
  data: v.null(),
  error: v.object({ code: text, message: text }),
});

/** The answer for several users, in the order in which they were named: what each has, or an error. */
function users(entries: v.ObjectEntries): v.GenericSchema {
  return v.object({
    message,
    users: v.array(v.union([v.object({ user_id: text, ...entries }), UnknownUser])),
  });
}

/** A profile in its envelope. */
export const ProfileSchema: v.GenericSchema = v.object({ message, data: Profile });
/** The profiles of several users. */
export const ProfilesSchema: v.GenericSchema = users({ data: Profile });
/** A page of transactions. */
export const TransactionsSchema: v.GenericSchema = v.object({ message, ...transactions });
/** A page of transactions for each of several users. */
export const UsersTransactionsSchema: v.GenericSchema = users(transactions);
/** A page of challenges. */
export const ChallengesSchema: v.GenericSchema = v.object({ message, ...challenges });
/** A page of challenges for each of several users. */
export const UsersChallengesSchema: v.GenericSchema = users(challenges);
/** A page of notifications. */
export const NotificationsSchema: v.GenericSchema = v.object({ message, ...notifications });
/** A page of notifications for each of several users. */
export const UsersNotificationsSchema: v.GenericSchema = users(notifications);
/** All products, on one page. */
export const ProductsSchema: v.GenericSchema = v.object({
  message,
  data: v.array(Product),
  lastEvaluatedKey: v.null(),
});
