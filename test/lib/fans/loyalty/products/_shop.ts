/** A platform whose space sells things. */

import assert from "node:assert/strict";
import { AppError, type ErrorCode } from "../../../../../lib/base/errors/mod.ts";
import { seedDirectory } from "../../../../../lib/fans/directory/seed.ts";
import type { Reward } from "../../../../../lib/fans/loyalty/config/parts.ts";
import type { PoolAddress } from "../../../../../lib/fans/loyalty/coupons/code_pools.ts";
import type { SpaceUser } from "../../../../../lib/fans/loyalty/mod.ts";
import type { Platform } from "../../../../../lib/mod.ts";
import { ids, loyalty, seed } from "../../../../support/platform.ts";
import { openProcesses, type Processes } from "../../../../support/processes.ts";
import type { OpenStore } from "../../../../support/stores.ts";

type Part = Readonly<Record<string, unknown>>;

function points(amount: number): Part {
  return { currency: "points", amount };
}

/** Products of every kind; the scarf is what there is little of. */
export const products: Readonly<Record<string, Part>> = {
  scarf: {
    id: "scarf",
    title: "Scarf",
    prices: [points(10)],
    stock: { type: "limited", quantity: 5 },
    fulfilment: { type: "manual" },
  },
  badge: {
    id: "badge",
    title: "Badge",
    prices: [points(4), { currency: "coins", amount: 2 }],
    fulfilment: { type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" },
  },
  drink: {
    id: "drink",
    title: "Drink",
    prices: [points(3)],
    fulfilment: { type: "coupon", couponId: "drink" },
  },
  poster: {
    id: "poster",
    title: "Poster",
    prices: [points(1)],
    limits: { perUser: 3, window: "day" },
    fulfilment: { type: "webhook" },
  },
};

const grantRule = {
  id: "spent",
  trigger: { metric: "points" },
  when: { lt: [{ var: "user.metrics.points" }, 1] },
  effects: [{ type: "metric", metricId: "coins", metricQuantity: 1 }],
};

/** The document of a space that sells products. */
export function shopDocument(sold: readonly Part[] = Object.values(products)): Part {
  return {
    ...loyalty,
    metrics: [
      { id: "points", title: "Points", lots: { expires: { after: { hours: 720 } } } },
      { id: "coins", title: "Coins", maximumValue: 20 },
    ],
    rules: [grantRule],
    challenges: [],
    webhooks: [{ id: "crm", url: "https://crm.example/events", events: ["redemptionConfirmed"] }],
    products: sold,
  };
}

/** A user of the space. */
export function buyer(n: number): SpaceUser {
  const userId = `11111111-1111-4111-8111-${String(n).padStart(12, "0")}`;
  return { organisationId: ids.organisation, spaceId: ids.space, projectId: null, userId };
}

/** The pool of the drinks. */
export const drinks: PoolAddress = { organisationId: ids.organisation, spaceId: ids.space, poolId: "drinks" };

/** Opens a shop over a store that outlives its processes. */
export function openShop(open: OpenStore, document: Part = shopDocument()): Promise<Processes> {
  return openProcesses(open, document);
}

/** Gives a user points and coins to spend. */
export async function fund(
  { loyalty: of }: Platform,
  member: SpaceUser,
  { points: amount = 0, coins = 0 }: { readonly points?: number; readonly coins?: number },
): Promise<void> {
  const rewards: Reward[] = Object.entries({ points: amount, coins })
    .filter(([, quantity]) => quantity > 0)
    .map(([metricId, metricQuantity]) => ({ type: "metric", metricId, metricQuantity }));
  await of.grant(member, { rewards, reason: "To spend" });
}

/** Makes another document the newest version of the space's. */
export async function replaceDocument({ store, clock }: Processes, document: Part): Promise<void> {
  await seedDirectory(store, { ...seed, loyalty: { [ids.space]: document } }, { clock: clock.now });
}

/** The buyer of tests that need one. */
export const fan: SpaceUser = buyer(1);

/** Tests if an error has a code. */
export function withCode(code: ErrorCode): (error: unknown) => boolean {
  return error => error instanceof AppError && error.code === code;
}

/** Checks that the ledger of a user adds up. */
export async function assertProved({ loyalty }: Platform, member: SpaceUser = fan): Promise<void> {
  const { ok, faults } = await loyalty.reconcile(member);
  assert.deepEqual([ok, faults], [true, []]);
  assert.deepEqual((await loyalty.replay(member)).differences, []);
}

/** Returns the types of the transactions of a user. */
export async function typesOf({ loyalty }: Platform, member: SpaceUser = fan): Promise<readonly string[]> {
  return (await loyalty.history(member, {})).map(({ type }) => type);
}

/** Returns the points of a user. */
export const balance = async ({ loyalty }: Platform, member: SpaceUser = fan): Promise<number> =>
  (await loyalty.profile(member)).metrics.points ?? Number.NaN;
