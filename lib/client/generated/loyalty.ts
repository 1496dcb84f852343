/**
 * Operations of the area loyalty. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions, List } from "../area.ts";
import type { ChangePayload, EarnedReward, Fulfilment, LoyaltyTransaction, Properties, UserCoupon } from "./shared.ts";

/** `ActionData` of the OpenAPI document. */
export type ActionData = Readonly<Record<string, string | number | boolean>>;

/** `ActionReport` of the OpenAPI document. */
export interface ActionReport {
  /** Name of an action of the space's configuration */
  readonly action: string;
  /** Facts of the action, which rules compare and add up */
  readonly data?: ActionData;
  /** The action takes effect once under this id */
  readonly actionId?: string;
  /** True: a back end's vote is checked like that of a fan, which always is */
  readonly isGuarded?: boolean;
}

/** `ActionTrial` of the OpenAPI document. */
export interface ActionTrial {
  /** Name of an action of the space's configuration */
  readonly action: string;
  /** Facts of the action, which rules compare and add up */
  readonly data?: ActionData;
  /** Id of the user */
  readonly userId: string;
}

/** `AddedCodes` of the OpenAPI document. */
export interface AddedCodes {
  readonly poolId: string;
  readonly total: number;
  readonly available: number;
  readonly allocated: number;
  readonly redeemed: number;
  readonly added: number;
  readonly duplicates: number;
}

/** `AddedCodesReply` of the OpenAPI document. */
export interface AddedCodesReply {
  readonly message: string;
  readonly data: AddedCodes;
}

/** `CodePool` of the OpenAPI document. */
export interface CodePool {
  readonly poolId: string;
  readonly total: number;
  readonly available: number;
  readonly allocated: number;
  readonly redeemed: number;
}

/** `CodePoolReply` of the OpenAPI document. */
export interface CodePoolReply {
  readonly message: string;
  readonly data: CodePool;
}

/** `CodeToRedeem` of the OpenAPI document. */
export interface CodeToRedeem {
  /** The code as its holder presents it */
  readonly code: string;
}

/** `ConditionFailure` of the OpenAPI document. */
export interface ConditionFailure {
  readonly path: string;
  readonly expected: string;
  readonly actual: unknown;
}

/** `DryRun` of the OpenAPI document. */
export interface DryRun {
  readonly settled: readonly {
    /** Unix time in seconds */
    readonly at: number;
    readonly type: string;
    readonly payload: ChangePayload;
  }[];
  readonly effects: readonly {
    readonly type: string;
    readonly payload: ChangePayload;
  }[];
  readonly rules: readonly {
    readonly ruleId: string;
    readonly fired: boolean;
    readonly failures: readonly ConditionFailure[];
  }[];
  readonly missions: readonly {
    readonly challengeId: string;
    readonly missionId: string;
    readonly advanced: boolean;
    readonly completed: boolean;
    readonly failures: readonly ConditionFailure[];
  }[];
  readonly challenges: readonly {
    readonly challengeId: string;
    readonly before: string;
    readonly after: string;
  }[];
  readonly notifications: readonly {
    readonly type: string;
    readonly display: string;
    readonly title: string;
    readonly message: string;
    readonly payload: ChangePayload;
  }[];
  readonly diagnostics: readonly {
    readonly type: string;
    readonly triggers: readonly string[];
  }[];
  readonly profile: RewardsProfile;
}

/** `DryRunReply` of the OpenAPI document. */
export interface DryRunReply {
  readonly message: string;
  readonly data: DryRun;
}

/** `HistoryReplay` of the OpenAPI document. */
export interface HistoryReplay {
  readonly records: number;
  readonly isComplete: boolean;
  readonly version: string;
  readonly differences: readonly {
    readonly pointer: string;
    readonly a: unknown;
    readonly b: unknown;
  }[];
}

/** `HistoryReplayReply` of the OpenAPI document. */
export interface HistoryReplayReply {
  readonly message: string;
  readonly data: HistoryReplay;
}

/** `HistoryReplayRequest` of the OpenAPI document. */
export interface HistoryReplayRequest {
  /** Loyalty configuration to replay under; without it the current one */
  readonly document?: ReplayedConfiguration;
}

/** `LoyaltyChallenge` of the OpenAPI document. */
export interface LoyaltyChallenge {
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  readonly notification: {
    readonly display: string;
    readonly title: string;
    readonly message: string;
  };
  readonly showInProfile: boolean;
  readonly showInRail: boolean;
  readonly time: {
    readonly showInUI: boolean;
    /** Unix time in seconds */
    readonly from: number;
    /** Unix time in seconds */
    readonly to: number;
  };
  readonly missions: readonly {
    readonly id: string;
    readonly title: string;
    readonly type: string;
    readonly notification: {
      readonly display: string;
      readonly title: string;
      readonly message: string;
    };
  }[];
  readonly rewards: readonly EarnedReward[];
}

