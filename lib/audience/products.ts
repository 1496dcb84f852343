/**
 * What the audience API asks of the products of a space. Times are in Unix ms unless said otherwise.
 *
 * @module
 */

import type { AudienceMember } from "./member.ts";

/** A product as the user sees it. */
export interface OfferedProduct {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly media: string;
  readonly category: string;
  readonly sku?: string;
  readonly prices: readonly { readonly currency: string; readonly amount: number }[];
  readonly stock: { readonly type: "unlimited" } | { readonly type: "limited"; readonly available: number };
  readonly limits?: { readonly perUser: number; readonly window?: string };
  /** Unix seconds; 0: always. */
  readonly availableFrom: number;
  /** Unix seconds; 0: for ever. */
  readonly availableTo: number;
  readonly fulfilment: { readonly type: string };
  readonly canRedeem: boolean;
  readonly reasons: readonly string[];
}

/** What a user wants to buy. */
export interface ProductOrder {
  /** Orders of a user under the same key are one. */
  readonly key: string;
  readonly productId: string;
  readonly quantity: number;
  readonly currency?: string | undefined;
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** A product that was bought. */
export interface BoughtProduct {
  readonly id: string;
  readonly productId: string;
  readonly quantity: number;
  readonly cost: { readonly currency: string; readonly amount: number };
  readonly status: string;
  readonly transactionId: string | null;
  readonly fulfilment: {
    readonly type: string;
    readonly coupon: unknown;
    readonly items: readonly unknown[];
  };
  readonly balances: Readonly<Record<string, number>>;
  readonly createdAt: number;
}

/** Lists products and sells them. */
export interface ProductShop {
  /** The products that are in stock and available. */
  list(member: AudienceMember): Promise<readonly OfferedProduct[]>;
  /** Buys a product. Throws why not: `not_found`, `insufficient_balance`, `out_of_stock`, `limit_reached` or `not_available`. */
  redeem(member: AudienceMember, order: ProductOrder): Promise<BoughtProduct>;
}
