/**
 * Operations of the area audience. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions, List, NoInput, RawBody } from "../area.ts";
import type { ChangePayload, EarnedReward, Fulfilment, Properties } from "./shared.ts";

/** `AcceptedExport` of the OpenAPI document. */
export interface AcceptedExport {
  readonly exportId: string;
  readonly status: "processing" | "completed" | "failed" | "expired";
  /** Format of the rows */
  readonly format: "csv" | "json";
  readonly encrypted: boolean;
  readonly createdAt: string;
  /** End of the link and the password */
  readonly expiresAt: string;
}

/** `AcceptedExportReply` of the OpenAPI document. */
export interface AcceptedExportReply {
  readonly message: string;
  readonly data: AcceptedExport;
}

/** `AudienceAction` of the OpenAPI document. */
export interface AudienceAction {
  /** Id of the user who acted */
  readonly userId: string;
  /** Name of an action of the space's configuration */
  readonly action: string;
  /** The action takes effect once under this id */
  readonly actionId?: string;
  /** The user's project, for users who did not sign up; only back ends may set it */
  readonly projectId?: string;
  /** A time of the last 7 days; default now */
  readonly timestamp?: string;
  /** Facts of the action, which rules compare and add up */
  readonly data?: Readonly<Record<string, string | number | boolean>>;
  /** Shown with transactions of the action and with a dead letter */
  readonly metadata?: Readonly<Record<string, never>>;
}

/** `AudienceActions` of the OpenAPI document. */
export type AudienceActions = {
  /** 1 to 1,000 actions */
  readonly actions: readonly AudienceAction[];
} | readonly ({
  /** Id of the user who acted */
  readonly user_id: string;
  /** The action */
  readonly data: {
    /** Name of an action of the space's configuration */
    readonly action: string;
    /** The action takes effect once under this id */
    readonly actionId?: string;
    /** The user's project, for users who did not sign up; only back ends may set it */
    readonly projectId?: string;
    /** A time of the last 7 days; default now */
    readonly timestamp?: string;
    /** Facts of the action, which rules compare and add up */
    readonly data?: Readonly<Record<string, string | number | boolean>>;
    /** Shown with transactions of the action and with a dead letter */
    readonly metadata?: Readonly<Record<string, never>>;
  };
})[];

/** `BulkReply` of the OpenAPI document. */
export interface BulkReply {
  /** For people */
  readonly message: string;
  readonly data: BulkResult;
}

/** `BulkResult` of the OpenAPI document. */
export interface BulkResult {
  readonly batchId: string;
  readonly summary: {
    readonly total: number;
    readonly queued?: number;
    readonly succeeded?: number;
    readonly duplicate: number;
    readonly failed: number;
    /** Items of which it could not be found out whether they were applied */
    readonly unknown?: number;
  };
  /** Whether any item failed or is of unknown status */
  readonly errors: boolean;
  readonly results: readonly ItemResult[];
}

/** Points, an item of an inventory or a coupon */
export type BulkReward = {
  readonly type: "metric";
  readonly metricId?: string;
  /** Another name of metricId */
  readonly currency?: string;
  readonly amount: number;
  /** From when the points count */
  readonly availableAt?: string;
  /** Until when the points count */
  readonly expiresAt?: string;
  readonly rewardId?: string;
  /** The user's project (a UUID), for users who did not sign up */
  readonly projectId?: string;
  readonly reason?: string;
  readonly metadata?: RewardMetadata;
  readonly notify?: {
    readonly title: string;
    readonly message?: string;
    readonly display?: "toast" | "modal" | "banner" | "inbox";
  };
} | {
  readonly type: "inventory";
  readonly inventorySetId: string;
  readonly inventoryItemId: string;
  readonly rewardId?: string;
  /** The user's project (a UUID), for users who did not sign up */
  readonly projectId?: string;
  readonly reason?: string;
  readonly metadata?: RewardMetadata;
  readonly notify?: {
    readonly title: string;
    readonly message?: string;
    readonly display?: "toast" | "modal" | "banner" | "inbox";
  };
} | {
  readonly type: "coupon";
  readonly couponId: string;
  readonly rewardId?: string;
  /** The user's project (a UUID), for users who did not sign up */
  readonly projectId?: string;
  readonly reason?: string;
  readonly metadata?: RewardMetadata;
  readonly notify?: {
    readonly title: string;
    readonly message?: string;
    readonly display?: "toast" | "modal" | "banner" | "inbox";
  };
};

/** `BulkRewards` of the OpenAPI document. */
export type BulkRewards = {
  /** 1 to 1,000 rewards */
  readonly rewards: readonly ({
    /** Id of the user who gets the reward */
    readonly userId: string;
  } & BulkReward)[];
} | readonly {
  /** Id of the user who gets the reward */
  readonly user_id: string;
  readonly data: BulkReward;
}[];

/** `Challenge` of the OpenAPI document. */
export interface Challenge {
  readonly challengeId: string;
  readonly title: string;
  readonly subtitle: string;
  readonly media: string;
  readonly status: "in_progress" | "completed" | "failed";
  readonly progress: Progress;
  readonly missions: readonly ({
    readonly missionId: string;
    readonly title: string;
    readonly type: string;
    readonly status: "not_started" | "in_progress" | "completed";
    readonly progress: Progress;
  })[];
  readonly rewards: readonly EarnedReward[];
  readonly startsAt: string | null;
  readonly endsAt: string | null;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly failedAt: string | null;
  readonly period: string | null;
}

