/**
 * Products: listing them, redeeming them, and what operators do with redemptions.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData, Price } from "../config/document.ts";
import { ownValue } from "../config/own_property.ts";
import type { CodePools, CouponView } from "../coupons/mod.ts";
import { couponView } from "../coupons/mod.ts";
import type { ItemId } from "../user/history.ts";
import type { Member } from "../user/member.ts";
import type { Redemption, RedemptionFault, RedemptionStatus, UserState } from "../user/state.ts";
import { type CatalogueOptions, listProducts, type ProductView } from "./catalogue.ts";
import type { RedemptionOrder } from "./redeemable.ts";
import {
  createRedemptions,
  type RedemptionResult,
  type Redemptions,
  type RedemptionsOptions,
} from "./redemptions.ts";
import { createStocks } from "./stock.ts";

/** A redemption as it is shown. */
export interface RedemptionView {
  readonly id: string;
  readonly productId: string;
  readonly quantity: number;
  readonly cost: Price;
  /** `pending`: it is not decided, or the product is to be handed over. */
  readonly status: Exclude<RedemptionStatus, "reserved">;
  /** Why it was rejected. */
  readonly fault: RedemptionFault | null;
  /** The transaction that took the price; null where the history does not go back that far. */
  readonly transactionId: string | null;
  readonly fulfilment: {
    readonly type: Redemption["fulfilment"]["type"];
    readonly coupon: CouponView | null;
    readonly items: readonly ItemId[];
  };
  /** What the user has of every metric. */
  readonly balances: Readonly<Record<string, number>>;
  readonly metadata: ActionData;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly changedAt: number;
}

/** Lists products and sells them. */
export interface Products extends Pick<Redemptions, "finish"> {
  /** The products that are in stock and available, in the order of the configuration. */
  list(member: Member): Promise<readonly ProductView[]>;
  /** As {@linkcode Redemptions.redeem}. */
  redeem(member: Member, order: RedemptionOrder): Promise<RedemptionView>;
  /** As {@linkcode Redemptions.find}. */
  find(member: Member, id: string): Promise<RedemptionView>;
  /** As {@linkcode Redemptions.complete}. */
  complete(member: Member, id: string): Promise<RedemptionView>;
  /** As {@linkcode Redemptions.refund}. */
  refund(member: Member, id: string, options: { readonly restocks: boolean }): Promise<RedemptionView>;
}

/** What products need. */
export type ProductsOptions = Omit<RedemptionsOptions, "stocks"> &
  Omit<CatalogueOptions, "stocks" | "pools"> & { readonly pools: Pick<CodePools, "claim" | "stats"> };

/** Creates the products of all spaces. */
export function createProducts(options: ProductsOptions): Products {
  const stocks = createStocks(options);
  const redemptions = createRedemptions({ ...options, stocks });
  const show = async (member: Member, seen: RedemptionResult): Promise<RedemptionView> =>
    shown(await options.configOf(member.spaceId), seen);
  return {
    list: member => listProducts({ ...options, stocks }, member),
    redeem: async (member, order) => await show(member, await redemptions.redeem(member, order)),
    find: async (member, id) => await show(member, await redemptions.find(member, id)),
    complete: async (member, id) => await show(member, await redemptions.complete(member, id)),
    refund: async (member, id, how) => await show(member, await redemptions.refund(member, id, how)),
    finish: redemptions.finish,
  };
}

function shown(
  config: CompiledConfig,
  { redemption, state, transactionId }: RedemptionResult,
): RedemptionView {
  const { id, productId, quantity, cost, status, fault = null, fulfilment, received } = redemption;
  const { metadata = {}, boughtAt, changedAt } = redemption;
  return {
    id,
    productId,
    quantity,
    cost,
    status: status === "reserved" ? "pending" : status,
    fault,
    transactionId,
    fulfilment: { type: fulfilment.type, coupon: couponOf(config, state, redemption), items: received.items },
    balances: Object.fromEntries(
      config.config.metrics.map(({ id: metricId, defaultValue }) => [
        metricId,
        ownValue(state.metrics, metricId) ?? defaultValue,
      ]),
    ),
    metadata,
    createdAt: boughtAt,
    changedAt,
  };
}

function couponOf(
  { coupons }: CompiledConfig,
  state: UserState,
  { received }: Redemption,
): CouponView | null {
  const held = state.coupons.find(({ id }) => received.coupons.includes(id));
  const coupon = held === undefined ? undefined : coupons.get(held.couponId);
  return held === undefined || coupon === undefined ? null : couponView(coupon, held);
}
