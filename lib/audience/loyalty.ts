/**
 * What the audience API asks of users' loyalty. Areas do not know each other: the loyalty of the platform has what is named
 * here.
 *
 * @module
 */

import type { CataloguedMetric, RewardCatalogue } from "./actions/check_rewards.ts";
import type { RewardGiver } from "./actions/grant_rewards.ts";
import type { AudienceMember } from "./member.ts";
import type { ProductShop } from "./products.ts";
import type { MetricBounds } from "./profile/updates.ts";
import type { LoyaltySight } from "./sight.ts";
import type { ActionSink } from "./worker/handler.ts";

/** A notification that a user has; times in Unix ms. */
export interface NotificationItem {
  readonly id: string;
  readonly type: string;
  readonly display: string;
  readonly title: string;
  readonly message: string;
  readonly payload: unknown;
  readonly isRead: boolean;
  /** Null while it is unread. */
  readonly readAt: number | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What a space has. */
export interface SpaceCatalogue extends RewardCatalogue {
  readonly metrics: ReadonlyMap<string, MetricBounds & CataloguedMetric>;
}

/** A part of a user's notifications, newest first. */
export interface NotificationPage {
  readonly items: readonly NotificationItem[];
  readonly cursor: string | null;
  readonly unreadCount: number;
}

/** What the audience API asks of loyalty. */
export interface AudienceLoyalty extends ActionSink, RewardGiver, LoyaltySight {
  /** Applies an action. Answers false where one with the same id took effect before. */
  report(...args: Parameters<ActionSink["report"]>): Promise<boolean>;
  /** What a space has to give. */
  config(spaceId: string): SpaceCatalogue | Promise<SpaceCatalogue>;
  readonly products: ProductShop;
  readonly inbox: {
    /** A page of the user's notifications, after a cursor. */
    list(
      member: AudienceMember,
      query: { readonly unread: boolean; readonly limit: number; readonly cursor?: string },
    ): Promise<NotificationPage>;
    /** Marks a notification as read. Throws `not_found` where the user has none of this id. */
    markRead(member: AudienceMember, id: string): Promise<NotificationItem>;
  };
}
