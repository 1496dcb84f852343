/**
 * Redemptions: products for what users have earned.
 *
 * Balance and stock are in different partitions, and nothing commits to both. So a redemption is a chain of decisions that each take
 * effect once: take the price, take stock and a code under the redemption's id, then give the product or the price back. A caller
 * who repeats the order or looks at the redemption continues an interrupted chain, and so does the sweep.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { AppError } from "../../../base/errors/mod.ts";
import { decide } from "../../../storage/mod.ts";
import type { CommandDecision } from "../commands/command.ts";
import type { CommandRunner } from "../commands/command_runner.ts";
import type { CodePools, PoolAddress } from "../coupons/mod.ts";
import { couponExpiry } from "../engine/rewards.ts";
import type { LoyaltyServices } from "../services.ts";
import { findRecord } from "../user/read_history.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import { emptyState, MergedUserError, onAccount, type Redemption, type UserState } from "../user/state.ts";
import {
  codePoolOf,
  type OrderContext,
  type RedemptionOrder,
  redemptionError,
  stockTotal,
} from "./orders.ts";
import {
  beginCommand,
  completeCommand,
  mergedRefundCommand,
  openRedemption,
  parseRedemption,
  type Reservation,
  readRedemption,
  refundCommand,
  settleRedemptionCommand,
} from "./steps.ts";
import type { ProductAddress, Stocks } from "./stock.ts";

/** A redemption with the user's state after it. */
export interface RedemptionResult {
  readonly redemption: Redemption;
  readonly state: UserState;
  /** The transaction that took the price; null where the history does not go back that far. */
  readonly transactionId: string | null;
}

/** Services that redemptions need. */
export interface RedemptionServices extends LoyaltyServices {
  readonly commands: Pick<CommandRunner, "run">;
  readonly stocks: Stocks;
  readonly pools: CodePools;
}

/** Derives the id of the redemption that a user's key names. */
export function redemptionId({ organisationId, spaceId, userId }: SpaceUser, key: string): string {
  const name = JSON.stringify([organisationId, spaceId, userId, key]);
  return `red_${bytesToHex(sha256(utf8ToBytes(name)).subarray(0, 16))}`;
}

/** Creates the redemptions of all users. */
export function createRedemptions(services: RedemptionServices) {
  const { commands, logger } = services;
  return {
    /**
     * Buys a product. Repeating an order under the same key returns its outcome, and continues it where it was interrupted.
     *
     * @throws {AppError} `not_found`, `validation_failed`, `insufficient_balance`, `out_of_stock`, `limit_reached`,
     *   `not_available`; `conflict` where the key names a redemption of something else.
     */
    redeem: (of: SpaceUser, order: RedemptionOrder): Promise<RedemptionResult> =>
      onAccount(of, async user => {
        const facts = await factsOf(services, user, order);
        const decision = await commands.run(user, (config, now) =>
          beginCommand({ ...facts, config, now }, order),
        );
        const begun = await resultOf(services, user, facts.id, decision);
        requireSameOrder(begun.redemption, order);
        const isOpen = begun.redemption.status === "reserved";
        const { redemption, state } = isOpen ? await settle(services, user, begun.redemption) : begun;
        if (redemption.fault !== undefined) throw redemptionError(redemption.fault);
        const transactionId = begun.transactionId ?? (await findPayment(services, user, redemption));
        return { redemption, state, transactionId };
      }),
    /** Returns a redemption by its id, after finishing it where it was interrupted. Throws `not_found`. */
    async find(user: SpaceUser, id: string): Promise<RedemptionResult> {
      return await withPayment(services, user, await findDecided(services, user, id));
    },
    /** Marks a product as handed over. Throws `not_found` or `conflict`. */
    async complete(user: SpaceUser, id: string): Promise<RedemptionResult> {
      await findDecided(services, user, id);
      const decision = await commands.run(user, (config, now) => completeCommand({ id, config, now }));
      return await afterOperator(services, user, id, decision);
    },
    /** Gives the price back, and the units to the stock where `restocks` is set. Throws `not_found` or `conflict`. */
    async refund(
      user: SpaceUser,
      id: string,
      { restocks }: { readonly restocks: boolean },
    ): Promise<RedemptionResult> {
      const { redemption } = await findDecided(services, user, id);
      try {
        const decision = await commands.run(user, (config, now) =>
          refundCommand({ id, config, now }, restocks),
        );
        return await afterOperator(services, user, id, decision);
      } catch (error) {
        if (!(error instanceof MergedUserError)) throw error;
        const account = { ...user, userId: error.account };
        await commands.run(account, (config, now) => mergedRefundCommand({ id, config, now }, redemption));
        await undo(services, user, { ...redemption, status: "refunded", takesStock: restocks });
        return await withPayment(services, user, await findRedemption(services, user, id));
      }
    },
    /** Continues interrupted redemptions and returns how many of them failed. */
    async finish(user: SpaceUser, { redemptions }: UserState): Promise<number> {
      let failed = 0;
      for (const redemption of redemptions) {
        try {
          if (redemption.status === "reserved") await settle(services, user, redemption);
          else await restock(services, user, redemption);
        } catch (error) {
          failed += 1;
          logger.log("warn", "redemption_deferred", { redemptionId: redemption.id, error: String(error) });
        }
      }
      return failed;
    },
  };
}

