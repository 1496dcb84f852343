/**
 * Redemptions: products for what users have earned.
 *
 * Balance and stock are in different partitions, and nothing commits to both. So a redemption is a chain of decisions that each take
 * effect once: take the price, take stock and a code under the redemption's id, then give the product or the price back. A caller
 * who repeats the order or looks at the redemption continues an interrupted chain, and so does the sweep.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { AppError } from "../../../base/errors/mod.ts";
import { decide, onceMark, type ReadRecord, type Stored, type Write } from "../../../storage/mod.ts";
import { keyName } from "../../../storage/names.ts";
import type { Command, CommandResult, Committed } from "../commit.ts";
import type { Reward } from "../config/document.ts";
import { adjustmentCommand } from "../corrections.ts";
import type { CodePools, PoolAddress, PoolCode } from "../coupons/code_pools.ts";
import { applyRedemption, type ChangeOptions, type RedemptionInput } from "../engine/apply_change.ts";
import { couponExpiry, isCouponValid } from "../engine/rewards.ts";
import { type CommandServices, runCommand } from "../run.ts";
import type { RedemptionFact, RedemptionStep } from "../user/history.ts";
import { findRecord } from "../user/read_history.ts";
import {
  emptyState,
  MergedUserError,
  onAccount,
  type Redemption,
  type RedemptionFault,
  type RedemptionStatus,
  requireUnmerged,
  type SpaceUser,
  spaceUserPartition,
  type UserState,
} from "../user/state.ts";
import {
  acceptOrder,
  codePoolOf,
  isOwned,
  type OrderContext,
  type RedemptionOrder,
  redemptionError,
  stockTotal,
} from "./orders.ts";
import type { ProductAddress, Stocks } from "./stock.ts";

export interface RedemptionResult {
  readonly redemption: Redemption;
  readonly state: UserState;
  /** The transaction that took the price; null where the history does not go back that far. */
  readonly transactionId: string | null;
}

export interface RedemptionServices extends CommandServices {
  readonly stocks: Stocks;
  readonly pools: CodePools;
}

/** Derives the id of the redemption that a user's key names. */
export function redemptionId({ organisationId, spaceId, userId }: SpaceUser, key: string): string {
  const name = JSON.stringify([organisationId, spaceId, userId, key]);
  return `red_${bytesToHex(sha256(utf8ToBytes(name)).subarray(0, 16))}`;
}

/**
 * Buys a product. Repeating an order under the same key returns its outcome, and continues it where it was interrupted.
 *
 * @throws {AppError} `not_found`, `validation_failed`, `insufficient_balance`, `out_of_stock`, `limit_reached`,
 *   `not_available`; `conflict` where the key names a redemption of something else.
 */
export function redeem(
  services: RedemptionServices,
  of: SpaceUser,
  order: RedemptionOrder,
): Promise<RedemptionResult> {
  return onAccount(of, async user => {
    const facts = await factsOf(services, user, order);

    // Takes the price. A product that needs neither stock nor code is given in the same commit.
    const paid = await runCommand(services, user, (config, now) =>
      beginCommand({ ...facts, config, now }, order),
    );
    const begun = await resultOf(services, user, facts.id, paid);
    requireSameOrder(begun.redemption, order);

    // Takes stock and code, then gives the product or the price back.
    const isOpen = begun.redemption.status === "reserved";
    const { redemption, state } = isOpen ? await settle(services, user, begun.redemption) : begun;

    if (redemption.fault !== undefined) throw redemptionError(redemption.fault);
    const transactionId = begun.transactionId ?? (await findPayment(services, user, redemption));
    return { redemption, state, transactionId };
  });
}

/** Returns a redemption by its id, after finishing it where it was interrupted. Throws `not_found`. */
export async function findWithPayment(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
): Promise<RedemptionResult> {
  return await withPayment(services, user, await findDecided(services, user, id));
}

