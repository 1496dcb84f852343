/**
 * Redemptions: products for what users have earned.
 *
 * Balance and stock are in different partitions, and nothing commits to both. So a redemption is a chain of decisions that each take
 * effect once: take the price, take stock and a code under the redemption's id, then give the product or the price back. A caller
 * who repeats the order continues an interrupted chain, and so does the sweep.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Logger } from "../../http/mod.ts";
import { decide, type RecordCache, type Store, storageLimits } from "../../storage/mod.ts";
import type { CommandDecision } from "../commands/command.ts";
import type { CommandRunner } from "../commands/command_runner.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import type { CodePools, PoolAddress } from "../coupons/mod.ts";
import { parseEntry } from "../user/read_history.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import type { Redemption } from "../user/state.ts";
import { emptyState, type UserState } from "../user/state.ts";
import { type RedemptionOrder, redemptionError, stockTotal } from "./orders.ts";
import {
  beginCommand,
  completeCommand,
  openRedemption,
  parseRedemption,
  type ReservationResult,
  readRedemption,
  refundCommand,
  settleRedemptionCommand,
} from "./steps.ts";
import type { Stocks } from "./stock.ts";

/** A redemption with the user's state after it. */
export interface RedemptionResult {
  readonly redemption: Redemption;
  readonly state: UserState;
  /** The transaction that took the price; null where the history does not go back that far. */
  readonly transactionId: string | null;
}

/** Carries redemptions out. */
export interface Redemptions {
  /**
   * Buys a product. Repeating an order under the same key returns its outcome, and continues it where it was interrupted.
   *
   * @throws {AppError} `not_found`, `validation_failed`, `insufficient_balance`, `out_of_stock`, `limit_reached`,
   *   `not_available`; `conflict` where the key names a redemption of something else.
   */
  redeem(user: SpaceUser, order: RedemptionOrder): Promise<RedemptionResult>;
  /** Returns a redemption by its id. Throws `not_found`. */
  find(user: SpaceUser, id: string): Promise<RedemptionResult>;
  /** Marks a product as handed over. Throws `not_found` or `conflict`. */
  complete(user: SpaceUser, id: string): Promise<RedemptionResult>;
  /** Gives the price back, and the units to the stock where `restocks` is set. Throws `not_found` or `conflict`. */
  refund(user: SpaceUser, id: string, options: { readonly restocks: boolean }): Promise<RedemptionResult>;
  /** Continues interrupted redemptions and returns how many of them failed. */
  finish(user: SpaceUser, state: UserState): Promise<number>;
}

/** Services that redemptions need. */
export interface RedemptionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configOf: ConfigCache;
  readonly commands: Pick<CommandRunner, "run">;
  readonly states: RecordCache<UserState>;
  readonly stocks: Stocks;
  readonly pools: Pick<CodePools, "claim" | "release">;
}

/** Derives the id of the redemption that a user's key names. */
export function redemptionId({ organisationId, spaceId, userId }: SpaceUser, key: string): string {
  const name = JSON.stringify([organisationId, spaceId, userId, key]);
  return `red_${bytesToHex(sha256(utf8ToBytes(name)).subarray(0, 16))}`;
}

/** Creates the redemptions of all users. */
export function createRedemptions(options: RedemptionsOptions): Redemptions {
  const { commands, logger, stocks } = options;
  return {
    async redeem(user, order) {
      const id = redemptionId(user, order.key);
      const sold = stocks.cachedSold({ ...user, productId: order.productId });
      const decision = await commands.run(user, (config, now) =>
        beginCommand({ id, config, now, sold }, order),
      );
      const begun = await resultOf(options, { user, id, decision });
      requireSameOrder(begun.redemption, order);
      const isOpen = begun.redemption.status === "reserved";
      const { redemption, state } = isOpen ? await settle(options, user, begun.redemption) : begun;
      if (redemption.fault !== undefined) throw redemptionError(redemption.fault);
      const transactionId = begun.transactionId ?? (await findPayment(options, user, redemption));
      return { redemption, state, transactionId };
    },
    async find(user, id) {
      return await withPayment(options, user, await findRedemption(options, user, id));
    },
    async complete(user, id) {
      await findRedemption(options, user, id);
      const decision = await commands.run(user, (config, now) => completeCommand({ id, config, now }));
      return await afterOperator(options, { user, id, decision });
    },
    async refund(user, id, { restocks }) {
      await findRedemption(options, user, id);
      const decision = await commands.run(user, (config, now) =>
        refundCommand({ id, config, now }, restocks),
      );
      return await afterOperator(options, { user, id, decision });
    },
    async finish(user, { redemptions }) {
      let failed = 0;
      for (const redemption of redemptions) {
        try {
          if (redemption.status === "reserved") await settle(options, user, redemption);
          else await restock(options, user, redemption);
        } catch (error) {
          failed += 1;
          logger.log("warn", "redemption_deferred", { redemptionId: redemption.id, error: String(error) });
        }
      }
      return failed;
    },
  };
}

