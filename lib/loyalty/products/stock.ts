/**
 * What is left of products whose stock is limited: each has a partition of its own, with the number that was sold and, for every
 * redemption that asked, how many it holds.
 *
 * What a redemption was told once it is told whenever it asks again, so it makes no difference who asks how often. A redemption
 * takes with one commit and without reading: the bound of the tally decides, in which order processes get there.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import {
  decide,
  keyName,
  onceMark,
  type Partition,
  type ReadTally,
  type Store,
  tenantPartition,
  type Write,
} from "../../storage/mod.ts";
import type { Product } from "../config/document.ts";
import type { Member } from "../user/member.ts";

/** How long a process goes by what it last knew of a stock before it looks again, in ms. */
export const stockFreshMs = 1_000;
/** Number of products whose stock a process remembers; the one looked at for longest is forgotten first. */
export const stocksCachedMax = 10_000;

/** A product of a space. */
export interface ProductAddress extends Pick<Member, "organisationId" | "spaceId"> {
  readonly productId: string;
}

/** What a redemption asks for. */
export interface StockClaim {
  readonly redemptionId: string;
  readonly quantity: number;
  /** How many of the product there ever are. */
  readonly total: number;
}

/** Takes from stocks and gives back. */
export interface Stocks {
  /** Takes for a redemption, and says whether it has what it asked for; the answer stays the same. */
  take(product: ProductAddress, claim: StockClaim): Promise<boolean>;
  /** Gives back what a redemption holds, once. */
  giveBack(product: ProductAddress, redemptionId: string): Promise<void>;
  /** How many were sold, as of at most {@linkcode stockFreshMs} ago. */
  sold(product: ProductAddress): Promise<number>;
  /** As {@linkcode Stocks.sold}, as far as that is known without asking the store. */
  cachedSold(product: ProductAddress): number | null;
}

interface Known {
  readonly sold: number;
  /** Unix ms. */
  readonly at: number;
}

const soldKey = "sold";
const soldField = "units";
const soldRead: ReadTally = { type: "tally", key: soldKey, fields: [soldField] };

/** Creates the stocks of all products over a store. */
export function createStocks({ store, clock }: { readonly store: Store; readonly clock: Clock }): Stocks {
  const known = new Map<Partition, Known>();
  const reading = new Map<Partition, Promise<number>>();

  function remember(partition: Partition, sold: number): void {
    known.delete(partition);
    known.set(partition, { sold, at: clock() });
    if (known.size <= stocksCachedMax) return;
    const [oldest] = known.keys();
    if (oldest !== undefined) known.delete(oldest);
  }

  function recall(partition: Partition): number | null {
    const found = known.get(partition);
    return found === undefined || clock() - found.at >= stockFreshMs ? null : found.sold;
  }

  async function read(partition: Partition): Promise<number> {
    const [tally] = await store.read(partition, [soldRead]);
    const sold = tally.get(soldField) ?? 0;
    remember(partition, sold);
    return sold;
  }

  return {
    async take(product, claim) {
      const partition = partitionOf(product);
      const answer = await decide(store, partition, takeRule(claim));
      if (answer === "seen") return (await heldBy(store, partition, claim.redemptionId)) > 0;
      if (answer !== "refused") {
        remember(partition, answer);
        return true;
      }
      const isRefused = await decide(store, partition, refuseRule(claim.redemptionId));
      await read(partition);
      return isRefused ? false : (await heldBy(store, partition, claim.redemptionId)) > 0;
    },
    async giveBack(product, redemptionId) {
      const partition = partitionOf(product);
      const held = await heldBy(store, partition, redemptionId);
      if (held > 0) await decide(store, partition, giveBackRule(redemptionId, held));
      known.delete(partition);
    },
    async sold(product) {
      const partition = partitionOf(product);
      const remembered = recall(partition);
      if (remembered !== null) return remembered;
      const running = reading.get(partition) ?? read(partition).finally(() => reading.delete(partition));
      reading.set(partition, running);
      return await running;
    },
    cachedSold: product => recall(partitionOf(product)),
  };
}

/** How many of a product there ever are; null: without end. */
export function stockTotal(product: Product | undefined): number | null {
  if (product === undefined) return 0;
  return product.stock.type === "limited" ? product.stock.quantity : null;
}

type TakeAnswer = number | "refused" | "seen";

function takeRule({
  redemptionId,
  quantity,
  total,
}: StockClaim): Parameters<typeof decide<readonly [ReadTally], TakeAnswer>>[2] {
  return {
    reads: [onceMark(claimsKey(redemptionId), redemptionId)],
    idempotent: true,
    apply: ([claim]) => {
      if (claim.size > 0) return { writes: [], answer: "seen" };
      return {
        writes: [
          { type: "add", key: soldKey, field: soldField, by: quantity, min: 0, max: total },
          holding(redemptionId, quantity),
        ],
        answer: ({ results: [sold] }) => Number(sold),
        refused: () => "refused",
      };
    },
  };
}

/** Answers whether the redemption was refused for good by this. */
function refuseRule(redemptionId: string): Parameters<typeof decide<readonly [ReadTally], boolean>>[2] {
  return {
    reads: [onceMark(claimsKey(redemptionId), redemptionId)],
    idempotent: true,
    apply: ([claim]) =>
      claim.size > 0 ? { writes: [], answer: false } : { writes: [holding(redemptionId, 0)], answer: true },
  };
}

/** Of those who give the same back at the same time, the bound lets one pass. */
function giveBackRule(redemptionId: string, held: number): Parameters<typeof decide<readonly [], void>>[2] {
  return {
    reads: [],
    apply: () => ({
      writes: [holding(redemptionId, -held), { type: "add", key: soldKey, field: soldField, by: -held }],
      answer: undefined,
      refused: () => undefined,
    }),
  };
}

/** What a redemption holds; one that was refused, or has given back, holds 0. */
async function heldBy(store: Store, partition: Partition, redemptionId: string): Promise<number> {
  const [held] = await store.read(partition, [
    { type: "tally", key: claimsKey(redemptionId), fields: [redemptionId] },
  ]);
  return held.get(redemptionId) ?? 0;
}

function holding(redemptionId: string, by: number): Write {
  return { type: "add", key: claimsKey(redemptionId), field: redemptionId, by, min: 0 };
}

/** Spreads claims over tallies, which have a bound. */
function claimsKey(redemptionId: string): string {
  return keyName("claims", redemptionId.slice(-claimsCharacters));
}

/** By how many characters of its id, each one of sixteen, the tally of a claim is found. */
const claimsCharacters = 4;

function partitionOf({ organisationId, spaceId, productId }: ProductAddress): Partition {
  return tenantPartition({ organisation: organisationId }, "product", spaceId, productId);
}
