/** The replies of the loyalty API. Names of types are open: more may come. */

import * as v from "valibot";
import { named } from "../../../http/mod.ts";
import {
  ChangePayloadSchema,
  EarnedRewardSchema,
  FulfilmentSchema,
  NotificationSchema,
  notificationText,
  PropertiesSchema,
  TransactionSchema,
  UserCouponSchema,
} from "../user/change_payload.ts";
import { RewardsProfileSchema } from "../views/loyalty_reader.ts";

const text = v.string();
const flag = v.boolean();
const number = v.number();
const integer = v.pipe(v.number(), v.integer());
const seconds = v.pipe(v.number(), v.integer(), v.description("Unix time in seconds"));
const texts = v.array(text);

const Challenge = named(
  "LoyaltyChallenge",
  v.object({
    id: text,
    title: text,
    subtitle: text,
    notification: v.object(notificationText),
    showInProfile: flag,
    showInRail: flag,
    time: v.object({ showInUI: flag, from: seconds, to: seconds }),
    missions: v.array(
      v.object({ id: text, title: text, type: text, notification: v.object(notificationText) }),
    ),
    rewards: v.array(EarnedRewardSchema),
  }),
);

const MilestoneSet = named(
  "LoyaltyMilestones",
  v.object({
    id: text,
    title: text,
    metricId: text,
    measure: text,
    isTier: v.pipe(flag, v.description("True for tiers, of which the profile shows the one that is reached")),
    milestones: v.array(
      v.object({
        id: text,
        title: text,
        media: text,
        threshold: v.pipe(number, v.description("The measure of the metric from which it is reached")),
        rewards: v.array(EarnedRewardSchema),
      }),
    ),
  }),
);

/** The members of a configuration that clients see. */
export const PublicConfigSchema = named(
  "PublicLoyaltyConfig",
  v.object({
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
    milestones: v.pipe(
      v.array(MilestoneSet),
      v.description("Sets of milestones, each by ascending threshold"),
    ),
    challenges: v.array(Challenge),
  }),
);

const Failures = v.array(
  named("ConditionFailure", v.object({ path: text, expected: text, actual: v.unknown() })),
);

const DryRun = named(
  "DryRun",
  v.object({
    settled: v.array(v.object({ at: seconds, type: text, payload: ChangePayloadSchema })),
    effects: v.array(v.object({ type: text, payload: ChangePayloadSchema })),
    rules: v.array(v.object({ ruleId: text, fired: flag, failures: Failures })),
    missions: v.array(
      v.object({ challengeId: text, missionId: text, advanced: flag, completed: flag, failures: Failures }),
    ),
    challenges: v.array(v.object({ challengeId: text, before: text, after: text })),
    notifications: v.array(v.object({ type: text, ...notificationText, payload: ChangePayloadSchema })),
    diagnostics: v.array(v.object({ type: text, triggers: texts })),
    profile: RewardsProfileSchema,
  }),
);

const Reconciliation = named(
  "Reconciliation",
  v.object({
    ok: flag,
    metrics: v.array(
      v.object({
        metricId: text,
        balance: v.nullable(number),
        folded: v.nullable(number),
        isComplete: flag,
      }),
    ),
    faults: v.array(v.object({ metricId: text, recordId: v.nullable(text), detail: text })),
  }),
);

const Replay = named(
  "HistoryReplay",
  v.object({
    records: integer,
    isComplete: flag,
    version: text,
    differences: v.array(v.object({ pointer: text, a: v.unknown(), b: v.unknown() })),
  }),
);

const Redemption = named(
  "UserRedemption",
  v.object({
    redemptionId: text,
    productId: text,
    quantity: integer,
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

const CodePool = named(
  "CodePool",
  v.object({ poolId: text, total: integer, available: integer, allocated: integer, redeemed: integer }),
);
const AddedCodes = named(
  "AddedCodes",
  v.object({ ...CodePool.entries, added: integer, duplicates: integer }),
);
const RedeemedCode = named("RedeemedCode", v.object({ code: text, redeemedAt: text }));

export const ConfigResponse = reply("PublicLoyaltyConfigReply", PublicConfigSchema);
export const ProfileResponse = reply("RewardsProfileReply", RewardsProfileSchema);
export const NotificationsResponse = reply("LoyaltyNotificationsReply", v.array(NotificationSchema));

const ownVotes = {
  elementId: text,
  votes: v.pipe(integer, v.description("Number of the user's votes for the element")),
  options: v.pipe(
    v.array(
      v.object({ option: v.pipe(integer, v.description("Number of the option, from 1 on")), votes: integer }),
    ),
    v.description("The options that the user chose, with the number of votes for each"),
  ),
};
const isRight = v.exactOptional(
  v.pipe(
    flag,
    v.description("True for the right option; left out unless the element tells the answer with the vote"),
  ),
);
export const VoteResponse = reply(
  "VoteReply",
  v.object({ counted: flag, vote: v.object(ownVotes), isRight }),
);
export const VotesResponse = reply(
  "OwnVotesReply",
  v.array(named("OwnVotes", v.object({ ...ownVotes, isRight }))),
);
export const HistoryResponse = named(
  "LoyaltyHistoryReply",
  v.object({
    message: text,
    data: v.array(TransactionSchema),
    cursor: v.exactOptional(v.pipe(text, v.description("Continues the list; left out on the last page"))),
  }),
);
export const TransactionResponse = reply("LoyaltyTransactionReply", TransactionSchema);
export const DryRunResponse = reply("DryRunReply", DryRun);
export const ReconciliationResponse = reply("ReconciliationReply", Reconciliation);
export const ReplayResponse = reply("HistoryReplayReply", Replay);
export const CouponResponse = reply("UserCouponReply", UserCouponSchema);
export const RedemptionResponse = reply("UserRedemptionReply", Redemption);
export const CodePoolResponse = reply("CodePoolReply", CodePool);
export const AddedCodesResponse = reply("AddedCodesReply", AddedCodes);
export const RedeemedCodeResponse = reply("RedeemedCodeReply", RedeemedCode);

function reply<S extends v.GenericSchema>(
  name: string,
  data: S,
): v.ObjectSchema<{ readonly message: v.StringSchema<undefined>; readonly data: S }, undefined> {
  return named(name, v.object({ message: text, data }));
}