/** Returns a function that finds how many units of an ordered product this process knows to be sold. */
function soldUnits(stocks: Stocks, user: SpaceUser, { productId }: RedemptionOrder): OrderContext["soldIn"] {
  return stockPeriod => stocks.cachedSold(stockAddress(user, { productId, stockPeriod }));
}

function stockAddress(
  { organisationId, spaceId }: SpaceUser,
  { productId, stockPeriod }: Pick<ProductAddress, "productId" | "stockPeriod">,
): ProductAddress {
  return { organisationId, spaceId, productId, stockPeriod };
}

/** Takes what a reserved redemption needs, then gives the product or the price back. */
async function settle(
  services: RedemptionServices,
  user: SpaceUser,
  redemption: Redemption,
): Promise<RedemptionResult> {
  const { id } = redemption;
  const reservation = await reserve(services, user, redemption);
  const decision = await services.commands.run(user, (config, now) =>
    settleRedemptionCommand({ id, config, now }, reservation),
  );
  const result = await resultOf(services, user, id, decision);
  if (openRedemption(decision.state, id) !== null) await restock(services, user, result.redemption);
  return result;
}

/** Takes stock and a code, as far as a redemption needs them. Repeating it has the same outcome. */
async function reserve(
  { configOf, clock, stocks, pools }: RedemptionServices,
  user: SpaceUser,
  redemption: Redemption,
): Promise<Reservation> {
  const { id, productId, quantity, takesStock, poolId, fulfilment } = redemption;
  const soldOut = { fault: "out_of_stock", isTaken: false, code: null } as const;
  const config = await configOf(user.spaceId);
  if (takesStock) {
    const total = stockTotal(config.products.get(productId)?.product) ?? Number.MAX_SAFE_INTEGER;
    const isTaken = await stocks.take(stockAddress(user, redemption), id, { quantity, total });
    if (!isTaken) return soldOut;
  }
  if (poolId === undefined) return { fault: null, isTaken: takesStock, code: null };
  const coupon = fulfilment.type === "coupon" ? config.coupons.get(fulfilment.couponId) : undefined;
  const expiresAt = coupon === undefined ? null : couponExpiry(coupon, clock(), config.config.timeZone);
  const code = await pools.claim(poolAddress(user, poolId), id, expiresAt);
  return code === null ? { ...soldOut, isTaken: takesStock } : { fault: null, isTaken: takesStock, code };
}

/** Reads what an order depends on outside its user's partition, so that no points go for what is not there. */
async function factsOf(
  { configOf, pools, stocks }: RedemptionServices,
  user: SpaceUser,
  order: RedemptionOrder,
): Promise<Pick<OrderContext, "id" | "soldIn" | "hasCode">> {
  const config = await configOf(user.spaceId);
  const compiled = config.products.get(order.productId);
  const poolId = compiled === undefined ? null : codePoolOf(config, compiled.product.fulfilment);
  const hasCode = poolId === null || (await pools.hasCode(poolAddress(user, poolId)));
  return { id: redemptionId(user, order.key), soldIn: soldUnits(stocks, user, order), hasCode };
}

/** Gives back the stock of a redemption that failed or was refunded, and its code unless a user has seen it. */
async function undo(
  { stocks, pools }: RedemptionServices,
  user: SpaceUser,
  redemption: Redemption,
): Promise<void> {
  const { id, status, takesStock, poolId } = redemption;
  if (takesStock) await stocks.giveBack(stockAddress(user, redemption), id);
  if (poolId === undefined) return;
  if (status === "rejected") await pools.release(poolAddress(user, poolId), id);
  else await pools.revoke(poolAddress(user, poolId), id);
}

