import type { Guard } from "../../../http/mod.ts";
import type { SpaceKey } from "../../space_tokens/mod.ts";
import type { Loyalty } from "../loyalty.ts";
import type { SpaceUser } from "../user/space_user.ts";

/** Services of the routes for operators. */
export interface LoyaltyOperatorContext {
  readonly loyalty: Loyalty;
  /** Requires an API key that may read users. */
  readonly usersReader: Guard<SpaceKey, "space_id">;
  /** Requires an API key that may give and take rewards. */
  readonly rewardsWriter: Guard<SpaceKey, "space_id">;
  /** Requires an API key that may do so, or an admin of the space: its code pools are no other space's. */
  readonly poolKeeper: Guard<SpaceKey, "space_id">;
}

/** Returns a user of the space that the caller means. */
export function userOf({ space: { id: spaceId, organisationId } }: SpaceKey, userId: string): SpaceUser {
  return { organisationId, spaceId, userId, projectId: null };
}