/** `LoyaltyHistoryReply` of the OpenAPI document. */
export interface LoyaltyHistoryReply {
  readonly message: string;
  readonly data: readonly LoyaltyTransaction[];
  /** Continues the list; left out on the last page */
  readonly cursor?: string;
}

/** `LoyaltyNotification` of the OpenAPI document. */
export interface LoyaltyNotification {
  readonly id: string;
  /** Unix time in seconds */
  readonly timestamp: number;
  readonly type: string;
  readonly display: string;
  readonly title: string;
  readonly message: string;
  readonly payload: ChangePayload;
}

/** `LoyaltyNotificationsReply` of the OpenAPI document. */
export interface LoyaltyNotificationsReply {
  readonly message: string;
  readonly data: readonly LoyaltyNotification[];
}

/** `LoyaltyTransactionReply` of the OpenAPI document. */
export interface LoyaltyTransactionReply {
  readonly message: string;
  readonly data: LoyaltyTransaction;
}

/** `NewCodes` of the OpenAPI document. */
export interface NewCodes {
  /** Codes to add to the pool */
  readonly codes: readonly string[];
}

/** `OwnVotes` of the OpenAPI document. */
export interface OwnVotes {
  readonly elementId: string;
  /** Number of the user's votes for the element */
  readonly votes: number;
  /** The options that the user chose, with the number of votes for each */
  readonly options: readonly {
    /** Number of the option, from 1 on */
    readonly option: number;
    readonly votes: number;
  }[];
}

/** `OwnVotesReply` of the OpenAPI document. */
export interface OwnVotesReply {
  readonly message: string;
  readonly data: readonly OwnVotes[];
}

/** `PublicLoyaltyConfig` of the OpenAPI document. */
export interface PublicLoyaltyConfig {
  readonly metrics: readonly {
    readonly id: string;
    readonly title: string;
    readonly media: string;
    readonly defaultValue: number;
    readonly minimumValue: number;
    readonly maximumValue: number;
  }[];
  readonly inventory: readonly {
    readonly id: string;
    readonly title: string;
    readonly items: readonly {
      readonly id: string;
      readonly title: string;
      readonly media: string;
    }[];
  }[];
  readonly challenges: readonly LoyaltyChallenge[];
}

/** `PublicLoyaltyConfigReply` of the OpenAPI document. */
export interface PublicLoyaltyConfigReply {
  readonly message: string;
  readonly data: PublicLoyaltyConfig;
}

/** `Reconciliation` of the OpenAPI document. */
export interface Reconciliation {
  readonly ok: boolean;
  readonly metrics: readonly ({
    readonly metricId: string;
    readonly balance: number | null;
    readonly folded: number | null;
    readonly isComplete: boolean;
  })[];
  readonly faults: readonly ({
    readonly metricId: string;
    readonly recordId: string | null;
    readonly detail: string;
  })[];
}

/** `ReconciliationReply` of the OpenAPI document. */
export interface ReconciliationReply {
  readonly message: string;
  readonly data: Reconciliation;
}

/** `RedeemedCode` of the OpenAPI document. */
export interface RedeemedCode {
  readonly code: string;
  readonly redeemedAt: string;
}

/** `RedeemedCodeReply` of the OpenAPI document. */
export interface RedeemedCodeReply {
  readonly message: string;
  readonly data: RedeemedCode;
}

/** `RedemptionRefund` of the OpenAPI document. */
export interface RedemptionRefund {
  /** Whether the items count as in stock again */
  readonly restock?: boolean;
}

/** `ReplayedConfiguration` of the OpenAPI document. */
export type ReplayedConfiguration = Readonly<Record<string, never>>;

/** `RewardsProfile` of the OpenAPI document. */
export interface RewardsProfile {
  readonly metrics: Readonly<Record<string, number>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  readonly challenges: Readonly<Record<string, {
    readonly isCompleted: boolean;
    readonly missionsCompleted: readonly string[];
  }>>;
}

/** `RewardsProfileReply` of the OpenAPI document. */
export interface RewardsProfileReply {
  readonly message: string;
  readonly data: RewardsProfile;
}

/** `TransactionReversal` of the OpenAPI document. */
export interface TransactionReversal {
  /** Id of the transaction to take back, or of one of its entries */
  readonly transactionId: string;
}

/** `UserCouponReply` of the OpenAPI document. */
export interface UserCouponReply {
  readonly message: string;
  readonly data: UserCoupon;
}