/** `ChallengesPage` of the OpenAPI document. */
export interface ChallengesPage {
  /** For people */
  readonly message: string;
  readonly data: readonly Challenge[];
  readonly lastEvaluatedKey: string | null;
}

/** `CustomFields` of the OpenAPI document. */
export type CustomFields = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** `DeadActionIds` of the OpenAPI document. */
export interface DeadActionIds {
  /** Ids of the dead letters to apply again */
  readonly ids: readonly string[];
}

/** `DeadActionReplayReply` of the OpenAPI document. */
export interface DeadActionReplayReply {
  /** For people */
  readonly message: string;
  readonly data: {
    readonly replayed: readonly string[];
    readonly notFound: readonly string[];
  };
}

/** `DeadActionsReply` of the OpenAPI document. */
export interface DeadActionsReply {
  /** For people */
  readonly message: string;
  readonly data: readonly DeadLetter[];
  readonly totalCount: number;
}

/** `DeadLetter` of the OpenAPI document. */
export interface DeadLetter {
  readonly deadLetterId: string;
  readonly userId: string;
  readonly spaceId: string;
  readonly action: string;
  readonly actionId: string;
  readonly timestamp: string;
  readonly data: Properties;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly reason: {
    readonly code: string;
    readonly message: string;
  };
  readonly attempts: number;
  readonly failedAt: string;
}

/** `Export` of the OpenAPI document. */
export interface Export {
  readonly exportId: string;
  readonly status: "processing" | "completed" | "failed" | "expired";
  /** Format of the rows */
  readonly format: "csv" | "json";
  readonly encrypted: boolean;
  readonly createdAt: string;
  /** End of the link and the password */
  readonly expiresAt: string;
  readonly progress: {
    /** Users examined so far */
    readonly processed: number;
    /** Users to examine */
    readonly total: number;
  };
  readonly rowCount: number | null;
  /** Size of the file in bytes */
  readonly fileSize: number | null;
  /** Digest of the file in hexadecimal digits */
  readonly sha256: string | null;
  readonly completedAt: string | null;
  /** Parameters that open the file; null if it is not encrypted */
  readonly encryption: {
    readonly algorithm: string;
    readonly kdf: string;
    readonly iterations: number;
    readonly encoding: string;
    readonly layout: string;
  } | null;
  /** Reason of a failure */
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  /** Link to the file, new each time */
  readonly downloadUrl?: string;
  readonly downloadUrlExpiresAt?: string;
  /** Password of the file */
  readonly password?: string;
}

/** `ExportRecipients` of the OpenAPI document. */
export interface ExportRecipients {
  /** Receives a mail with the link, or with the reason of a failure */
  readonly email: string;
  /** Receives the password in a mail of its own. null: no mail contains it. Omitted: the mail with the link does */
  readonly passwordEmail?: string | null;
}

/** `ExportReply` of the OpenAPI document. */
export interface ExportReply {
  readonly message: string;
  readonly data: Export;
}

/** `ExportRequest` of the OpenAPI document. */
export interface ExportRequest {
  /** A condition over users or its short form, as in the search of users. Omitted: all users */
  readonly filter?: unknown;
  /** The columns in their order. Omitted: the fields that a search returns */
  readonly fields?: readonly string[];
  /** Format of the rows */
  readonly format: "csv" | "json";
  /** Encrypts the file under a generated password */
  readonly encrypt?: boolean;
  /** Recipients of mails. Omitted: those of the organisation's settings */
  readonly notify?: ExportRecipients;
}

/** `ExportTrailEntry` of the OpenAPI document. */
export interface ExportTrailEntry {
  readonly at: string;
  readonly event: "requested" | "completed" | "failed" | "downloaded" | "expired" | "removed";
  readonly exportId: string;
  /** API key that requested the export */
  readonly actor?: string;
  readonly requestId?: string;
  /** Network of the client that downloaded it */
  readonly addressTag?: string;
  /** Requested bytes, `first-last` */
  readonly range?: string;
  readonly format?: string;
  readonly encrypted?: boolean;
  readonly rowCount?: number;
  /** Error code of a failure */
  readonly reason?: string;
}

/** `ExportTrailPage` of the OpenAPI document. */
export interface ExportTrailPage {
  readonly message: string;
  readonly data: readonly ExportTrailEntry[];
  /** Pass it as `lastEvaluatedKey` to get the next page; null on the last page */
  readonly lastEvaluatedKey: string | null;
}

/** `ExportWebhook` of the OpenAPI document. */
export interface ExportWebhook {
  readonly url: string;
  /** Events contain the password in addition to the link */
  readonly includePassword: boolean;
  /** Secret in the format of Standard Webhooks, `whsec_…` */
  readonly secret: string;
}

/** `ExportWebhookReply` of the OpenAPI document. */
export interface ExportWebhookReply {
  readonly message: string;
  readonly data: ExportWebhook;
}

/** `ExportsPage` of the OpenAPI document. */
export interface ExportsPage {
  readonly message: string;
  readonly data: readonly Export[];
  /** Pass it as `lastEvaluatedKey` to get the next page; null on the last page */
  readonly lastEvaluatedKey: string | null;
}

