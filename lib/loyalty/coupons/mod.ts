/**
 * Coupons of users, and the pools that their codes come from.
 *
 * @module
 */

export { codesBodyBytesMax, type PoolContext, poolRoutes } from "../http/pool_routes.ts";
export {
  type CodePools,
  type CodesAdded,
  codeFaultsMax,
  codesAddedMax,
  codesPerCommitMax,
  createCodePools,
  isCode,
  type PoolAddress,
  type PoolStats,
  poolCodeCharactersMax,
  poolCodesMax,
  type RedeemedCode,
} from "./code_pools.ts";
export {
  type Coupons,
  type CouponsOptions,
  type CouponView,
  couponRetryMs,
  couponsFilledMax,
  couponView,
  createCoupons,
} from "./coupons.ts";
