/**
 * What follows from commands outside the user's partition: board scores, webhooks, codes of coupons, and log entries.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { mapConcurrent } from "../../storage/background/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { type MetricIndexing, readAccountNote, signUpProjectOf } from "../users/mod.ts";
import type { Command, Committed, MakeCommand } from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import type { ActionData } from "./config/document.ts";
import type { Coupons } from "./coupons/coupons.ts";
import { applyRefusals, type Refusal } from "./engine/apply_change.ts";
import { grantCommand } from "./grants.ts";
import type { LoyaltyServices } from "./services.ts";
import {
  type CachedUser,
  type Gift,
  onAccount,
  type SpaceUser,
  spaceUserPartition,
  type UserState,
} from "./user/state.ts";
import { readState } from "./user/stored_state.ts";
import type { Voters } from "./votes/voters.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

export interface DeliveryServices extends Pick<LoyaltyServices, "boards" | "logger"> {
  readonly userIndex: Pick<MetricIndexing, "deliver">;
  readonly lateScores: LateScores;
  readonly coupons: Pick<Coupons, "assignCodes">;
  readonly webhooks: Pick<Webhooks, "enqueue" | "progress">;
  readonly voters: Pick<Voters, "list">;
  /** Counts an action that names an element or event and took effect for the first time. @default nothing */
  readonly countAction?: ((spaceId: string, data: ActionData) => void) | undefined;
}

/** The user of committed commands, and the configuration that applied. */
export interface DeliveredTo {
  readonly config: CompiledConfig;
  readonly user: SpaceUser;
  readonly cachedUser: CachedUser;
}

/** Starts what follows from committed commands in their order. Resolves when new coupons have their codes. */
export async function deliver(
  services: DeliveryServices,
  of: DeliveredTo,
  committed: readonly Committed[],
): Promise<void> {
  const last = committed.at(-1);
  if (last === undefined) return;
  for (const one of committed) {
    logDiagnostics(services, of, one);
    const { data, isReveal } = one.result?.record.action ?? {};
    if (isReveal === true) continue;
    if (data?.elementId !== undefined || data?.eventId !== undefined)
      services.countAction?.(of.user.spaceId, data);
  }
  deliverState(services, of.cachedUser, last);
  if (last.state.voterOf.length > 0) services.voters.list(of.cachedUser, last.state.voterOf);
  if (of.config.config.webhooks.length > 0) services.webhooks.enqueue(of.user);
  if (committed.some(hasNewCoupon)) await assignCodes(services, of.user, last);
}

/** Delivers board scores, and metrics to the index of users, in the background; those that cannot be delivered now are late. */
export function deliverState(
  services: Pick<DeliveryServices, "boards" | "userIndex" | "lateScores">,
  cachedUser: CachedUser,
  committed: Pick<Committed, "state" | "updates">,
): void {
  const lateUnless = (isDelivered: boolean): void => {
    if (!isDelivered) services.lateScores.add(cachedUser);
  };
  deliverScores(services, cachedUser, committed, lateUnless);
  deliverMetrics(services, cachedUser, committed, lateUnless);
}

/** Delivers them; false where some of them could not be delivered now. */
export async function deliverStateNow(
  services: Pick<DeliveryServices, "boards" | "userIndex">,
  cachedUser: CachedUser,
  committed: Pick<Committed, "state" | "updates">,
): Promise<boolean> {
  const results = await Promise.all(
    [deliverScores, deliverMetrics].map(
      start => new Promise<boolean>(done => start(services, cachedUser, committed, done)),
    ),
  );
  return results.every(isDelivered => isDelivered);
}

/** Delivers in the background what could not be delivered before. */
export function deliverLateScores(
  services: Pick<LoyaltyServices, "store" | "states"> & DeliveryServices,
): Promise<void> {
  const { store, states, lateScores } = services;
  return lateScores.deliver(async user => {
    const [stored] = await store.read(user.partition, [states.query]);
    if (stored === null) return;
    const state = states.valueOf(user.partition, stored);
    deliverState(services, user, { state, updates: user.undelivered(state.undelivered) });
  });
}

/** Delivers board scores; calls `done` when they have arrived, or failed to. */
function deliverScores(
  { boards }: Pick<DeliveryServices, "boards">,
  cachedUser: CachedUser,
  { updates }: Pick<Committed, "updates">,
  done: (isDelivered: boolean) => void,
): void {
  if (updates.length === 0) {
    done(true);
    return;
  }
  boards.deliver(cachedUser.userId, updates, isDelivered => {
    if (isDelivered) cachedUser.markDelivered(updates);
    done(isDelivered);
  });
}

/** Delivers the metrics of a state to the index of users; those of a merged user are no longer in it. */
function deliverMetrics(
  { userIndex }: Pick<DeliveryServices, "userIndex">,
  cachedUser: CachedUser,
  { state }: Pick<Committed, "state">,
  done: (isDelivered: boolean) => void,
): void {
  const { revision, mergedInto } = state;
  if (revision === cachedUser.indexedRevision || mergedInto !== null) {
    done(true);
    return;
  }
  userIndex.deliver(cachedUser, state, isDelivered => {
    if (isDelivered) cachedUser.indexedRevision = revision;
    done(isDelivered);
  });
}