/** `FoundUser` of the OpenAPI document. */
export interface FoundUser {
  readonly userId?: string;
  readonly displayName?: string | null;
  readonly username?: string | null;
  readonly usernameFolded?: string | null;
  readonly provider?: string | null;
  readonly projectId?: string | null;
  readonly version?: number;
  readonly createdAt?: string | null;
  readonly updatedAt?: string | null;
  readonly lastActiveAt?: string | null;
  readonly preferences?: Readonly<Record<string, unknown>>;
  readonly customFields?: Readonly<Record<string, string | number | boolean | readonly string[] | null>>;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly inventory?: Readonly<Record<string, readonly string[]>>;
  readonly challenges?: Readonly<Record<string, string>>;
}

/** `FoundUsersReply` of the OpenAPI document. */
export interface FoundUsersReply {
  /** For people */
  readonly message: string;
  /** Each with the fields that were asked for */
  readonly data: readonly FoundUser[];
  readonly lastEvaluatedKey: string | null;
  /** With includeTotal: the number of users that match; null where counting would examine more than 20,000 users */
  readonly totalCount?: number | null;
  /** Whether the page is short because it examined as many users as a page may: continue it */
  readonly truncated: boolean;
}

/** `ImportLine` of the OpenAPI document. */
export type ImportLine = ImportedRow | ImportSummary;

/** `ImportSummary` of the OpenAPI document. */
export interface ImportSummary {
  readonly summary: {
    readonly total: number;
    readonly changed: number;
    readonly unchanged: number;
    readonly failed: number;
    readonly unknown: number;
    /** Rows of users whom a dry run does not know */
    readonly new?: number;
    /** Rows of users whom a dry run knows */
    readonly known?: number;
  };
  /** Why the import ended before the file did. `total` rows have a result, none after them was applied */
  readonly error?: {
    readonly code: string;
    readonly message: string;
    /** JSON Pointer of the invalid member; empty for the item as a whole */
    readonly pointer: string;
    /** Whether the same item may succeed later */
    readonly retryable: boolean;
  };
}

/** `ImportedRow` of the OpenAPI document. */
export interface ImportedRow {
  /** Its number in the file, from 1, without the header */
  readonly row: number;
  readonly userId?: string;
  /** A failed row was not applied. One whose status is unknown may have been: the store did not answer for several seconds. A dry run says `new` of a user who would be created, and `known` of any other */
  readonly status: "changed" | "unchanged" | "failed" | "unknown" | "new" | "known";
  /** The version of the profile */
  readonly version?: number;
  /** The transaction of changed metrics */
  readonly transactionId?: string;
  readonly error?: ItemError;
}

/** `ItemError` of the OpenAPI document. */
export interface ItemError {
  readonly code: string;
  readonly message: string;
  /** JSON Pointer of the invalid member; empty for the item as a whole */
  readonly pointer: string;
  /** Whether the same item may succeed later */
  readonly retryable: boolean;
}

/** `ItemResult` of the OpenAPI document. */
export interface ItemResult {
  readonly index: number;
  /** The id under which the item takes effect once */
  readonly id: string;
  readonly userId: string;
  /** A failed item was not applied. One whose status is unknown may have been: the store did not answer for several seconds */
  readonly status: "queued" | "succeeded" | "duplicate" | "failed" | "unknown";
  readonly error?: ItemError;
  /** The transaction of a reward or of changed metrics */
  readonly transactionId?: string;
  /** The balance of the metric after a reward */
  readonly balanceAfter?: number;
  /** The version of a profile after its update */
  readonly version?: number;
}

