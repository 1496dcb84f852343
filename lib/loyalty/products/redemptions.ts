/**
 * Redemptions: products for what users have earned.
 *
 * Balance and stock are in different partitions, and nothing commits to both. So a redemption is a chain of decisions that each take
 * effect once: the price is taken and the redemption noted in the user's state; stock is taken under the redemption's id, and
 * a code where there is one to be had; then the user gets the product, or the price back. Whoever finds a redemption that
 * is not at its end goes on with it: the caller who repeats it, or the sweep. What one of them has decided the others find.
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
import { emptyState, type Redemption, type UserState } from "../user/state.ts";
import { type RedemptionOrder, redemptionError } from "./redeemable.ts";
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
import { type Stocks, stockTotal } from "./stock.ts";

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
   * Buys a product. Whoever repeats an order under the same key learns what became of it, and goes on with it where somebody
   * stopped.
   *
   * @throws {AppError} `not_found`, `validation_failed`, `insufficient_balance`, `out_of_stock`, `limit_reached`,
   *   `not_available`; `conflict` where the key names a redemption of something else.
   */
  redeem(member: Member, order: RedemptionOrder): Promise<RedemptionResult>;
  /** A redemption by its id. Throws `not_found`. */
  find(member: Member, id: string): Promise<RedemptionResult>;
  /** Notes that a product was handed over. Throws `not_found` or `conflict`. */
  complete(member: Member, id: string): Promise<RedemptionResult>;
  /** Gives the price back, and what was taken of the stock too where that is wanted. Throws `not_found` or `conflict`. */
  refund(member: Member, id: string, options: { readonly restocks: boolean }): Promise<RedemptionResult>;
  /** Goes on with all that somebody has stopped at, and answers how many redemptions that did not work for. */
  finish(member: Member, state: UserState): Promise<number>;
}

/** What redemptions need. */
export interface RedemptionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configOf: ConfigCache;
  readonly changes: Pick<CommandRunner, "run">;
  readonly states: RecordCache<UserState>;
  readonly stocks: Stocks;
  readonly pools: Pick<CodePools, "claim" | "release">;
}

/** The id of the redemption that a user's key names. */
export function redemptionId({ organisationId, spaceId, userId }: Member, key: string): string {
  const name = JSON.stringify([organisationId, spaceId, userId, key]);
  return `red_${bytesToHex(sha256(utf8ToBytes(name)).subarray(0, 16))}`;
}

/** Creates the redemptions of all users. */
export function createRedemptions(options: RedemptionsOptions): Redemptions {
  const { changes, logger, stocks } = options;

  async function goOn(member: Member, redemption: Redemption): Promise<RedemptionResult> {
    const { id } = redemption;
    const verdict = await askedFor(options, member, redemption);
    const decided = await changes.run(member, (config, now) =>
      settleRedemptionCommand({ id, config, now }, verdict),
    );
    const seen = await seenIn(options, { member, id, decided });
    if (openRedemption(decided.state, id) !== null) await restock(options, member, seen.redemption);
    return seen;
  }

  async function changed(member: Member, id: string, decided: CommandDecision): Promise<RedemptionResult> {
    const open = openRedemption(decided.state, id);
    if (open !== null) await restock(options, member, open);
    const { redemption, state } = await seenIn(options, { member, id, decided });
    return { redemption, state, transactionId: await paymentOf(options, member, redemption) };
  }

  return {
    async redeem(member, order) {
      const id = redemptionId(member, order.key);
      const sold = stocks.cachedSold({ ...member, productId: order.productId });
      const decided = await changes.run(member, (config, now) =>
        beginCommand({ id, config, now, sold }, order),
      );
      const begun = await seenIn(options, { member, id, decided });
      requireSame(begun.redemption, order);
      const isOpen = begun.redemption.status === "reserved";
      const { redemption, state } = isOpen ? await goOn(member, begun.redemption) : begun;
      if (redemption.fault !== undefined) throw redemptionError(redemption.fault);
      const transactionId = begun.transactionId ?? (await paymentOf(options, member, redemption));
      return { redemption, state, transactionId };
    },
    async find(member, id) {
      const { redemption, state } = await findRedemption(options, member, id);
      return { redemption, state, transactionId: await paymentOf(options, member, redemption) };
    },
    async complete(member, id) {
      await findRedemption(options, member, id);
      const decided = await changes.run(member, (config, now) => completeCommand({ id, config, now }));
      return await changed(member, id, decided);
    },
    async refund(member, id, { restocks }) {
      await findRedemption(options, member, id);
      const decided = await changes.run(member, (config, now) =>
        refundCommand({ id, config, now }, restocks),
      );
      return await changed(member, id, decided);
    },
    async finish(member, { redemptions }) {
      let failed = 0;
      for (const redemption of redemptions) {
        try {
          if (redemption.status === "reserved") await goOn(member, redemption);
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

/** Takes stock and a code for a redemption, as far as it needs them. Asked again it comes to the same. */
async function askedFor(
  { configOf, stocks, pools }: RedemptionsOptions,
  member: Member,
  { id, productId, quantity, takesStock, poolId }: Redemption,
): Promise<ReservationResult> {
  const none = { fault: "out_of_stock", isTaken: false, code: null } as const;
  if (takesStock) {
    const config = await configOf(member.spaceId);
    const total = stockTotal(config.products.get(productId)?.product) ?? Number.MAX_SAFE_INTEGER;
    const isTaken = await stocks.take({ ...member, productId }, { redemptionId: id, quantity, total });
    if (!isTaken) return none;
  }
  const code = poolId === undefined ? null : ((await pools.claim(poolAt(member, poolId), id)) ?? undefined);
  return code === undefined ? { ...none, isTaken: takesStock } : { fault: null, isTaken: takesStock, code };
}

function poolAt({ organisationId, spaceId }: Member, poolId: string): PoolAddress {
  return { organisationId, spaceId, poolId };
}

/**
 * Gives back the stock of a redemption that came to nothing, and a code that nobody saw, and then takes it off what is to be
 * gone on with.
 */
async function restock(
  { store, states, stocks, pools }: RedemptionsOptions,
  member: Member,
  { id, productId, status, poolId }: Redemption,
): Promise<void> {
  await stocks.giveBack({ ...member, productId }, id);
  if (status === "rejected" && poolId !== undefined) await pools.release(poolAt(member, poolId), id);
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

interface Looked {
  readonly member: Member;
  readonly id: string;
  readonly decided: CommandDecision;
}

/** The redemption after a decision about it; where that did nothing, it is looked for. */
async function seenIn(
  options: RedemptionsOptions,
  { member, id, decided: { result: outcome, state, recordId } }: Looked,
): Promise<RedemptionResult> {
  const redemption = outcome?.redemption ?? openRedemption(state, id);
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

/** The transaction that took the price; null where the history does not go back that far. */
async function paymentOf(
  { store }: RedemptionsOptions,
  member: Member,
  { id, boughtAt }: Redemption,
): Promise<string | null> {
  const [entries] = await store.read(memberPartition(member), [
    { type: "log", key: "history", from: boughtAt, to: boughtAt, limit: storageLimits.rangeLimitMax },
  ]);
  return entries.map(parseEntry).find(({ redemption }) => redemption?.id === id)?.id ?? null;
}

function requireSame({ productId, quantity }: Redemption, order: RedemptionOrder): void {
  if (productId === order.productId && quantity === order.quantity) return;
  throw new AppError("conflict", "Cannot redeem the product as the key names another redemption");
}