/** Logs effects that were left out: the author of the configuration did not intend that. */
export function logDiagnostics(
  { logger }: Pick<DeliveryServices, "logger">,
  { user, config }: Pick<DeliveredTo, "user" | "config">,
  { diagnostics }: Committed,
): void {
  for (const { type } of diagnostics) {
    logger.log("warn", "loyalty_stopped", {
      spaceId: user.spaceId,
      version: config.version,
      because: type,
    });
  }
}

/** Assigns codes to new coupons. A code that cannot be had now is assigned when the coupon is read. */
async function assignCodes(
  { coupons, logger }: DeliveryServices,
  user: SpaceUser,
  { state }: Committed,
): Promise<void> {
  try {
    await coupons.assignCodes(user, state);
  } catch (error) {
    logger.log("warn", "coupon_code_deferred", { error: String(error) });
  }
}

function hasNewCoupon({ result }: Committed): boolean {
  return result?.record.transactions.some(({ type }) => type === "couponReceived") ?? false;
}

/** Most users that are remembered. */
const usersMax = 100_000;
/** Users whose scores are delivered at a time. */
const concurrency = 16;

/** The users whose scores are late. */
export class LateScores {
  #users = new Map<string, CachedUser>();

  add(user: CachedUser): void {
    if (this.#users.size < usersMax) this.#users.set(user.partition, user);
  }

  /** Delivers the scores of all users with a function, and keeps the users for whom it fails. */
  async deliver(deliver: (user: CachedUser) => Promise<void>): Promise<void> {
    const users = [...this.#users.values()];
    this.#users = new Map();
    await mapConcurrent(users, concurrency, user => deliver(user).catch(() => this.add(user)));
  }
}

type RunCommand = (user: SpaceUser, makeCommand: MakeCommand) => Promise<Committed>;

/** Longest id of a user, in characters. */
const userIdMax = 128;

const reasons = {
  self: "Cannot give the reward as the action names its own user",
  unknown: "Cannot give the reward as the action names nobody who is known",
} as const;

/** Sends the gifts of a user and returns how many are left because of failures. It may be repeated. */
export async function sendGifts(
  services: Pick<LoyaltyServices, "store" | "logger">,
  run: RunCommand,
  user: SpaceUser,
  { gifts }: Pick<UserState, "gifts">,
): Promise<number> {
  const { logger } = services;
  const settled = new Set<string>();
  const refusals: Refusal[] = [];
  const onFailed = (error: unknown): void => logger.log("warn", "gift_deferred", { error: String(error) });
  for (const gift of gifts) {
    try {
      const reason = await sendGift(services, run, user, gift);
      settled.add(gift.id);
      if (reason !== null) refusals.push({ gift, reason: reasons[reason] });
    } catch (error) {
      onFailed(error);
    }
  }
  if (settled.size === 0) return gifts.length;
  try {
    await run(user, (config, now) => settleCommand(config, { settled, refusals }, now));
    return gifts.length - settled.size;
  } catch (error) {
    onFailed(error);
    return gifts.length;
  }
}

/** Gives a gift to its user, once. Returns why the user cannot get it; null where the user has it. */
async function sendGift(
  { store }: Pick<LoyaltyServices, "store">,
  run: RunCommand,
  from: SpaceUser,
  { id, userId, ruleId, rewards }: Gift,
): Promise<keyof typeof reasons | null> {
  const to: SpaceUser = { ...from, userId, projectId: null };
  if (!(await isKnown(store, to))) return "unknown";
  const order = {
    rewards,
    reason: `Rule ${ruleId}`,
    metadata: { ruleId, fromUserId: from.userId },
    id: `referral:${from.userId}:${id}`,
  };
  try {
    return await onAccount(to, async of => {
      if (of.userId === from.userId) return "self";
      await run(of, (config, now) => grantCommand(config, order, now));
      return null;
    });
  } catch (error) {
    // The user was removed since.
    if (error instanceof AppError && error.code === "forbidden") return "unknown";
    throw error;
  }
}

/** Tests if a user has signed up, or has been seen otherwise: nothing is written of ids that nobody has. */
async function isKnown(store: Store, user: SpaceUser): Promise<boolean> {
  const { userId } = user;
  if (userId === "" || userId.length > userIdMax || !userId.isWellFormed()) return false;
  const [account, state] = await store.read(spaceUserPartition(user), [readAccountNote, readState]);
  return state !== null || signUpProjectOf(account) !== null;
}

/** Makes the command that removes the notes of gifts from their giver, and records those that were refused. */
function settleCommand(
  config: CompiledConfig,
  { settled, refusals }: { readonly settled: ReadonlySet<string>; readonly refusals: readonly Refusal[] },
  now: number,
): Command {
  return {
    kind: "gifts",
    isIdempotent: true,
    isFromSweep: true,
    settledGifts: settled,
    apply: state => {
      const open = refusals.filter(({ gift }) => state.gifts.some(({ id }) => id === gift.id));
      return open.length === 0 ? null : applyRefusals(config, state, { refusals: open, at: now });
    },
  };
}