/** `Notification` of the OpenAPI document. */
export interface Notification {
  readonly notificationId: string;
  readonly type: string;
  readonly display: string;
  readonly title: string;
  readonly message: string;
  readonly payload: ChangePayload;
  readonly isRead: boolean;
  readonly readAt: string | null;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** `NotificationsPage` of the OpenAPI document. */
export interface NotificationsPage {
  /** For people */
  readonly message: string;
  readonly data: readonly Notification[];
  readonly lastEvaluatedKey: string | null;
  readonly unreadCount: number;
}

/** `OwnActions` of the OpenAPI document. */
export type OwnActions = {
  /** 1 to 1,000 actions */
  readonly actions: readonly AudienceAction[];
} | readonly ({
  /** Id of the user who acted */
  readonly user_id: string;
  /** The action */
  readonly data: {
    /** Name of an action of the space's configuration */
    readonly action: string;
    /** The action takes effect once under this id */
    readonly actionId?: string;
    /** The user's project, for users who did not sign up; only back ends may set it */
    readonly projectId?: string;
    /** A time of the last 7 days; default now */
    readonly timestamp?: string;
    /** Facts of the action, which rules compare and add up */
    readonly data?: Readonly<Record<string, string | number | boolean>>;
    /** Shown with transactions of the action and with a dead letter */
    readonly metadata?: Readonly<Record<string, never>>;
  };
})[] | {
  /** Id of the user who acted */
  readonly userId?: string;
  /** Name of an action of the space's configuration */
  readonly action: string;
  /** The action takes effect once under this id */
  readonly actionId?: string;
  /** The user's project, for users who did not sign up; only back ends may set it */
  readonly projectId?: string;
  /** A time of the last 7 days; default now */
  readonly timestamp?: string;
  /** Facts of the action, which rules compare and add up */
  readonly data?: Readonly<Record<string, string | number | boolean>>;
  /** Shown with transactions of the action and with a dead letter */
  readonly metadata?: Readonly<Record<string, never>>;
};

/** `Product` of the OpenAPI document. */
export interface Product {
  readonly productId: string;
  readonly title: string;
  readonly description: string;
  readonly media: string;
  readonly category: string;
  readonly sku: string | null;
  readonly prices: readonly {
    readonly currency: string;
    readonly amount: number;
  }[];
  readonly stock: {
    readonly type: "unlimited";
  } | {
    readonly type: "limited";
    readonly available: number;
  };
  readonly limits: {
    readonly perUser: number;
    readonly window: string | null;
  } | null;
  readonly availableFrom: string | null;
  readonly availableTo: string | null;
  readonly fulfilment: {
    readonly type: string;
  };
  readonly canRedeem: boolean;
  readonly reasons: readonly string[];
}

/** `ProductRedemption` of the OpenAPI document. */
export interface ProductRedemption {
  /** Metric to pay with; needed if the product has several prices */
  readonly currency?: string;
  /** Number of items */
  readonly quantity?: number;
  /** Facts that are kept with the redemption */
  readonly metadata?: RedemptionMetadata;
}

/** `ProductsReply` of the OpenAPI document. */
export interface ProductsReply {
  /** For people */
  readonly message: string;
  readonly data: readonly Product[];
  readonly lastEvaluatedKey: null;
}

/** `Profile` of the OpenAPI document. */
export interface Profile {
  readonly userId: string;
  readonly displayName: string | null;
  readonly preferences: Readonly<Record<string, unknown>>;
  readonly customFields: CustomFields;
  readonly loyalty: {
    readonly metrics: Readonly<Record<string, number>>;
    readonly balances: Readonly<Record<string, {
      readonly available: number;
      readonly pending: number;
      readonly expiringSoon: readonly {
        readonly amount: number;
        readonly expiresAt: string;
      }[];
      readonly lifetimeEarned: number;
      readonly lifetimeSpent: number;
    }>>;
    readonly inventory: Readonly<Record<string, readonly string[]>>;
    readonly tier: {
      readonly id: string;
      readonly name: string;
      readonly progress: Progress | null;
    } | null;
  };
  /** Challenges with `showInProfile` that the user has begun and not finished */
  readonly activeChallenges: readonly ({
    readonly challengeId: string;
    readonly title: string;
    readonly subtitle: string;
    readonly media: string;
    readonly status: "in_progress" | "completed" | "failed";
    readonly progress: Progress;
    readonly endsAt: string | null;
  })[];
  readonly unreadNotifications: number;
  /** When the user signed up or was first reported, as searches show it */
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  /** Number of changes; 0 for a profile that was never stored */
  readonly version: number;
}

/** `ProfileChanges` of the OpenAPI document. */
export interface ProfileChanges {
  /** Name that others see, 1 to 100 characters; null removes it */
  readonly displayName?: string | null;
  /** Any JSON object */
  readonly preferences?: Readonly<Record<string, unknown>> | null;
  /** As the organisation's settings declare them */
  readonly customFields?: Readonly<Record<string, string | number | boolean | readonly string[] | null>> | null;
}

/** `ProfileReply` of the OpenAPI document. */
export interface ProfileReply {
  /** For people */
  readonly message: string;
  readonly data: Profile;
}

/** `ProfileUpdates` of the OpenAPI document. */
export type ProfileUpdates = {
  /** 1 to 1,000 updates */
  readonly updates: readonly ({
    /** Id of the user */
    readonly userId: string;
    /** Name that others see, 1 to 100 characters; null removes it */
    readonly displayName?: string | null;
    /** Any JSON object */
    readonly preferences?: Readonly<Record<string, unknown>> | null;
    /** As the organisation's settings declare them */
    readonly customFields?: Readonly<Record<string, string | number | boolean | readonly string[] | null>> | null;
    /** Changes of metrics, by back ends only */
    readonly metrics?: Readonly<Record<string, {
      readonly op: "set" | "incr";
      readonly value: number;
    }>>;
    /** Refuses the update if the profile has another */
    readonly expectedVersion?: number;
    /** By back ends only: the update takes effect once under this id, which is remembered for 7 days; a repetition is answered as the first time */
    readonly updateId?: string;
  })[];
} | readonly ({
  /** Id of the user */
  readonly user_id: string;
  /** What to change; absent members stay */
  readonly data: {
    /** Name that others see, 1 to 100 characters; null removes it */
    readonly displayName?: string | null;
    /** Any JSON object */
    readonly preferences?: Readonly<Record<string, unknown>> | null;
    /** As the organisation's settings declare them */
    readonly customFields?: Readonly<Record<string, string | number | boolean | readonly string[] | null>> | null;
    /** Changes of metrics, by back ends only */
    readonly metrics?: Readonly<Record<string, {
      readonly op: "set" | "incr";
      readonly value: number;
    }>>;
    /** Refuses the update if the profile has another */
    readonly expectedVersion?: number;
    /** By back ends only: the update takes effect once under this id, which is remembered for 7 days; a repetition is answered as the first time */
    readonly updateId?: string;
  };
})[];

/** `Progress` of the OpenAPI document. */
export interface Progress {
  readonly current: number;
  readonly target: number;
  readonly percent: number;
}

/** `QueuedActionReply` of the OpenAPI document. */
export interface QueuedActionReply {
  /** For people */
  readonly message: string;
  readonly data: {
    readonly actionId: string;
    readonly status: "queued";
  };
  readonly eventId: string;
  readonly processed: false;
}

/** `ReadNotificationReply` of the OpenAPI document. */
export interface ReadNotificationReply {
  /** For people */
  readonly message: string;
  readonly data: {
    readonly notificationId: string;
    readonly isRead: true;
    readonly readAt: string | null;
  };
}

/** `Redemption` of the OpenAPI document. */
export interface Redemption {
  readonly redemptionId: string;
  readonly productId: string;
  readonly quantity: number;
  readonly cost: {
    readonly currency: string;
    readonly amount: number;
  };
  readonly status: string;
  readonly transactionId: string | null;
  readonly fulfilment: Fulfilment;
  readonly balances: Readonly<Record<string, number>>;
  readonly createdAt: string;
}

/** `RedemptionMetadata` of the OpenAPI document. */
export type RedemptionMetadata = Readonly<Record<string, string | number | boolean>>;

/** `RedemptionReply` of the OpenAPI document. */
export interface RedemptionReply {
  /** For people */
  readonly message: string;
  readonly data: Redemption;
}

/** `RewardMetadata` of the OpenAPI document. */
export type RewardMetadata = Readonly<Record<string, string | number | boolean>>;

/** `SpaceChallenges` of the OpenAPI document. */
export type SpaceChallenges = ChallengesPage | UserChallengesList;

/** `SpaceNotifications` of the OpenAPI document. */
export type SpaceNotifications = NotificationsPage | UserNotificationsList;

/** `SpaceProfileResults` of the OpenAPI document. */
export type SpaceProfileResults = ProfileReply | BulkReply;

/** `SpaceProfileUpdates` of the OpenAPI document. */
export type SpaceProfileUpdates = {
  /** Id of the user */
  readonly user_id: string;
  /** What to change; absent members stay */
  readonly data: {
    /** Name that others see, 1 to 100 characters; null removes it */
    readonly displayName?: string | null;
    /** Any JSON object */
    readonly preferences?: Readonly<Record<string, unknown>> | null;
    /** As the organisation's settings declare them */
    readonly customFields?: Readonly<Record<string, string | number | boolean | readonly string[] | null>> | null;
    /** Changes of metrics, by back ends only */
    readonly metrics?: Readonly<Record<string, {
      readonly op: "set" | "incr";
      readonly value: number;
    }>>;
    /** Refuses the update if the profile has another */
    readonly expectedVersion?: number;
    /** By back ends only: the update takes effect once under this id, which is remembered for 7 days; a repetition is answered as the first time */
    readonly updateId?: string;
  };
} | readonly ({
  /** Id of the user */
  readonly user_id: string;
  /** What to change; absent members stay */
  readonly data: {
    /** Name that others see, 1 to 100 characters; null removes it */
    readonly displayName?: string | null;
    /** Any JSON object */
    readonly preferences?: Readonly<Record<string, unknown>> | null;
    /** As the organisation's settings declare them */
    readonly customFields?: Readonly<Record<string, string | number | boolean | readonly string[] | null>> | null;
    /** Changes of metrics, by back ends only */
    readonly metrics?: Readonly<Record<string, {
      readonly op: "set" | "incr";
      readonly value: number;
    }>>;
    /** Refuses the update if the profile has another */
    readonly expectedVersion?: number;
    /** By back ends only: the update takes effect once under this id, which is remembered for 7 days; a repetition is answered as the first time */
    readonly updateId?: string;
  };
})[];

/** `SpaceProfiles` of the OpenAPI document. */
export type SpaceProfiles = ProfileReply | UserProfileList;

/** `SpaceTransactions` of the OpenAPI document. */
export type SpaceTransactions = TransactionsPage | UserTransactionsList;

/** `Transaction` of the OpenAPI document. */
export interface Transaction {
  readonly transactionId: string;
  readonly type: "credit" | "debit";
  readonly currency: string;
  readonly amount: number;
  readonly balanceAfter: number;
  readonly status: "completed" | "pending" | "expired" | "reversed";
  readonly reason: string;
  readonly description: string | null;
  readonly source: {
    readonly type: string;
    readonly id: string | null;
  };
  readonly relatedTransactionId: string | null;
  readonly availableAt: string | null;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  /** When the action happened; createdAt where no action caused the transaction */
  readonly happenedAt: string;
  readonly actionId: string | null;
  /** Metadata given with the action, reward or redemption, else the data of the action */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** `TransactionsPage` of the OpenAPI document. */
export interface TransactionsPage {
  /** For people */
  readonly message: string;
  readonly data: readonly Transaction[];
  readonly lastEvaluatedKey: string | null;
}

/** `UnknownUser` of the OpenAPI document. */
export interface UnknownUser {
  readonly user_id: string;
  readonly data: null;
  readonly error: {
    readonly code: "not_found";
    readonly message: string;
  };
}

/** `UserChallenges` of the OpenAPI document. */
export interface UserChallenges {
  readonly user_id: string;
  readonly data: readonly Challenge[];
  readonly lastEvaluatedKey: string | null;
}

/** `UserChallengesList` of the OpenAPI document. */
export interface UserChallengesList {
  /** For people */
  readonly message: string;
  readonly users: readonly (UserChallenges | UnknownUser)[];
}

/** `UserNotifications` of the OpenAPI document. */
export interface UserNotifications {
  readonly user_id: string;
  readonly data: readonly Notification[];
  readonly lastEvaluatedKey: string | null;
  readonly unreadCount: number;
}

/** `UserNotificationsList` of the OpenAPI document. */
export interface UserNotificationsList {
  /** For people */
  readonly message: string;
  readonly users: readonly (UserNotifications | UnknownUser)[];
}

/** `UserProfile` of the OpenAPI document. */
export interface UserProfile {
  readonly user_id: string;
  readonly data: Profile;
}

/** `UserProfileList` of the OpenAPI document. */
export interface UserProfileList {
  /** For people */
  readonly message: string;
  readonly users: readonly (UserProfile | UnknownUser)[];
}

/** `UserSearch` of the OpenAPI document. */
export interface UserSearch {
  /** A condition of the language of rules over userId, displayName, username, usernameFolded, provider, projectId, version, createdAt, updatedAt, lastActiveAt, customFields.<name>, metrics.<id>, inventory.<setId> and challenges.<id>; or these members, all of which must hold; or both. Times are ISO 8601. */
  readonly filter?: {
    readonly userIds?: readonly string[];
    /** A part of the name */
    readonly displayName?: string;
    /** The address of an account, in any case of its letters */
    readonly email?: string;
    /** The external id of a user */
    readonly externalId?: string;
    /** The whole registered name, without regard to case, width and spaces */
    readonly username?: string;
    /** Includes the time */
    readonly createdAfter?: string;
    /** Excludes the time */
    readonly createdBefore?: string;
    /** Includes the time */
    readonly activeAfter?: string;
    /** Excludes the time */
    readonly activeBefore?: string;
    readonly metrics?: Readonly<Record<string, {
      readonly min?: number;
      readonly max?: number;
    }>>;
  };
  /** Names as in filters, and preferences, customFields, metrics, inventory and challenges as a whole */
  readonly fields?: readonly string[];
  /** One order: by createdAt, lastActiveAt, or a metric that the organisation has indexed */
  readonly sort?: readonly ({
    readonly field: string;
    readonly order?: "asc" | "desc";
  })[];
  /** Most users of the page */
  readonly limit?: number;
  /** Whether the answer has the number of all users that match */
  readonly includeTotal?: boolean;
  /** Continues after a page: its lastEvaluatedKey, with the same filter and sort */
  readonly lastEvaluatedKey?: string;
}

/** `UserTransactions` of the OpenAPI document. */
export interface UserTransactions {
  readonly user_id: string;
  readonly data: readonly Transaction[];
  readonly lastEvaluatedKey: string | null;
}

/** `UserTransactionsList` of the OpenAPI document. */
export interface UserTransactionsList {
  /** For people */
  readonly message: string;
  readonly users: readonly (UserTransactions | UnknownUser)[];
}

/** Operations of the area audience. */
export interface AudienceOperations {
  /** Get the user's profile. Creates the profile if there is none. The ETag covers the version and the loyalty shown with it. */
  getAudienceProfile(input?: NoInput, options?: CallOptions): Answer<Profile, ProfileReply>;