/** `UserRedemption` of the OpenAPI document. */
export interface UserRedemption {
  readonly redemptionId: string;
  readonly productId: string;
  readonly quantity: number;
  readonly cost: {
    readonly currency: string;
    readonly amount: number;
  };
  readonly status: string;
  readonly fault: string | null;
  readonly transactionId: string | null;
  readonly fulfilment: Fulfilment;
  readonly balances: Readonly<Record<string, number>>;
  readonly metadata: Properties;
  /** Unix time in seconds */
  readonly createdAt: number;
  /** Unix time in seconds */
  readonly changedAt: number;
}

/** `UserRedemptionReply` of the OpenAPI document. */
export interface UserRedemptionReply {
  readonly message: string;
  readonly data: UserRedemption;
}

/** `VoteReply` of the OpenAPI document. */
export interface VoteReply {
  readonly message: string;
  readonly data: {
    readonly counted: boolean;
    readonly vote: {
      readonly elementId: string;
      /** Number of the user's votes for the element */
      readonly votes: number;
      /** The options that the user chose, with the number of votes for each */
      readonly options: readonly {
        /** Number of the option, from 1 on */
        readonly option: number;
        readonly votes: number;
      }[];
    };
    /** True for the right option; left out unless the element tells the answer with the vote */
    readonly isRight?: boolean;
  };
}

/** Operations of the area loyalty. */
export interface LoyaltyOperations {
  /** Get the loyalty configuration. With a token, the configuration for its user; without one, the public part. */
  getLoyaltyConfig(input?: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<PublicLoyaltyConfig, PublicLoyaltyConfigReply>;

  /** Report an action of the user. The next read of the user's loyalty shows the effects; leaderboards follow in the background, usually within a second. Reports of a user with the same `actionId` take effect once. An action whose `data.elementId` is an element is a vote for the `data.option` that it names, from 1 on. */
  reportAction(input: {
    /** Id of the user whom a service token acts for; required with one */
    readonly user_id?: string;
    /** Project of the user, where the space may not know the user yet */
    readonly project_id?: string;
    readonly body: ActionReport;
  }, options?: CallOptions): Answer<VoteReply["data"] | undefined, VoteReply>;

  /** Get a coupon of the user. Returns the coupon with its code. An expired coupon is not found. */
  getCoupon(input: {
    /** Id of the user's own coupon, or of a coupon of the configuration for the newest one */
    readonly couponId: string;
    /** Id of the user whom a service token acts for; required with one */
    readonly user_id?: string;
    /** Project of the user, where the space may not know the user yet */
    readonly project_id?: string;
  }, options?: CallOptions): Answer<UserCoupon, UserCouponReply>;

  /** List the user's votes in an event. In the order of the event's elements, those without votes left out. */
  listOwnVotes(input: {
    /** Id of the user whom a service token acts for; required with one */
    readonly user_id?: string;
    /** Project of the user, where the space may not know the user yet */
    readonly project_id?: string;
    /** Id of the event */
    readonly event_id: string;
  }, options?: CallOptions): Answer<readonly OwnVotes[], OwnVotesReply>;

  /** Get the user's rewards profile. Creates an empty profile where the user has none. */
  getRewardsProfile(input?: {
    /** Id of the user whom a service token acts for; required with one */
    readonly user_id?: string;
    /** Project of the user, where the space may not know the user yet */
    readonly project_id?: string;
  }, options?: CallOptions): Answer<RewardsProfile, RewardsProfileReply>;

  /** List the user's unread notifications. Oldest first. The audience API marks notifications as read. */
  listLoyaltyNotifications(input?: {
    /** Id of the user whom a service token acts for; required with one */
    readonly user_id?: string;
    /** Project of the user, where the space may not know the user yet */
    readonly project_id?: string;
  }, options?: CallOptions): Answer<readonly LoyaltyNotification[], LoyaltyNotificationsReply>;

  /** List the user's transactions. In ascending time. `cursor` continues the list where others may follow, even after a short or empty page. */
  listLoyaltyHistory(input?: {
    /** Id of the user whom a service token acts for; required with one */
    readonly user_id?: string;
    /** Project of the user, where the space may not know the user yet */
    readonly project_id?: string;
    /** Earliest time of a transaction, Unix seconds */
    readonly from?: number;
    /** Latest time of a transaction, Unix seconds, inclusive */
    readonly to?: number;
    /** Most transactions */
    readonly limit?: number;
    /** Continues after a page: its cursor, with the same from and to */
    readonly cursor?: string;
  }, options?: CallOptions): List<LoyaltyTransaction, LoyaltyHistoryReply>;

  /** Try an action of a user. Returns the effects that the action would have now, and why rules and missions would not hold. Nothing changes. */
  tryAction(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: ActionTrial;
  }, options?: CallOptions): Answer<DryRun, DryRunReply>;

