/**
 * What the loyalty API answers, as the OpenAPI document tells it. Names of types are open: more may come.
 *
 * @module
 */

import * as v from "valibot";
import {
  FulfilmentSchema,
  ChangePayloadSchema as Payload,
  PropertiesSchema,
  EarnedRewardSchema as Reward,
  UserCouponSchema,
} from "../views/change_payload.ts";

const text = v.string();
const flag = v.boolean();
const number = v.number();
const seconds = v.pipe(v.number(), v.integer());
const texts = v.array(text);

const notificationEntries = { display: text, title: text, message: text };
const Challenge = v.object({
  id: text,
  title: text,
  subtitle: text,
  notification: v.object(notificationEntries),
  showInProfile: flag,
  showInRail: flag,
  time: v.object({ showInUI: flag, from: seconds, to: seconds }),
  missions: v.array(
    v.object({ id: text, title: text, type: text, notification: v.object(notificationEntries) }),
  ),
  rewards: v.array(Reward),
});

const Config = v.object({
  metrics: v.array(
    v.object({
      id: text,
      title: text,
      media: text,
      defaultValue: number,
      minimumValue: number,
      maximumValue: number,
    }),
  ),
  inventory: v.array(
    v.object({ id: text, title: text, items: v.array(v.object({ id: text, title: text, media: text })) }),
  ),
  challenges: v.array(Challenge),
});

const Profile = v.object({
  metrics: v.record(text, number),
  inventory: v.record(text, texts),
  challenges: v.record(text, v.object({ isCompleted: flag, missionsCompleted: texts })),
});

const Transaction = v.object({ id: text, timestamp: seconds, type: text, payload: Payload });
const Notification = v.object({
  id: text,
  timestamp: seconds,
  type: text,
  ...notificationEntries,
  payload: Payload,
});

const Failures = v.array(v.object({ path: text, expected: text, actual: v.unknown() }));

const DryRun = v.object({
  settled: v.array(v.object({ at: seconds, type: text, payload: Payload })),
  effects: v.array(v.object({ type: text, payload: Payload })),
  rules: v.array(v.object({ ruleId: text, fired: flag, failures: Failures })),
  missions: v.array(
    v.object({ challengeId: text, missionId: text, advanced: flag, completed: flag, failures: Failures }),
  ),
  challenges: v.array(v.object({ challengeId: text, before: text, after: text })),
  notifications: v.array(v.object({ type: text, ...notificationEntries, payload: Payload })),
  diagnostics: v.array(v.object({ type: text, triggers: texts })),
  profile: Profile,
});

const Reconciliation = v.object({
  ok: flag,
  metrics: v.array(
    v.object({ metricId: text, balance: v.nullable(number), folded: v.nullable(number), isComplete: flag }),
  ),
  faults: v.array(v.object({ metricId: text, recordId: v.nullable(text), detail: text })),
});

const Replay = v.object({
  records: number,
  isComplete: flag,
  version: text,
  differences: v.array(v.object({ pointer: text, a: v.unknown(), b: v.unknown() })),
});

function answer(data: v.GenericSchema): v.GenericSchema {
  return v.object({ message: text, data });
}

/** The configuration as clients see it. */
export const ConfigResponse: v.GenericSchema = answer(Config);
/** The rewards profile. */
export const ProfileResponse: v.GenericSchema = answer(Profile);
/** Unread notifications; times are Unix seconds. */
export const NotificationsResponse: v.GenericSchema = answer(v.array(Notification));
/** Transactions in ascending time; times are Unix seconds. */
export const HistoryResponse: v.GenericSchema = answer(v.array(Transaction));
/** One transaction. */
export const TransactionResponse: v.GenericSchema = answer(Transaction);
/** What an action would do, and why rules and missions would not hold. */
export const DryRunResponse: v.GenericSchema = answer(DryRun);
/** The proof of a user's ledger. */
export const ReconciliationResponse: v.GenericSchema = answer(Reconciliation);
/** How a replay of a user's history differs from what the user has. */
export const ReplayResponse: v.GenericSchema = answer(Replay);
/** A coupon of a user. */
export const CouponResponse: v.GenericSchema = answer(UserCouponSchema);
/** A redemption of a user; times are Unix seconds. */
export const RedemptionResponse: v.GenericSchema = answer(
  v.object({
    redemptionId: text,
    productId: text,
    quantity: number,
    cost: v.object({ currency: text, amount: number }),
    status: text,
    fault: v.nullable(text),
    transactionId: v.nullable(text),
    fulfilment: FulfilmentSchema,
    balances: v.record(text, number),
    metadata: PropertiesSchema,
    createdAt: seconds,
    changedAt: seconds,
  }),
);
