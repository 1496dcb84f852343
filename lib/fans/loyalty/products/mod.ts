/**
 * Products: what users buy with what they have earned.
 *
 * @module
 */

export type { RedemptionOrder } from "./orders.ts";
export { createProducts, type Products, type ProductView, type RedemptionView } from "./products.ts";
