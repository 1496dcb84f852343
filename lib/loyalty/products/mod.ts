/**
 * Products: what users buy with what they have earned.
 *
 * @module
 */

export type { ShownProduct } from "./catalogue.ts";
export { type RedemptionOperatorContext, redemptionOperatorRoutes } from "./operator_routes.ts";
export { redemptionsOpenMax } from "./order.ts";
export { createProducts, type Products, type ProductsOptions, type ShownRedemption } from "./products.ts";
export type { RedemptionOrder } from "./redeemable.ts";
export type { Received, Redemption, RedemptionFault, RedemptionStatus } from "./redemption.ts";
export { redemptionId } from "./redemptions.ts";
export { redemptionKeptMs } from "./steps.ts";
export { stockKnownMs, stocksKnownMax } from "./stock.ts";