/** Marks a product as handed over. Throws `not_found` or `conflict`. */
export async function complete(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
): Promise<RedemptionResult> {
  await findDecided(services, user, id);
  const committed = await runCommand(services, user, (config, now) => completeCommand({ id, config, now }));
  return await afterOperator(services, user, id, committed);
}

/** Gives the price back, and the units to the stock where `restocks` is set. Throws `not_found` or `conflict`. */
export async function refund(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
  { restocks }: { readonly restocks: boolean },
): Promise<RedemptionResult> {
  const { redemption } = await findDecided(services, user, id);
  try {
    const committed = await runCommand(services, user, (config, now) =>
      refundCommand({ id, config, now }, restocks),
    );
    return await afterOperator(services, user, id, committed);
  } catch (error) {
    if (!(error instanceof MergedUserError)) throw error;
    const account = { ...user, userId: error.account };
    await onAccount(
      account,
      one => runCommand(services, one, (config, now) => mergedRefundCommand({ id, config, now }, redemption)),
      { isBackEnd: true },
    );
    await undo(services, user, { ...redemption, status: "refunded", takesStock: restocks });
    return await withPayment(services, user, await findRedemption(services, user, id));
  }
}

/** Continues interrupted redemptions and returns how many of them failed. */
export async function finishRedemptions(
  services: RedemptionServices,
  user: SpaceUser,
  { redemptions }: UserState,
): Promise<number> {
  let failed = 0;
  for (const redemption of redemptions) {
    try {
      if (redemption.status === "reserved") await settle(services, user, redemption);
      else await restock(services, user, redemption);
    } catch (error) {
      failed += 1;
      const failure = { redemptionId: redemption.id, error: String(error) };
      services.logger.log("warn", "redemption_deferred", failure);
    }
  }
  return failed;
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
  const decision = await runCommand(services, user, (config, now) =>
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
  decision: Committed,
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
  { result, state, recordId }: Committed,
): Promise<RedemptionResult> {
  const redemption = result?.redemption ?? openRedemption(state, id);
  if (redemption === null) return await findRedemption(services, user, id);
  return { redemption, state, transactionId: recordId };
}

/** Finds a redemption. That of a merged user is the account's record of it, where it was refunded there, with the account's state. */
async function findRedemption(
  services: RedemptionServices,
  user: SpaceUser,
  id: string,
): Promise<RedemptionResult> {
  const { state, redemption } = await readUserRedemption(services, user, id);
  if (redemption === null) {
    throw new AppError("not_found", "Cannot find the redemption as the user has none of this id");
  }
  if (state.mergedInto === null) return { redemption, state, transactionId: null };
  const account = await readUserRedemption(services, { ...user, userId: state.mergedInto }, id);
  return { redemption: account.redemption ?? redemption, state: account.state, transactionId: null };
}

async function readUserRedemption(
  { store, states }: RedemptionServices,
  user: SpaceUser,
  id: string,
): Promise<{ readonly state: UserState; readonly redemption: Redemption | null }> {
  const partition = spaceUserPartition(user);
  const [stored, closed] = await store.read(partition, [states.query, readRedemption(id)]);
  const state = stored === null ? emptyState(user.projectId) : states.valueOf(partition, stored);
  const redemption = openRedemption(state, id) ?? (closed === null ? null : parseRedemption(closed));
  return { state, redemption };
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

/** Time for which a redemption stays on record after its last step, in ms: 366 days. */
const keptMs = 366 * 24 * 60 * 60 * 1_000;

export type StepContext = Omit<OrderContext, "soldIn" | "hasCode">;

/** Stock and code that were taken for a redemption, outside its user's partition. */
export interface Reservation {
  /** The reason for which there is nothing to give; null: there is. */
  readonly fault: RedemptionFault | null;
  /** True where stock was taken. */
  readonly isTaken: boolean;
  readonly code: PoolCode | null;
}

/** Characters of the id that select the tally of the mark: 256 tallies, because each has a bound. */
const markCharacters = 2;

function readRedemption(id: string): ReadRecord {
  return { type: "record", key: keyName("redemption", id) };
}

function parseRedemption(stored: Stored): Redemption {
  return JSON.parse(stored.value) as Redemption;
}

export function openRedemption({ redemptions }: UserState, id: string): Redemption | null {
  return redemptions.find(redemption => redemption.id === id) ?? null;
}

/**
 * Makes the command that takes the price. A product without stock and code is given at once. The command has no effect where the
 * redemption was begun before; its decision throws as `acceptOrder` does.
 */
export function beginCommand(context: OrderContext, order: RedemptionOrder): Command {
  const { id } = context;
  const mark = { key: keyName("redeemed", id.slice(-markCharacters)), field: id };
  return {
    kind: "redemption",
    isIdempotent: true,
    reads: [onceMark(mark.key, mark.field)],
    apply: (settled, [marks], options) => {
      if ((marks as ReadonlyMap<string, number>).size > 0) return null;
      requireUnmerged(settled);
      const redemption = acceptOrder(context, settled, order, options.profile);
      const needsReservation = redemption.takesStock || redemption.poolId !== undefined;
      const step = needsReservation ? "reserved" : "sold";
      const outcome = takeStep(context, settled, { redemption, step, options });
      return { ...outcome, writes: [{ type: "add", ...mark, by: 1 }, ...outcome.writes] };
    },
  };
}

/**
 * Makes the command that gives the product of a paid redemption, or the price back. It rejects the redemption too where the user
 * already owns the product by then.
 */
export function settleRedemptionCommand(context: StepContext, reservation: Reservation): Command {
  const { id, config, now } = context;
  return {
    kind: "redemption",
    isIdempotent: true,
    apply: (settled, _, options) => {
      const redemption = openRedemption(settled, id);
      if (redemption?.status !== "reserved") return null;
      const { fulfilment } = redemption;
      const isGone = fulfilment.type === "coupon" && !config.coupons.has(fulfilment.couponId);
      // The process that took the code was interrupted for longer than the coupon lasts.
      const isExpired = !isCouponValid(reservation.code ?? { expiresAt: null }, now);
      const limit = isOwned(config, settled, { fulfilment, now }) ? "limit_reached" : null;
      const fault = reservation.fault ?? (isGone || isExpired ? "not_available" : limit);
      if (fault === null) {
        return takeStep(context, settled, { redemption, step: "confirmed", options, code: reservation.code });
      }
      const rejected = { ...redemption, fault };
      return takeStep(context, settled, {
        redemption: rejected,
        step: "rejected",
        options,
        mustReturn: reservation.isTaken || reservation.code !== null,
      });
    },
  };
}

/**
 * Makes the command that marks a product as handed over. Its decision throws `not_found`, and `conflict` where there is nothing to
 * hand over.
 */
function completeCommand(context: StepContext): Command {
  return {
    kind: "redemption",
    isIdempotent: true,
    reads: [readRedemption(context.id)],
    apply: (settled, [stored], options) => {
      const redemption = decidedRedemption(context, settled, stored as Stored | null);
      if (redemption.status === "completed") return null;
      if (redemption.status !== "pending") {
        throw new AppError("conflict", `Cannot complete the redemption as it is ${redemption.status}`);
      }
      return takeStep(context, settled, { redemption, step: "completed", options });
    },
  };
}

/**
 * Makes the command that gives the price of a redemption back and takes back what it gave. The redemption stays open while its code
 * is to be revoked, or stock to be given back. Its decision throws `not_found`, and `conflict` where the price was given back already,
 * or nothing is decided yet.
 *
 * @param restocks Returns the units to the stock.
 */
export function refundCommand(context: StepContext, restocks: boolean): Command {
  return {
    kind: "redemption",
    isIdempotent: true,
    reads: [readRedemption(context.id)],
    apply: (settled, [stored], options) => {
      const redemption = decidedRedemption(context, settled, stored as Stored | null);
      if (redemption.status === "refunded") return null;
      if (redemption.status === "rejected") {
        throw new AppError(
          "conflict",
          "Cannot refund the redemption as it was rejected, and the price given back",
        );
      }
      requireUnmerged(settled);
      const takesStock = restocks && redemption.takesStock;
      const mustReturn = takesStock || redemption.poolId !== undefined;
      return takeStep(context, settled, {
        redemption: { ...redemption, takesStock },
        step: "refunded",
        options,
        mustReturn,
      });
    },
  };
}

/** Makes the command that gives the price of a merged user's redemption to the account, once. */
function mergedRefundCommand({ id, config, now }: StepContext, redemption: Redemption): Command {
  const { currency, amount } = redemption.cost;
  const refunded = { ...redemption, status: "refunded", changedAt: now } as const;
  return adjustmentCommand(
    config,
    {
      changes: [{ metricId: currency, op: "incr", value: amount }],
      reason: `Refund of the redemption ${id} of a merged user`,
      extra: {
        reads: [readRedemption(id)],
        wasApplied: ([stored]) => stored !== null,
        writes: () => [recordOf(refunded, now)],
      },
    },
    now,
  );
}

function decidedRedemption({ id }: StepContext, state: UserState, stored: Stored | null): Redemption {
  if (openRedemption(state, id)?.status === "reserved") {
    throw new AppError("conflict", "Cannot change the redemption before it is decided", {
      retryAfterMs: 1_000,
    });
  }
  if (stored === null)
    throw new AppError("not_found", "Cannot find the redemption as the user has none of this id");
  return parseRedemption(stored);
}

interface Step {
  readonly redemption: Redemption;
  readonly step: RedemptionStep;
  readonly options: ChangeOptions;
  readonly code?: PoolCode | null;
  /** True where stock or a code that it took must be given back. @default false */
  readonly mustReturn?: boolean;
}

/** Applies a step. The redemption is in the user's state while it is not finished, else in a record of its own. */
function takeStep(
  { config, now }: StepContext,
  state: UserState,
  { redemption: before, step, options, code = null, mustReturn = false }: Step,
): CommandResult & { readonly writes: readonly Write[] } {
  const { metadata, fault: reason } = before;
  const input: RedemptionInput = {
    fact: { ...factOf(before, step), ...(code === null ? {} : { couponExpiresAt: code.expiresAt }) },
    at: now,
    paid: before.paid,
    received: before.received,
    code: code?.code ?? null,
    metadata,
    reason,
  };
  const applied = applyRedemption(config, state, input, options);
  const { paid, received, ...outcome } = applied;
  const redemption: Redemption = {
    ...before,
    paid,
    received,
    status: statusAfter(before, step),
    boughtAt: outcome.record.redemption?.boughtAt ?? before.boughtAt,
    changedAt: outcome.record.at,
  };
  const isOpen = step === "reserved" || mustReturn;
  const others = outcome.state.redemptions.filter(({ id }) => id !== before.id);
  outcome.state.redemptions = isOpen ? [...others, redemption] : others;
  const writes = step === "reserved" ? [] : [recordOf(redemption, now)];
  return { ...outcome, redemption, writes };
}

function factOf(
  { id, productId, quantity, cost, boughtAt, fulfilment }: Redemption,
  step: RedemptionStep,
): RedemptionFact {
  const fact = { id, step, productId, quantity, cost, boughtAt };
  if (step !== "confirmed" && step !== "sold") return fact;
  const isReward = fulfilment.type === "coupon" || fulfilment.type === "inventory";
  const given: readonly Reward[] = isReward ? [fulfilment] : [];
  return { ...fact, given };
}

function statusAfter({ fulfilment }: Redemption, step: RedemptionStep): RedemptionStatus {
  if (step !== "confirmed" && step !== "sold") return step;
  return fulfilment.type === "manual" || fulfilment.type === "webhook" ? "pending" : "completed";
}

/** Writes the record, without expiry while the product is to be handed over. */
function recordOf(redemption: Redemption, now: number): Write {
  const put = {
    type: "put",
    key: readRedemption(redemption.id).key,
    value: JSON.stringify(redemption),
  } as const;
  return redemption.status === "pending" ? put : { ...put, expireAt: now + keptMs };
}
