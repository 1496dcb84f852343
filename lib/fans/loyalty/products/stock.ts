/**
 * Stock of limited products. Each has a partition of its own, with a tally of the units sold and the units that each redemption
 * holds.
 *
 * A redemption takes with one commit and without a read: the bound of the tally decides. Its answer is stored under the
 * redemption's id, refusals too, so asking again has the same outcome.
 */

import { Cache } from "../../../storage/background/mod.ts";
import {
  decide,
  onceMark,
  type Partition,
  type ReadTally,
  type Rule,
  type Store,
  tenantPartition,
  type Write,
} from "../../../storage/mod.ts";
import { keyName } from "../../../storage/names.ts";
import type { LoyaltyServices } from "../services.ts";
import type { SpaceUser } from "../user/state.ts";

export interface ProductAddress extends Pick<SpaceUser, "organisationId" | "spaceId"> {
  readonly productId: string;
  /** The period of the calendar in which units count. @default all that were ever sold count together */
  readonly stockPeriod?: string | undefined;
}

const cacheOptions = { entriesMax: 10_000, maxAgeMs: 1_000 };
/** Characters of a redemption's id that select the tally of its units, because tallies have a bound. */
const claimsCharacters = 4;
const soldKey = "sold";
/** The field of all units that were ever sold; those of a period have its id. */
const everSold = "units";

/** The stock of all products: units are taken and given back. */
export type Stocks = ReturnType<typeof createStocks>;

export function createStocks({ store, clock }: Pick<LoyaltyServices, "store" | "clock">) {
  const cache = new Cache<number>({ ...cacheOptions, clock });

  function readSold(product: ProductAddress): Promise<number> | number {
    const field = soldFieldOf(product);
    return cache.getOrLoad(cacheKey(product), async () => {
      const read: ReadTally = { type: "tally", key: soldKey, fields: [field] };
      const [tally] = await store.read(partitionOf(product), [read]);
      return { value: tally.get(field) ?? 0 };
    });
  }

  return {
    /**
     * Takes units for a redemption; false where there are not enough. Asking again has the same answer.
     *
     * @param total Number of units of the product that are sold, in the period or ever.
     */
    async take(
      product: ProductAddress,
      redemptionId: string,
      { quantity, total }: { readonly quantity: number; readonly total: number },
    ): Promise<boolean> {
      const partition = partitionOf(product);
      const answer = await decide(
        store,
        partition,
        takeRule(redemptionId, { quantity, total, field: soldFieldOf(product) }),
      );
      if (answer === "repeated") return (await unitsHeld(store, partition, redemptionId)) > 0;
      if (answer !== "refused") {
        cache.set(cacheKey(product), answer);
        return true;
      }
      const isRefused = await decide(store, partition, refuseRule(redemptionId));
      cache.delete(cacheKey(product));
      await readSold(product);
      return isRefused ? false : (await unitsHeld(store, partition, redemptionId)) > 0;
    },
    /** Gives back what a redemption holds, once. */
    async giveBack(product: ProductAddress, redemptionId: string): Promise<void> {
      const partition = partitionOf(product);
      const held = await unitsHeld(store, partition, redemptionId);
      if (held > 0) await decide(store, partition, giveBackRule(redemptionId, held, soldFieldOf(product)));
      cache.delete(cacheKey(product));
    },
    /** Returns the number of units sold, as of at most a second ago. */
    sold: async (product: ProductAddress): Promise<number> => await readSold(product),
    /** Returns the number of units sold if this process knows it; else null. */
    cachedSold: (product: ProductAddress): number | null => cache.get(cacheKey(product)) ?? null,
  };
}

type TakeAnswer = number | "refused" | "repeated";

function takeRule(
  redemptionId: string,
  { quantity, total, field }: { readonly quantity: number; readonly total: number; readonly field: string },
): Rule<readonly [ReadTally], TakeAnswer> {
  return {
    reads: [onceMark(claimsKey(redemptionId), redemptionId)],
    idempotent: true,
    apply: ([claim]) => {
      if (claim.size > 0) return { writes: [], answer: "repeated" };
      return {
        writes: [
          { type: "add", key: soldKey, field, by: quantity, min: 0, max: total },
          addUnits(redemptionId, quantity),
        ],
        answer: ({ results: [sold] }) => Number(sold),
        refused: () => "refused",
      };
    },
  };
}

/** Stores a refusal; answers false where the redemption had an answer before. */
function refuseRule(redemptionId: string): Rule<readonly [ReadTally], boolean> {
  return {
    reads: [onceMark(claimsKey(redemptionId), redemptionId)],
    idempotent: true,
    apply: ([claim]) =>
      claim.size > 0 ? { writes: [], answer: false } : { writes: [addUnits(redemptionId, 0)], answer: true },
  };
}

/** Gives units back; of several processes that do so at the same time, the bound lets one pass. */
function giveBackRule(redemptionId: string, held: number, field: string): Rule<readonly [], void> {
  return {
    reads: [],
    apply: () => ({
      writes: [addUnits(redemptionId, -held), { type: "add", key: soldKey, field, by: -held }],
      answer: undefined,
      refused: () => undefined,
    }),
  };
}

/** Returns the units that a redemption holds: 0 where it was refused or has given them back. */
async function unitsHeld(store: Store, partition: Partition, redemptionId: string): Promise<number> {
  const [held] = await store.read(partition, [
    { type: "tally", key: claimsKey(redemptionId), fields: [redemptionId] },
  ]);
  return held.get(redemptionId) ?? 0;
}

function addUnits(redemptionId: string, by: number): Write {
  return { type: "add", key: claimsKey(redemptionId), field: redemptionId, by, min: 0 };
}

function claimsKey(redemptionId: string): string {
  return keyName("claims", redemptionId.slice(-claimsCharacters));
}

function soldFieldOf({ stockPeriod = everSold }: ProductAddress): string {
  return stockPeriod;
}

function cacheKey(product: ProductAddress): string {
  return `${partitionOf(product)} ${soldFieldOf(product)}`;
}

function partitionOf({ organisationId, spaceId, productId }: ProductAddress): Partition {
  return tenantPartition({ organisation: organisationId }, "product", spaceId, productId);
}