  /** Change the user's profile. Applies a JSON Merge Patch. If-Match compares the version only: points do not refuse a change. */
  patchAudienceProfile(input: {
    readonly body: ProfileChanges;
  }, options?: CallOptions): Answer<Profile, ProfileReply>;

  /** Get the profiles of up to 100 users. In the order of the request, with an error for each unknown user. */
  listAudienceProfiles(input: {
    /** Ids of up to 100 users, separated by commas */
    readonly user_ids: string | readonly string[];
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<UserProfileList>;

  /** Change up to 1,000 profiles. Profile and metrics of an update change together or not at all; updates of one user apply in order. */
  updateAudienceProfiles(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: ProfileUpdates;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** Get the profile of one or several users. With user_ids those of up to 100 users, in the order of the request. */
  getSpaceProfiles(input?: {
    /** Ids of up to 100 users, separated by commas */
    readonly user_ids?: string | readonly string[];
    /** Id of one user; users who call may omit their own */
    readonly user_id?: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<Profile | UserProfileList, SpaceProfiles>;

  /** Change the profile of one or several users. Absent members stay. A list changes up to 1,000 profiles; one item is answered with the profile. */
  putSpaceProfiles(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: SpaceProfileUpdates;
  }, options?: CallOptions): Answer<Profile | BulkResult, SpaceProfileResults>;

  /** List the user's transactions. Newest first. One request reads a bounded part of the history: a page may be short although more follow. */
  listAudienceTransactions(input?: {
    /** Most entries of the page */
    readonly limit?: number;
    /** Only entries that add or take points */
    readonly type?: "credit" | "debit";
    /** Only entries of this metric of the space; `points`, `xp` and `coins` are accepted in every space */
    readonly currency?: string;
    /** Continues after a page: its lastEvaluatedKey, with the same filters */
    readonly lastEvaluatedKey?: string;
  }, options?: CallOptions): List<Transaction, TransactionsPage>;

  /** List the transactions of one or several users. Newest first. One request reads a bounded part of the history: a page may be short although more follow. With user_ids the first page of each user; lastEvaluatedKey continues the list of one user. */
  listSpaceTransactions(input?: {
    /** Ids of up to 100 users, separated by commas */
    readonly user_ids?: string | readonly string[];
    /** Id of one user; users who call may omit their own */
    readonly user_id?: string;
    /** Most entries of the page */
    readonly limit?: number;
    /** Only entries that add or take points */
    readonly type?: "credit" | "debit";
    /** Only entries of this metric of the space; `points`, `xp` and `coins` are accepted in every space */
    readonly currency?: string;
    /** Continues after a page: its lastEvaluatedKey, with the same filters */
    readonly lastEvaluatedKey?: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<readonly Transaction[] | UserTransactionsList, SpaceTransactions>;

  /** List the user's challenges. Challenges in progress first, by their end, then finished ones, newest first. One that the user has not begun is in progress without startedAt. */
  listAudienceChallenges(input?: {
    /** Most entries of the page */
    readonly limit?: number;
    /** Only challenges of this status */
    readonly status?: "in_progress" | "completed" | "failed";
    /** Continues after a page: its lastEvaluatedKey, with the same filters */
    readonly lastEvaluatedKey?: string;
  }, options?: CallOptions): List<Challenge, ChallengesPage>;

  /** List the challenges of one or several users. Challenges in progress first, by their end, then finished ones, newest first. One that the user has not begun is in progress without startedAt. With user_ids the first page of each user; lastEvaluatedKey continues the list of one user. */
  listSpaceChallenges(input?: {
    /** Ids of up to 100 users, separated by commas */
    readonly user_ids?: string | readonly string[];
    /** Id of one user; users who call may omit their own */
    readonly user_id?: string;
    /** Most entries of the page */
    readonly limit?: number;
    /** Only challenges of this status */
    readonly status?: "in_progress" | "completed" | "failed";
    /** Continues after a page: its lastEvaluatedKey, with the same filters */
    readonly lastEvaluatedKey?: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<readonly Challenge[] | UserChallengesList, SpaceChallenges>;

  /** List the user's notifications. Newest first, with the number of all unread notifications. */
  listAudienceNotifications(input?: {
    /** Most entries of the page */
    readonly limit?: number;
    /** Only unread notifications if true */
    readonly unread?: "true" | "false";
    /** Continues after a page: its lastEvaluatedKey, with the same filters */
    readonly lastEvaluatedKey?: string;
  }, options?: CallOptions): List<Notification, NotificationsPage>;

  /** List the notifications of one or several users. Newest first, with the number of all unread notifications. With user_ids the first page of each user; lastEvaluatedKey continues the list of one user. */
  listSpaceNotifications(input?: {
    /** Ids of up to 100 users, separated by commas */
    readonly user_ids?: string | readonly string[];
    /** Id of one user; users who call may omit their own */
    readonly user_id?: string;
    /** Most entries of the page */
    readonly limit?: number;
    /** Only unread notifications if true */
    readonly unread?: "true" | "false";
    /** Continues after a page: its lastEvaluatedKey, with the same filters */
    readonly lastEvaluatedKey?: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<readonly Notification[] | UserNotificationsList, SpaceNotifications>;

  /** Mark a notification as read. A notification that is read already keeps its time. */
  readAudienceNotification(input: {
    /** Id of the notification */
    readonly notificationId: string;
  }, options?: CallOptions): Answer<ReadNotificationReply["data"], ReadNotificationReply>;

  /** List the products that are in stock and available. All on one page, each with whether the user can redeem it and why not. */
  listAudienceProducts(input?: NoInput, options?: CallOptions): Answer<readonly Product[], ProductsReply>;

  /** Redeem a product. Pays with the user's points, once under an Idempotency-Key. */
  redeemAudienceProduct(input: {
    /** Id of the product */
    readonly productId: string;
    readonly body?: ProductRedemption;
  }, options?: CallOptions): Answer<Redemption, RedemptionReply>;

  /** Queue an action of a user. The action is applied by the rules of the space soon, once under its id. */
  queueAction(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: AudienceAction;
  }, options?: CallOptions): Answer<QueuedActionReply["data"], QueuedActionReply>;

  /** Queue up to 1,000 actions of users. The actions of one user are applied in their order. An invalid item refuses the request as a whole. */
  queueActions(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: AudienceActions;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** Get the state of a bulk request's actions. For a day after the request. */
  getActionBatch(input: {
    /** Id of the bulk request */
    readonly batchId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** Report up to 1,000 actions. Queues the actions that back ends report. Applies at once what users report of themselves. */
  putAudienceActions(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: OwnActions;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** Report up to 1,000 actions. Queues the actions that back ends report. Applies at once what users report of themselves. */
  postAudienceActions(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: OwnActions;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** List actions that could not be applied. Of the organisation, newest first, for 7 days. */
  listDeadActions(input?: {
    /** Most dead letters of the page */
    readonly limit?: number;
    /** Number of newer dead letters to skip */
    readonly offset?: number;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): List<DeadLetter, DeadActionsReply>;

  /** Queue dead letters again. They are applied after all other queued actions of their users. */
  replayDeadActions(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: DeadActionIds;
  }, options?: CallOptions): Answer<DeadActionReplayReply["data"], DeadActionReplayReply>;

  /** Grant up to 1,000 rewards. Each reward is granted once under its id; those of one user in their order. An invalid item refuses the request as a whole. */
  giveRewards(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: BulkRewards;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** Grant up to 1,000 rewards. Each reward is granted once under its id; those of one user in their order. An invalid item refuses the request as a whole. */
  putAudienceRewards(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: BulkRewards;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** Grant up to 1,000 rewards. Each reward is granted once under its id; those of one user in their order. An invalid item refuses the request as a whole. */
  postAudienceRewards(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: BulkRewards;
  }, options?: CallOptions): Answer<BulkResult, BulkReply>;

  /** Search users. The users of the organisation that match a filter, in pages. */
  searchAudienceUsers(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: UserSearch;
  }, options?: CallOptions): List<FoundUser, FoundUsersReply>;

  /** Change or create the users of a file, row by row. Reads a file with the columns of an export, as CSV or as JSON with an object on every line. Sets display names, preferences, custom fields and metrics; other columns of exports are ignored. The same file again changes nothing. The answer streams a line for each row while the file is sent, then a summary: a client that cannot read while it sends asks for `results=failed`. */
  importAudienceUsers(input: {
    /** Rows that have a line in the answer: all, or those that were not applied. A dry run has those of new users too */
    readonly results?: "all" | "failed";
    /** `true` checks the rows, tells users who would be created from known ones, and changes nothing */
    readonly dry_run?: "true" | "false";
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: RawBody;
  }, options?: CallOptions): AsyncIterable<ImportLine>;

  /** Export up to 1,000,000 users into a file, once per idempotency key. The file is built in the background. Poll the export, or let it notify you by mail or webhook. A repeated request with the same `Idempotency-Key` returns the same export. */
  exportAudienceUsers(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: ExportRequest;
  }, options?: CallOptions): Answer<AcceptedExport, AcceptedExportReply>;

  /** Get an export with its progress and, once completed, a link and the password. Each call returns a new link, valid for 15 minutes or until the export expires. */
  getAudienceExport(input: {
    /** Id of the export */
    readonly exportId: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<Export, ExportReply>;

  /** List the exports of the organisation. Newest first, without links and passwords. Removed exports are not listed. */
  listAudienceExports(input?: {
    /** Most items of the page */
    readonly limit?: number;
    /** The `lastEvaluatedKey` of the page before */
    readonly lastEvaluatedKey?: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): List<Export, ExportsPage>;

  /** List who requested and downloaded exports. The newest 10,000 entries of the organisation, newest first, without links and passwords. */
  listAudienceExportTrail(input?: {
    /** Most items of the page */
    readonly limit?: number;
    /** The `lastEvaluatedKey` of the page before */
    readonly lastEvaluatedKey?: string;
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): List<ExportTrailEntry, ExportTrailPage>;

  /** Get the service that receives events about exports. The service of the organisation's settings, with the secret that verifies events. */
  getAudienceExportWebhook(input?: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
  }, options?: CallOptions): Answer<ExportWebhook, ExportWebhookReply>;

  /** Download the file of an export, or a range of its bytes. The link grants access, so no credentials are sent. Supports one `Range`, `If-Range`, `If-Match` and `If-None-Match`. */
  downloadAudienceExport(input: {
    /** The secret part of the link */
    readonly capability: string;
  }, options?: CallOptions): Answer<Response>;
}

/** The area audience, for `createClient`. */
export const audience: Area<AudienceOperations> = {
  rows: {
    getAudienceProfile: "GET /v1/api/audience/profile so",
    patchAudienceProfile: "PATCH /v1/api/audience/profile so",
    listAudienceProfiles: "GET /v1/api/audience/internal/profiles kao",
    updateAudienceProfiles: "POST /v1/api/audience/internal/profiles/update-batch kaio",
    getSpaceProfiles: "GET /api/audience/profile skao",
    putSpaceProfiles: "PUT /api/audience/profile skao",
    listAudienceTransactions: "GET /v1/api/audience/transactions so",
    listSpaceTransactions: "GET /api/audience/transactions skao",
    listAudienceChallenges: "GET /v1/api/audience/challenges so",
    listSpaceChallenges: "GET /api/audience/challenges skao",
    listAudienceNotifications: "GET /v1/api/audience/notifications so",
    listSpaceNotifications: "GET /api/audience/notifications skao",
    readAudienceNotification: "POST /v1/api/audience/notifications/{notificationId}/read sio",
    listAudienceProducts: "GET /v1/api/audience/products so",
    redeemAudienceProduct: "POST /v1/api/audience/products/{productId}/redeem sio",
    queueAction: "POST /v1/api/audience/internal/actions kaiod",
    queueActions: "POST /v1/api/audience/internal/actions/bulk kaio",
    getActionBatch: "GET /v1/api/audience/internal/actions/{batchId} kao",
    putAudienceActions: "PUT /api/audience/actions skao1",
    postAudienceActions: "POST /api/audience/actions skaio",
    listDeadActions: "GET /v1/api/audience/internal/actions/dead-letters kaon",
    replayDeadActions: "POST /v1/api/audience/internal/actions/dead-letters/replay kaio",
    giveRewards: "POST /v1/api/audience/internal/rewards/bulk kaio",
    putAudienceRewards: "PUT /api/audience/rewards skao1",
    postAudienceRewards: "POST /api/audience/rewards skaio",
    searchAudienceUsers: "POST /v1/api/audience/internal/users/search kaio",
    importAudienceUsers: "POST /v1/api/audience/internal/users/import kaobl",
    exportAudienceUsers: "POST /v1/api/audience/internal/users/export kaio",
    getAudienceExport: "GET /v1/api/audience/internal/exports/{exportId} kao",
    listAudienceExports: "GET /v1/api/audience/internal/exports kao",
    listAudienceExportTrail: "GET /v1/api/audience/internal/export-trail kao",
    getAudienceExportWebhook: "GET /v1/api/audience/internal/export-webhook kao",
    downloadAudienceExport: "GET /v1/api/audience/exports/download/{capability} w",
  },
};