/** Takes what a reserved redemption needs, then gives the product or the price back. */
async function settle(
  options: RedemptionsOptions,
  user: SpaceUser,
  redemption: Redemption,
): Promise<RedemptionResult> {
  const { id } = redemption;
  const reservation = await reserve(options, user, redemption);
  const decision = await options.commands.run(user, (config, now) =>
    settleRedemptionCommand({ id, config, now }, reservation),
  );
  const result = await resultOf(options, { user, id, decision });
  if (openRedemption(decision.state, id) !== null) await restock(options, user, result.redemption);
  return result;
}

/** Takes stock and a code, as far as a redemption needs them. Repeating it has the same outcome. */
async function reserve(
  { configOf, stocks, pools }: RedemptionsOptions,
  user: SpaceUser,
  { id, productId, quantity, takesStock, poolId }: Redemption,
): Promise<ReservationResult> {
  const soldOut = { fault: "out_of_stock", isTaken: false, code: null } as const;
  if (takesStock) {
    const config = await configOf(user.spaceId);
    const total = stockTotal(config.products.get(productId)?.product) ?? Number.MAX_SAFE_INTEGER;
    const isTaken = await stocks.take({ ...user, productId }, { redemptionId: id, quantity, total });
    if (!isTaken) return soldOut;
  }
  if (poolId === undefined) return { fault: null, isTaken: takesStock, code: null };
  const code = await pools.claim(poolAddress(user, poolId), id);
  return code === null ? { ...soldOut, isTaken: takesStock } : { fault: null, isTaken: takesStock, code };
}

/** Returns stock and an onceMark code of a redemption that failed, then removes the redemption from those to continue. */
async function restock(
  { store, states, stocks, pools }: RedemptionsOptions,
  user: SpaceUser,
  { id, productId, status, poolId }: Redemption,
): Promise<void> {
  await stocks.giveBack({ ...user, productId }, id);
  if (status === "rejected" && poolId !== undefined) await pools.release(poolAddress(user, poolId), id);
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

interface DecidedRedemption {
  readonly user: SpaceUser;
  readonly id: string;
  readonly decision: CommandDecision;
}

async function afterOperator(
  options: RedemptionsOptions,
  decided: DecidedRedemption,
): Promise<RedemptionResult> {
  const { user, id, decision } = decided;
  const open = openRedemption(decision.state, id);
  if (open !== null) await restock(options, user, open);
  return await withPayment(options, user, await resultOf(options, decided));
}

/** Returns the redemption after a decision; looks it up where the decision had no effect. */
async function resultOf(
  options: RedemptionsOptions,
  { user, id, decision: { result, state, recordId } }: DecidedRedemption,
): Promise<RedemptionResult> {
  const redemption = result?.redemption ?? openRedemption(state, id);
  if (redemption === null) return await findRedemption(options, user, id);
  return { redemption, state, transactionId: recordId };
}

async function findRedemption(
  { store, states }: RedemptionsOptions,
  user: SpaceUser,
  id: string,
): Promise<RedemptionResult> {
  const partition = spaceUserPartition(user);
  const [stored, closed] = await store.read(partition, [states.query, readRedemption(id)]);
  const state = stored === null ? emptyState(user.projectId) : states.valueOf(partition, stored);
  const redemption = openRedemption(state, id) ?? (closed === null ? null : parseRedemption(closed));
  if (redemption === null) {
    throw new AppError("not_found", "Cannot find the redemption as the user has none of this id");
  }
  return { redemption, state, transactionId: null };
}

async function withPayment(
  options: RedemptionsOptions,
  user: SpaceUser,
  { redemption, state }: RedemptionResult,
): Promise<RedemptionResult> {
  return { redemption, state, transactionId: await findPayment(options, user, redemption) };
}

/** Returns the id of the transaction that took the price; null where the history does not go back that far. */
async function findPayment(
  { store }: RedemptionsOptions,
  user: SpaceUser,
  { id, boughtAt }: Redemption,
): Promise<string | null> {
  const [entries] = await store.read(spaceUserPartition(user), [
    { type: "log", key: "history", from: boughtAt, to: boughtAt, limit: storageLimits.rangeLimitMax },
  ]);
  return entries.map(parseEntry).find(({ redemption }) => redemption?.id === id)?.id ?? null;
}

function requireSameOrder({ productId, quantity }: Redemption, order: RedemptionOrder): void {
  if (productId === order.productId && quantity === order.quantity) return;
  throw new AppError("conflict", "Cannot redeem the product as the key names another redemption");
}

function poolAddress({ organisationId, spaceId }: SpaceUser, poolId: string): PoolAddress {
  return { organisationId, spaceId, poolId };
}
