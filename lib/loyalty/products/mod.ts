/**
 * Products: what users buy with what they have earned.
 *
 * @module
 */

export { type RedemptionOperatorContext, redemptionOperatorRoutes } from "../http/redemption_routes.ts";
export type { Received, Redemption, RedemptionFault, RedemptionStatus } from "../user/redemption.ts";
export type { ShownProduct } from "./catalogue.ts";
export { redemptionsOpenMax } from "./order.ts";
export { createProducts, type Products, type ProductsOptions, type ShownRedemption } from "./products.ts";
export type { RedemptionOrder } from "./redeemable.ts";
export { redemptionId } from "./redemptions.ts";
export { redemptionKeptMs } from "./steps.ts";
export { stockKnownMs, stocksKnownMax } from "./stock.ts";
