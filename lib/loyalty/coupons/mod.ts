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
  poolCodeCharactersMax,
} from "./code_pools.ts";
export { type Coupons, type CouponView, couponRetryMs, couponView, createCoupons } from "./coupons.ts";
