/**
 * Products: what users buy with what they have earned.
 *
 * @module
 */

export { type RedemptionOperatorContext, redemptionOperatorRoutes } from "../http/redemption_routes.ts";
export type { Received, Redemption, RedemptionFault, RedemptionStatus } from "../user/state.ts";
export { redemptionsOpenMax } from "./accept_order.ts";
export type { ProductView } from "./catalogue.ts";
export { createProducts, type Products, type ProductsOptions, type RedemptionView } from "./products.ts";
export type { RedemptionOrder } from "./redeemable.ts";
export { redemptionId } from "./redemptions.ts";
export { redemptionKeptMs } from "./steps.ts";
export { stockFreshMs, stocksCachedMax } from "./stock.ts";