/** Undoes a redemption outside its user's partition, then removes it from those to continue. */
async function restock(services: RedemptionServices, user: SpaceUser, redemption: Redemption): Promise<void> {
  const { store, states } = services;
  const { id } = redemption;
  await undo(services, user, redemption);
  const partition = spaceUserPartition(user);
  await decide(store, partition, {
    reads: [states.query],
    idempotent: true,
    apply: ([stored]) => {
      const before = stored === null ? null : states.valueOf(partition, stored);
      if (before === null || openRedemption(before, id) === null) return { writes: [], answer: null };
      const redemptions = before.redemptions.filter(redemption => redemption.id !== id);
      return { writes: [states.put({ ...before, redemptions })], answer: null };
    },
  });
}

async function afterOperator(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
  decision: CommandDecision,
): Promise<RedemptionResult> {
  const open = openRedemption(decision.state, id);
  if (open !== null) await restock(services, user, open);
  return await withPayment(services, user, await resultOf(services, user, id, decision));
}

/** Returns the redemption after a decision; looks it up where the decision had no effect. */
async function resultOf(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
  { result, state, recordId }: CommandDecision,
): Promise<RedemptionResult> {
  const redemption = result?.redemption ?? openRedemption(state, id);
  if (redemption === null) return await findRedemption(services, user, id);
  return { redemption, state, transactionId: recordId };
}

async function findRedemption(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
): Promise<RedemptionResult> {
  const { store, states } = services;
  const partition = spaceUserPartition(user);
  const [stored, closed] = await store.read(partition, [states.query, readRedemption(id)]);
  const state = stored === null ? emptyState(user.projectId) : states.valueOf(partition, stored);
  const { mergedInto } = state;
  const redemption = openRedemption(state, id) ?? (closed === null ? null : parseRedemption(closed));
  if (redemption !== null && mergedInto !== null)
    return await inAccount(services, { ...user, userId: mergedInto }, redemption);
  if (redemption === null) {
    throw new AppError("not_found", "Cannot find the redemption as the user has none of this id");
  }
  return { redemption, state, transactionId: null };
}

/** Returns a redemption of a merged user: the account's record of it, where it was refunded there, with the account's balances. */
async function inAccount(
  { store, states }: RedemptionServices,
  account: SpaceUser,
  redemption: Redemption,
): Promise<RedemptionResult> {
  const partition = spaceUserPartition(account);
  const [stored, refunded] = await store.read(partition, [states.query, readRedemption(redemption.id)]);
  return {
    redemption: refunded === null ? redemption : parseRedemption(refunded),
    state: stored === null ? emptyState(account.projectId) : states.valueOf(partition, stored),
    transactionId: null,
  };
}

/**
 * Finds a redemption and decides it where the process that began it did not get to that: nobody is shown as the owner of a product
 * for which no stock was taken.
 */
async function findDecided(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
): Promise<RedemptionResult> {
  const found = await findRedemption(services, user, id);
  return found.redemption.status === "reserved" ? await settle(services, user, found.redemption) : found;
}

async function withPayment(
  services: RedemptionServices,
  user: SpaceUser,
  { redemption, state }: RedemptionResult,
): Promise<RedemptionResult> {
  return { redemption, state, transactionId: await findPayment(services, user, redemption) };
}

/** Most records from a purchase on among which its payment is found. */
const paymentScanMax = 1_000;

/** Returns the id of the transaction that took the price; null where the history does not go back that far. */
async function findPayment(
  { store }: RedemptionServices,
  user: SpaceUser,
  { id, boughtAt }: Redemption,
): Promise<string | null> {
  // The entry is later than the purchase where one before it was written by a process whose clock is ahead.
  const range = { from: boughtAt, recordsMax: paymentScanMax };
  return (await findRecord(store, user, range, ({ redemption }) => redemption?.id === id))?.id ?? null;
}

function requireSameOrder({ productId, quantity }: Redemption, order: RedemptionOrder): void {
  if (productId === order.productId && quantity === order.quantity) return;
  throw new AppError("conflict", "Cannot redeem the product as the key names another redemption");
}

function poolAddress({ organisationId, spaceId }: SpaceUser, poolId: string): PoolAddress {
  return { organisationId, spaceId, poolId };
}
