/**
 * What the audience API asks of users' loyalty. Areas do not know each other: the loyalty of the platform has what is named
 * here.
 *
 * @module
 */

import type { RewardCatalogue } from "./actions/check_rewards.ts";
import type { RewardGiver } from "./actions/grant_rewards.ts";
import type { AudienceMember } from "./member.ts";
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

/** What the audience API asks of loyalty. */
export interface AudienceLoyalty extends ActionSink, RewardGiver {
  /** What a space has to give. */
  config(spaceId: string): RewardCatalogue | Promise<RewardCatalogue>;
  readonly inbox: {
    /** Marks a notification as read. Throws `not_found` where the user has none of this id. */
    markRead(member: AudienceMember, id: string): Promise<NotificationItem>;
  };
}
