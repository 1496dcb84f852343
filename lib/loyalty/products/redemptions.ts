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
import { type Member, memberPartition } from "../user/member.ts";
import { parseEntry } from "../user/read_history.ts";
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
  redeem(member: Member, order: RedemptionOrder): Promise<RedemptionResult>;
  /** Returns a redemption by its id. Throws `not_found`. */
  find(member: Member, id: string): Promise<RedemptionResult>;
  /** Marks a product as handed over. Throws `not_found` or `conflict`. */
  complete(member: Member, id: string): Promise<RedemptionResult>;
  /** Gives the price back, and the units to the stock where `restocks` is set. Throws `not_found` or `conflict`. */
  refund(member: Member, id: string, options: { readonly restocks: boolean }): Promise<RedemptionResult>;
  /** Continues interrupted redemptions and returns how many of them failed. */
  finish(member: Member, state: UserState): Promise<number>;
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
export function redemptionId({ organisationId, spaceId, userId }: Member, key: string): string {
  const name = JSON.stringify([organisationId, spaceId, userId, key]);
  return `red_${bytesToHex(sha256(utf8ToBytes(name)).subarray(0, 16))}`;
}

/** Creates the redemptions of all users. */
export function createRedemptions(options: RedemptionsOptions): Redemptions {
  const { commands, logger, stocks } = options;
  return {
    async redeem(member, order) {
      const id = redemptionId(member, order.key);
      const sold = stocks.cachedSold({ ...member, productId: order.productId });
      const decision = await commands.run(member, (config, now) =>
        beginCommand({ id, config, now, sold }, order),
      );
      const begun = await resultOf(options, { member, id, decision });
      requireSameOrder(begun.redemption, order);
      const isOpen = begun.redemption.status === "reserved";
      const { redemption, state } = isOpen ? await settle(options, member, begun.redemption) : begun;
      if (redemption.fault !== undefined) throw redemptionError(redemption.fault);
      const transactionId = begun.transactionId ?? (await findPayment(options, member, redemption));
      return { redemption, state, transactionId };
    },
    async find(member, id) {
      return await withPayment(options, member, await findRedemption(options, member, id));
    },
    async complete(member, id) {
      await findRedemption(options, member, id);
      const decision = await commands.run(member, (config, now) => completeCommand({ id, config, now }));
      return await afterOperator(options, { member, id, decision });
    },
    async refund(member, id, { restocks }) {
      await findRedemption(options, member, id);
      const decision = await commands.run(member, (config, now) =>
        refundCommand({ id, config, now }, restocks),
      );
      return await afterOperator(options, { member, id, decision });
    },
    async finish(member, { redemptions }) {
      let failed = 0;
      for (const redemption of redemptions) {
        try {
          if (redemption.status === "reserved") await settle(options, member, redemption);
          else await restock(options, member, redemption);
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
  member: Member,
  redemption: Redemption,
): Promise<RedemptionResult> {
  const { id } = redemption;
  const reservation = await reserve(options, member, redemption);
  const decision = await options.commands.run(member, (config, now) =>
    settleRedemptionCommand({ id, config, now }, reservation),
  );
  const result = await resultOf(options, { member, id, decision });
  if (openRedemption(decision.state, id) !== null) await restock(options, member, result.redemption);
  return result;
}

/** Takes stock and a code, as far as a redemption needs them. Repeating it has the same outcome. */
async function reserve(
  { configOf, stocks, pools }: RedemptionsOptions,
  member: Member,
  { id, productId, quantity, takesStock, poolId }: Redemption,
): Promise<ReservationResult> {
  const soldOut = { fault: "out_of_stock", isTaken: false, code: null } as const;
  if (takesStock) {
    const config = await configOf(member.spaceId);
    const total = stockTotal(config.products.get(productId)?.product) ?? Number.MAX_SAFE_INTEGER;
    const isTaken = await stocks.take({ ...member, productId }, { redemptionId: id, quantity, total });
    if (!isTaken) return soldOut;
  }
  if (poolId === undefined) return { fault: null, isTaken: takesStock, code: null };
  const code = await pools.claim(poolAddress(member, poolId), id);
  return code === null ? { ...soldOut, isTaken: takesStock } : { fault: null, isTaken: takesStock, code };
}

/** Returns stock and an onceMark code of a redemption that failed, then removes the redemption from those to continue. */
async function restock(
  { store, states, stocks, pools }: RedemptionsOptions,
  member: Member,
  { id, productId, status, poolId }: Redemption,
): Promise<void> {
  await stocks.giveBack({ ...member, productId }, id);
  if (status === "rejected" && poolId !== undefined) await pools.release(poolAddress(member, poolId), id);
  const partition = memberPartition(member);
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
  readonly member: Member;
  readonly id: string;
  readonly decision: CommandDecision;
}

async function afterOperator(
  options: RedemptionsOptions,
  decided: DecidedRedemption,
): Promise<RedemptionResult> {
  const { member, id, decision } = decided;
  const open = openRedemption(decision.state, id);
  if (open !== null) await restock(options, member, open);
  return await withPayment(options, member, await resultOf(options, decided));
}

/** Returns the redemption after a decision; looks it up where the decision had no effect. */
async function resultOf(
  options: RedemptionsOptions,
  { member, id, decision: { result, state, recordId } }: DecidedRedemption,
): Promise<RedemptionResult> {
  const redemption = result?.redemption ?? openRedemption(state, id);
  if (redemption === null) return await findRedemption(options, member, id);
  return { redemption, state, transactionId: recordId };
}

async function findRedemption(
  { store, states }: RedemptionsOptions,
  member: Member,
  id: string,
): Promise<RedemptionResult> {
  const partition = memberPartition(member);
  const [stored, kept] = await store.read(partition, [states.query, readRedemption(id)]);
  const state = stored === null ? emptyState(member.projectId) : states.valueOf(partition, stored);
  const redemption = openRedemption(state, id) ?? (kept === null ? null : parseRedemption(kept));
  if (redemption === null) {
    throw new AppError("not_found", "Cannot find the redemption as the user has none of this id");
  }
  return { redemption, state, transactionId: null };
}

async function withPayment(
  options: RedemptionsOptions,
  member: Member,
  { redemption, state }: RedemptionResult,
): Promise<RedemptionResult> {
  return { redemption, state, transactionId: await findPayment(options, member, redemption) };
}

/** Returns the id of the transaction that took the price; null where the history does not go back that far. */
async function findPayment(
  { store }: RedemptionsOptions,
  member: Member,
  { id, boughtAt }: Redemption,
): Promise<string | null> {
  const [entries] = await store.read(memberPartition(member), [
    { type: "log", key: "history", from: boughtAt, to: boughtAt, limit: storageLimits.rangeLimitMax },
  ]);
  return entries.map(parseEntry).find(({ redemption }) => redemption?.id === id)?.id ?? null;
}

function requireSameOrder({ productId, quantity }: Redemption, order: RedemptionOrder): void {
  if (productId === order.productId && quantity === order.quantity) return;
  throw new AppError("conflict", "Cannot redeem the product as the key names another redemption");
}

function poolAddress({ organisationId, spaceId }: Member, poolId: string): PoolAddress {
  return { organisationId, spaceId, poolId };
}
