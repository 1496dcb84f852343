/**
 * Types of several areas. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

/** `ChangePayload` of the OpenAPI document. */
export interface ChangePayload {
  readonly challengeId?: string;
  readonly missionId?: string;
  readonly couponId?: string;
  readonly userCouponId?: string;
  readonly redemptionId?: string;
  readonly productId?: string;
  readonly quantity?: number;
  readonly metadata?: Properties;
  readonly reason?: string;
  readonly metricChanges: Readonly<Record<string, {
    readonly oldValue: number;
    readonly newValue: number;
  }>>;
  readonly inventoryChanges: {
    readonly received: readonly InventoryItem[];
    readonly lost: readonly InventoryItem[];
  };
  readonly milestoneChanges: Readonly<Record<string, {
    readonly oldValue: string;
    readonly newValue: string;
  }>>;
}

/** `EarnedReward` of the OpenAPI document. */
export interface EarnedReward {
  readonly type: string;
  readonly metricId?: string;
  readonly metricQuantity?: number;
  readonly inventorySetId?: string;
  readonly inventoryItemId?: string;
  readonly couponId?: string;
  readonly rewardId?: string;
}

/** `Fulfilment` of the OpenAPI document. */
export interface Fulfilment {
  readonly type: string;
  readonly coupon: UserCoupon | null;
  readonly items: readonly InventoryItem[];
}

/** `IncludedResource` of the OpenAPI document. */
export interface IncludedResource {
  /** Type of the resource */
  readonly type: string;
  /** Id of the resource */
  readonly id: string;
  /** Its attributes */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Its relationships */
  readonly relationships?: Readonly<Record<string, unknown>>;
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `InventoryItem` of the OpenAPI document. */
export interface InventoryItem {
  readonly setId: string;
  readonly itemId: string;
}

/** `Leaderboard` of the OpenAPI document. */
export interface Leaderboard {
  readonly data: readonly LeaderboardEntry[];
  /** Number of all entries of the leaderboard */
  readonly totalCount: number;
  readonly meta: {
    readonly rankStyle: "competition" | "dense" | "ordinal";
    readonly season?: LeaderboardSeason;
  };
}

/** `LeaderboardEntry` of the OpenAPI document. */
export interface LeaderboardEntry {
  /** Rank of the user, from 1 */
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
  readonly publicProfile: {
    /** Empty where the user has no public name */
    readonly username: string;
  };
}

/** `LeaderboardSeason` of the OpenAPI document. */
export interface LeaderboardSeason {
  readonly id: string;
  /** RFC 3339 */
  readonly startsAt: string;
  /** RFC 3339, exclusive */
  readonly endsAt: string;
}

/** `LoyaltyTransaction` of the OpenAPI document. */
export interface LoyaltyTransaction {
  readonly id: string;
  /** Unix time in seconds */
  readonly timestamp: number;
  readonly type: string;
  readonly payload: ChangePayload;
  /** When the action of the transaction happened, Unix time in seconds */
  readonly happenedAt?: number;
  /** Id under which the action was reported */
  readonly actionId?: string;
  /** Metadata given with the action, reward or redemption */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** `Properties` of the OpenAPI document. */
export type Properties = Readonly<Record<string, string | number | boolean>>;

/** `RateLimit` of the OpenAPI document. */
export type RateLimit = unknown;

/** `RateLimitPolicy` of the OpenAPI document. */
export type RateLimitPolicy = unknown;

/** `RequestId` of the OpenAPI document. */
export type RequestId = unknown;

/** `UserCoupon` of the OpenAPI document. */
export interface UserCoupon {
  readonly id: string;
  readonly title: string;
  readonly link: string;
  readonly coupon_id: string;
  readonly coupon_type: string;
  /** Empty while the pool has no code for it */
  readonly coupon_code: string;
  readonly showOnNotification: boolean;
}
