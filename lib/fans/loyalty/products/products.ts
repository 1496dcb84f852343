/** The products of a space: listing them, redeeming them, and what operators do with redemptions. */

import { type CompiledConfig, type CompiledProduct, metricValues } from "../config/compiled.ts";
import type { ActionData, Fulfilment, Price, Product } from "../config/document.ts";
import { type CouponView, couponView } from "../coupons/coupons.ts";
import { advanceTime } from "../engine/advance_time.ts";
import type { ItemId } from "../user/change_payload.ts";
import {
  emptyState,
  pickFields,
  type Redemption,
  type RedemptionFault,
  type RedemptionStatus,
  type SpaceUser,
  spaceUserPartition,
  type UserState,
} from "../user/state.ts";
import { canPay, codePoolOf, isAvailable, redemptionFault, stockPeriodOf, stockTotal } from "./orders.ts";
import {
  complete,
  findWithPayment,
  finishRedemptions,
  type RedemptionResult,
  type RedemptionServices,
  redeem,
  refund,
} from "./redemptions.ts";
import { createStocks } from "./stock.ts";

export interface ProductView extends Omit<Product, "stock" | "fulfilment" | "enabled" | "when"> {
  readonly stock: { readonly type: "unlimited" } | { readonly type: "limited"; readonly available: number };
  readonly fulfilment: Pick<Fulfilment, "type">;
  /** True where the user could redeem one of it now. */
  readonly canRedeem: boolean;
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
  readonly fault: RedemptionFault | null;
  /** The transaction that took the price; null where the history does not go back that far. */
  readonly transactionId: string | null;
  readonly fulfilment: {
    readonly type: Redemption["fulfilment"]["type"];
    readonly coupon: CouponView | null;
    readonly items: readonly ItemId[];
  };
  readonly balances: Readonly<Record<string, number>>;
  readonly metadata: ActionData;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly changedAt: number;
}

/** Time after which an undecided redemption counts as interrupted, in ms: longer than a request waits for the store. */
const redemptionMsMax = 5_000;

/** The products of all spaces: they are listed and sold. */
export type Products = ReturnType<typeof createProducts>;

export function createProducts(shared: Omit<RedemptionServices, "stocks">) {
  const services = { ...shared, stocks: createStocks(shared) };
  const viewed =
    <Rest extends readonly unknown[]>(
      step: (services: RedemptionServices, user: SpaceUser, ...rest: Rest) => Promise<RedemptionResult>,
    ) =>
    async (user: SpaceUser, ...rest: Rest): Promise<RedemptionView> =>
      redemptionView(await services.configOf(user.spaceId), await step(services, user, ...rest));
  return {
    /** Lists the products that are in stock and available, in the order of the configuration. */
    list: (user: SpaceUser) => listProducts(services, user),
    redeem: viewed(redeem),
    find: viewed(findWithPayment),
    complete: viewed(complete),
    refund: viewed(refund),
    finish: (user: SpaceUser, state: UserState) => finishRedemptions(services, user, state),
    /** Continues redemptions that a process began and did not get to the end of; false where there are none. */
    async finishInterrupted(user: SpaceUser, state: UserState): Promise<boolean> {
      const now = services.clock();
      if (!state.redemptions.some(({ changedAt }) => now - changedAt > redemptionMsMax)) return false;
      await finishRedemptions(services, user, state);
      return true;
    },
  };
}

async function listProducts(services: RedemptionServices, user: SpaceUser): Promise<readonly ProductView[]> {
  const { store, clock, configOf, states, profiles } = services;
  const partition = spaceUserPartition(user);
  const [config, [stored, found]] = await Promise.all([
    configOf(user.spaceId),
    store.read(partition, [states.query, profiles.query]),
  ]);
  const fields = found === null ? {} : profiles.valueOf(partition, found);
  const profile = pickFields(fields, config.customFields);
  const now = clock();
  const loaded = stored === null ? emptyState(user.projectId) : states.valueOf(partition, stored);
  const { state } = advanceTime(config, loaded, now);
  const available = [...config.products.values()].filter(compiled => isAvailable(compiled, now));
  const listed = await Promise.all(
    available.map(async compiled => {
      const left = await unitsLeft(services, user, { config, compiled, now });
      if (left === 0) return [];
      const fault = redemptionFault(config, state, { compiled, quantity: 1, now, profile });
      const isPayable = compiled.product.prices.some(price => canPay(config, state, price));
      return [productView(compiled, left, [fault, isPayable ? null : "insufficient_balance"])];
    }),
  );
  return listed.flat();
}

/** Returns how many units of a product are left; null: any number. */
async function unitsLeft(
  { stocks, pools }: RedemptionServices,
  { organisationId, spaceId }: SpaceUser,
  {
    config,
    compiled: { product },
    now,
  }: { readonly config: CompiledConfig; readonly compiled: CompiledProduct; readonly now: number },
): Promise<number | null> {
  const stockPeriod = stockPeriodOf(config, product, now) ?? undefined;
  const total = stockTotal(product);
  const poolId = codePoolOf(config, product.fulfilment);
  const [sold, codes] = await Promise.all([
    total === null ? 0 : stocks.sold({ organisationId, spaceId, productId: product.id, stockPeriod }),
    poolId === null ? null : pools.stats({ organisationId, spaceId, poolId }),
  ]);
  const left = total === null ? null : Math.max(0, total - sold);
  // A missing code cannot be sold, whatever the stock says.
  return codes === null ? left : Math.min(codes.available, left ?? codes.available);
}

function productView(
  { product: { stock: _, fulfilment, enabled: __, when: ___, ...product } }: CompiledProduct,
  left: number | null,
  faults: readonly (RedemptionFault | null)[],
): ProductView {
  const reasons = faults.filter(fault => fault !== null);
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
    balances: metricValues(config, state.metrics),
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
