/** The operations of loyalty. */

import type { loyaltyOperatorRoutes } from "../fans/loyalty/http/operator_routes.ts";
import type { loyaltyRoutes } from "../fans/loyalty/http/routes.ts";
import type { Area } from "./area.ts";
import type { Operations, RoutesOf, Rows } from "./operations.ts";

type Routes = RoutesOf<typeof loyaltyRoutes> | RoutesOf<typeof loyaltyOperatorRoutes>;

/** Operations of the area loyalty. */
export interface LoyaltyOperations extends Operations<Routes> {}

/** The area loyalty, for `createClient`. */
export const loyalty: Area<LoyaltyOperations> = {
  rows: {
    getLoyaltyConfig: "GET /api/loyalty/config s",
    reportAction: "POST /api/loyalty/action sd",
    getCoupon: "GET /api/loyalty/coupons/:couponId s",
    listOwnVotes: "GET /api/loyalty/votes s",
    getRewardsProfile: "GET /api/loyalty/profile s",
    listLoyaltyNotifications: "GET /api/loyalty/notifications s",
    listLoyaltyHistory: "GET /api/loyalty/history s",
    tryAction: "POST /internal/loyalty/dry-run kai",
    reverseTransaction: "POST /internal/loyalty/users/:userId/reversals kai",
    reconcileUser: "GET /internal/loyalty/users/:userId/reconciliation ka",
    replayUser: "POST /internal/loyalty/users/:userId/replay kai",
    getRedemption: "GET /internal/loyalty/users/:userId/redemptions/:redemptionId ka",
    completeRedemption: "POST /internal/loyalty/users/:userId/redemptions/:redemptionId/complete kai",
    refundRedemption: "POST /internal/loyalty/users/:userId/redemptions/:redemptionId/refund kai",
    getCodePool: "GET /internal/loyalty/pools/:poolId ka",
    addCodes: "POST /internal/loyalty/pools/:poolId/codes kai",
    redeemCode: "POST /internal/loyalty/pools/:poolId/redemptions kai",
  } satisfies Rows<Routes>,
};
