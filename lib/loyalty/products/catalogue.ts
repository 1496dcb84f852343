/**
 * The products of a space as a user sees them: those that are to be had now, and whether this user may have them.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { RecordCache, Store } from "../../storage/mod.ts";
import type { CompiledConfig, CompiledProduct } from "../config/compiled.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import type { Fulfilment, Product } from "../config/document.ts";
import type { CodePools } from "../coupons/mod.ts";
import { advanceTime } from "../engine/mod.ts";
import { type Member, memberPartition } from "../user/member.ts";
import { emptyState, type RedemptionFault, type UserState } from "../user/state.ts";
import { codePoolOf } from "./accept_order.ts";
import { canPay, isAvailable, redemptionFault } from "./redeemable.ts";
import { type Stocks, stockTotal } from "./stock.ts";

/** A product as a user sees it. */
export interface ProductView extends Omit<Product, "stock" | "fulfilment" | "enabled"> {
  readonly stock: { readonly type: "unlimited" } | { readonly type: "limited"; readonly available: number };
  readonly fulfilment: Pick<Fulfilment, "type">;
  /** Whether the user could redeem one of it now. */
  readonly canRedeem: boolean;
  /** Why not. */
  readonly reasons: readonly RedemptionFault[];
}

/** What listing products needs. */
export interface CatalogueOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly configOf: ConfigCache;
  readonly states: RecordCache<UserState>;
  readonly stocks: Pick<Stocks, "sold">;
  readonly pools: Pick<CodePools, "stats">;
}

/** Lists the products that are in stock and available, in the order of the configuration. */
export async function listProducts(
  options: CatalogueOptions,
  member: Member,
): Promise<readonly ProductView[]> {
  const { store, clock, configOf, states } = options;
  const partition = memberPartition(member);
  const [config, [stored]] = await Promise.all([
    configOf(member.spaceId),
    store.read(partition, [states.query]),
  ]);
  const now = clock();
  const known = stored === null ? emptyState(member.projectId) : states.valueOf(partition, stored);
  const { state } = advanceTime(config, known, now);
  const offered = [...config.products.values()].filter(product => isAvailable(product, now));
  const listed = await Promise.all(
    offered.map(async of => {
      const left = await leftOf(options, { config, member, of });
      return left === 0 ? [] : [shown(config, state, { of, left, now })];
    }),
  );
  return listed.flat();
}

interface Looked {
  readonly config: CompiledConfig;
  readonly member: Member;
  readonly of: CompiledProduct;
}

/** How many of a product are left; null: any number. */
async function leftOf(
  { stocks, pools }: CatalogueOptions,
  { config, member, of: { product } }: Looked,
): Promise<number | null> {
  const { organisationId, spaceId } = member;
  const total = stockTotal(product);
  const poolId = codePoolOf(config, product.fulfilment);
  const [sold, codes] = await Promise.all([
    total === null ? 0 : stocks.sold({ organisationId, spaceId, productId: product.id }),
    poolId === null ? null : pools.stats({ organisationId, spaceId, poolId }),
  ]);
  const left = total === null ? null : Math.max(0, total - sold);
  // A code that is not there cannot be sold, whatever the stock says.
  return codes === null ? left : Math.min(codes.available, left ?? codes.available);
}

interface Shown {
  readonly of: CompiledProduct;
  readonly left: number | null;
  readonly now: number;
}

function shown(config: CompiledConfig, state: UserState, { of, left, now }: Shown): ProductView {
  const { stock: _, fulfilment, enabled: __, ...product } = of.product;
  const fault = redemptionFault(config, state, { of, quantity: 1, now });
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