  /** Reverse a transaction. Takes back what the transaction gave and took, once, and what its action has counted: uses of limits, counts and the progress of missions. */
  reverseTransaction(input: {
    /** Id of the user */
    readonly userId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: TransactionReversal;
  }, options?: CallOptions): Answer<LoyaltyTransaction, LoyaltyTransactionReply>;

  /** Reconcile a user's ledger. Proves that the user's metrics are the sums of the ledger's entries, or lists every fault. */
  reconcileUser(input: {
    /** Id of the user */
    readonly userId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<Reconciliation, ReconciliationReply>;

  /** Replay a user's history. Replays the history against a configuration, by default the current one, as if it had been in force from the start. Nothing changes. */
  replayUser(input: {
    /** Id of the user */
    readonly userId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: HistoryReplayRequest;
  }, options?: CallOptions): Answer<HistoryReplay, HistoryReplayReply>;

  /** Get a redemption of a user. Redemptions stay on record for a year after their last step. */
  getRedemption(input: {
    /** Id of the user */
    readonly userId: string;
    /** Id of the redemption */
    readonly redemptionId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<UserRedemption, UserRedemptionReply>;

  /** Complete a redemption. Marks a pending product as handed over. */
  completeRedemption(input: {
    /** Id of the user */
    readonly userId: string;
    /** Id of the redemption */
    readonly redemptionId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<UserRedemption, UserRedemptionReply>;

  /** Refund a redemption. Gives the price back and takes back what the redemption gave, once. `restock` returns the units to the stock. */
  refundRedemption(input: {
    /** Id of the user */
    readonly userId: string;
    /** Id of the redemption */
    readonly redemptionId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body?: RedemptionRefund;
  }, options?: CallOptions): Answer<UserRedemption, UserRedemptionReply>;

  /** Count the codes of a pool. Returns how many codes are available, handed out and redeemed. */
  getCodePool(input: {
    /** Id of the code pool */
    readonly poolId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<CodePool, CodePoolReply>;

  /** Add codes to a pool. Ignores codes that a pool of the space ever had, in upper or lower case, and counts them as `duplicates`. */
  addCodes(input: {
    /** Id of the code pool */
    readonly poolId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: NewCodes;
  }, options?: CallOptions): Answer<AddedCodes, AddedCodesReply>;

  /** Redeem a code. Marks a code that was handed out as redeemed, once, in whatever case it is sent. The code of the error says why a code is refused: `code_not_issued`, `code_used` (with `redeemedAt`), `code_revoked` (its purchase was refunded) or `code_expired` (with `expiredAt`). Send an `Idempotency-Key` for each scan, so that the same request can be repeated. */
  redeemCode(input: {
    /** Id of the code pool */
    readonly poolId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: CodeToRedeem;
  }, options?: CallOptions): Answer<RedeemedCode, RedeemedCodeReply>;
}

/** The area loyalty, for `createClient`. */
export const loyalty: Area<LoyaltyOperations> = {
  rows: {
    getLoyaltyConfig: "GET /api/loyalty/config s",
    reportAction: "POST /api/loyalty/action sd",
    getCoupon: "GET /api/loyalty/coupons/{couponId} s",
    listOwnVotes: "GET /api/loyalty/votes s",
    getRewardsProfile: "GET /api/loyalty/profile s",
    listLoyaltyNotifications: "GET /api/loyalty/notifications s",
    listLoyaltyHistory: "GET /api/loyalty/history s",
    tryAction: "POST /internal/loyalty/dry-run kai",
    reverseTransaction: "POST /internal/loyalty/users/{userId}/reversals kai",
    reconcileUser: "GET /internal/loyalty/users/{userId}/reconciliation ka",
    replayUser: "POST /internal/loyalty/users/{userId}/replay kai",
    getRedemption: "GET /internal/loyalty/users/{userId}/redemptions/{redemptionId} ka",
    completeRedemption: "POST /internal/loyalty/users/{userId}/redemptions/{redemptionId}/complete kai",
    refundRedemption: "POST /internal/loyalty/users/{userId}/redemptions/{redemptionId}/refund kai",
    getCodePool: "GET /internal/loyalty/pools/{poolId} ka",
    addCodes: "POST /internal/loyalty/pools/{poolId}/codes kai",
    redeemCode: "POST /internal/loyalty/pools/{poolId}/redemptions kai",
  },
};
