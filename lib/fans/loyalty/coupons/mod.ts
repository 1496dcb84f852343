/**
 * Coupons of users, and the pools that their codes come from.
 *
 * @module
 */

export {
  type CodePools,
  codesAddedMax,
  createCodePools,
  type PoolAddress,
  type PoolCode,
  type PoolFill,
  poolCodeCharactersMax,
} from "./code_pools.ts";
export { type Coupons, type CouponView, couponRetryMs, couponView, createCoupons } from "./coupons.ts";
export { createFillWarnings } from "./fill_warnings.ts";
