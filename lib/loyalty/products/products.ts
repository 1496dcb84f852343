/**
 * The products of a space: listing them, redeeming them, and what operators do with redemptions.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { RecordCache, Store } from "../../storage/mod.ts";
import type { CompiledConfig, CompiledProduct } from "../config/compiled.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import type { ActionData, Fulfilment, Price, Product } from "../config/document.ts";
import { ownValue } from "../config/scope.ts";
import { type CodePools, type CouponView, couponView } from "../coupons/mod.ts";
import { advanceTime } from "../engine/mod.ts";
import type { ItemId } from "../user/history.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import type { Redemption, RedemptionFault, RedemptionStatus } from "../user/state.ts";
import { emptyState, type UserState } from "../user/state.ts";
import {
  canPay,
  codePoolOf,
  isAvailable,
  type RedemptionOrder,
  redemptionFault,
  stockTotal,
} from "./orders.ts";
import {
  createRedemptions,
  type RedemptionResult,
  type Redemptions,
  type RedemptionsOptions,
} from "./redemptions.ts";
import { createStocks, type Stocks } from "./stock.ts";

/** A product as a user sees it. */
export interface ProductView extends Omit<Product, "stock" | "fulfilment" | "enabled"> {
  readonly stock: { readonly type: "unlimited" } | { readonly type: "limited"; readonly available: number };
  readonly fulfilment: Pick<Fulfilment, "type">;
  /** True where the user could redeem one of it now. */
  readonly canRedeem: boolean;
  /** Reasons why not. */
  readonly reasons: readonly RedemptionFault[];
}

/** A redemption as its user and operators see it. */
export interface RedemptionView {
  readonly id: string;
  readonly productId: string;
  readonly quantity: number;
  readonly cost: Price;
  /** `pending`: not decided yet, or to be handed over. */
  readonly status: Exclude<RedemptionStatus, "reserved">;
  /** The reason of a rejection. */
  readonly fault: RedemptionFault | null;
  /** The transaction that took the price; null where the history does not go back that far. */
  readonly transactionId: string | null;
  readonly fulfilment: {
    readonly type: Redemption["fulfilment"]["type"];
    readonly coupon: CouponView | null;
    readonly items: readonly ItemId[];
  };
  /** The user's balance of every metric. */
  readonly balances: Readonly<Record<string, number>>;
  readonly metadata: ActionData;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly changedAt: number;
}

/** Lists products and sells them. */
export interface Products extends Pick<Redemptions, "finish"> {
  /** Lists the products that are in stock and available, in the order of the configuration. */
  list(user: SpaceUser): Promise<readonly ProductView[]>;
  /** As {@linkcode Redemptions.redeem}. */
  redeem(user: SpaceUser, order: RedemptionOrder): Promise<RedemptionView>;
  /** As {@linkcode Redemptions.find}. */
  find(user: SpaceUser, id: string): Promise<RedemptionView>;
  /** As {@linkcode Redemptions.complete}. */
  complete(user: SpaceUser, id: string): Promise<RedemptionView>;
  /** As {@linkcode Redemptions.refund}. */
  refund(user: SpaceUser, id: string, options: { readonly restocks: boolean }): Promise<RedemptionView>;
}

/** Services that products need. */
export type ProductsOptions = Omit<RedemptionsOptions, "stocks"> & {
  readonly store: Store;
  readonly clock: Clock;
  readonly configOf: ConfigCache;
  readonly states: RecordCache<UserState>;
  readonly pools: Pick<CodePools, "claim" | "release" | "stats">;
};

/** Creates the products of all spaces. */
export function createProducts(options: ProductsOptions): Products {
  const stocks = createStocks(options);
  const redemptions = createRedemptions({ ...options, stocks });
  const view = async (user: SpaceUser, result: RedemptionResult): Promise<RedemptionView> =>
    redemptionView(await options.configOf(user.spaceId), result);
  return {
    list: user => listProducts({ ...options, stocks }, user),
    redeem: async (user, order) => await view(user, await redemptions.redeem(user, order)),
    find: async (user, id) => await view(user, await redemptions.find(user, id)),
    complete: async (user, id) => await view(user, await redemptions.complete(user, id)),
    refund: async (user, id, how) => await view(user, await redemptions.refund(user, id, how)),
    finish: redemptions.finish,
  };
}

type ListOptions = ProductsOptions & { readonly stocks: Pick<Stocks, "sold"> };

async function listProducts(options: ListOptions, user: SpaceUser): Promise<readonly ProductView[]> {
  const { store, clock, configOf, states } = options;
  const partition = spaceUserPartition(user);
  const [config, [stored]] = await Promise.all([
    configOf(user.spaceId),
    store.read(partition, [states.query]),
  ]);
  const now = clock();
  const loaded = stored === null ? emptyState(user.projectId) : states.valueOf(partition, stored);
  const { state } = advanceTime(config, loaded, now);
  const available = [...config.products.values()].filter(compiled => isAvailable(compiled, now));
  const listed = await Promise.all(
    available.map(async compiled => {
      const left = await unitsLeft(options, { config, user, compiled });
      return left === 0 ? [] : [productView(config, state, { compiled, left, now })];
    }),
  );
  return listed.flat();
}

interface StockQuery {
  readonly config: CompiledConfig;
  readonly user: SpaceUser;
  readonly compiled: CompiledProduct;
}

/** Returns how many units of a product are left; null: any number. */
async function unitsLeft(
  { stocks, pools }: ListOptions,
  { config, user, compiled: { product } }: StockQuery,
): Promise<number | null> {
  const { organisationId, spaceId } = user;
  const total = stockTotal(product);
  const poolId = codePoolOf(config, product.fulfilment);
  const [sold, codes] = await Promise.all([
    total === null ? 0 : stocks.sold({ organisationId, spaceId, productId: product.id }),
    poolId === null ? null : pools.stats({ organisationId, spaceId, poolId }),
  ]);
  const left = total === null ? null : Math.max(0, total - sold);
  // A missing code cannot be sold, whatever the stock says.
  return codes === null ? left : Math.min(codes.available, left ?? codes.available);
}

interface AvailableProduct {
  readonly compiled: CompiledProduct;
  readonly left: number | null;
  readonly now: number;
}

function productView(
  config: CompiledConfig,
  state: UserState,
  { compiled, left, now }: AvailableProduct,
): ProductView {
  const { stock: _, fulfilment, enabled: __, ...product } = compiled.product;
  const fault = redemptionFault(config, state, { compiled, quantity: 1, now });
  const isPayable = product.prices.some(price => canPay(config, state, price));
  const reasons: RedemptionFault[] = [
    ...(fault === null ? [] : [fault]),
    ...(isPayable ? [] : ["insufficient_balance" as const]),
  ];
  return {
    ...product,
    stock: left === null ? { type: "unlimited" } : { type: "limited", available: left },
    fulfilment: { type: fulfilment.type },
    canRedeem: reasons.length === 0,
    reasons,
  };
}

function redemptionView(
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
    fulfilment: {
      type: fulfilment.type,
      coupon: receivedCoupon(config, state, redemption),
      items: received.items,
    },
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

function receivedCoupon(
  { coupons }: CompiledConfig,
  state: UserState,
  { received }: Redemption,
): CouponView | null {
  const owned = state.coupons.find(({ id }) => received.coupons.includes(id));
  const coupon = owned === undefined ? undefined : coupons.get(owned.couponId);
  return owned === undefined || coupon === undefined ? null : couponView(coupon, owned);
}
