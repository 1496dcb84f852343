/** What follows from commands outside the user's partition: board scores, webhooks, codes of coupons, and log entries. */

import { mapConcurrent } from "../../storage/background/mod.ts";
import type { Partition } from "../../storage/mod.ts";
import type { MetricIndexing } from "../users/mod.ts";
import type { Committed } from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import type { ActionData } from "./config/document.ts";
import type { Coupons } from "./coupons/coupons.ts";
import type { Diagnostic } from "./engine/next_state.ts";
import type { LoyaltyServices } from "./services.ts";
import type { CachedUser, SpaceUser } from "./user/state.ts";
import type { Voters } from "./votes/voters.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

export interface DeliveryServices extends Pick<LoyaltyServices, "boards" | "logger"> {
  readonly userIndex: Pick<MetricIndexing, "deliver" | "unlist">;
  readonly lateUsers: LateUsers;
  readonly coupons: Pick<Coupons, "assignCodes">;
  readonly webhooks: Pick<Webhooks, "enqueue" | "progress">;
  readonly voters: Pick<Voters, "list">;
  /** Counts an action that names an element or event and took effect for the first time. @default nothing */
  readonly countAction?: ((action: CountedAction) => void) | undefined;
}

/** An action that took effect, or the payment of a vote (`isReveal`), with what the user gained by metric. */
export interface CountedAction {
  readonly spaceId: string;
  readonly userId: string;
  readonly data: ActionData;
  readonly gained: Readonly<Record<string, number>>;
  readonly isReveal: boolean;
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
  let hasNewCoupon = false;
  for (const { result, diagnostics } of committed) {
    if (diagnostics.length > 0) logDiagnostics(services, of, diagnostics);
    const { action, transactions = [] } = result?.record ?? {};
    hasNewCoupon ||= transactions.some(({ type }) => type === "couponReceived");
    if (result === null || action === undefined) continue;
    const { data, isReveal = false } = action;
    const { spaceId, userId } = of.user;
    if (data.elementId !== undefined || data.eventId !== undefined)
      services.countAction?.({ spaceId, userId, data, gained: result.gained, isReveal });
  }
  deliverState(services, of.cachedUser, last);
  if (last.state.voterOf.length > 0) void services.voters.list(of.cachedUser, last.state.voterOf);
  if (of.config.config.webhooks.length > 0) services.webhooks.enqueue(of.user);
  if (hasNewCoupon) await assignCodes(services, of.user, last);
}

/**
 * Delivers board scores, and the metrics to the index of users, in the background. For each it calls `done`: false where that cannot
 * be delivered now, which is then late by default.
 */
export function deliverState(
  { boards, userIndex, lateUsers }: Pick<DeliveryServices, "boards" | "userIndex" | "lateUsers">,
  cachedUser: CachedUser,
  { state, updates }: Pick<Committed, "state" | "updates">,
  done: (isDelivered: boolean) => void = isDelivered => {
    if (!isDelivered) addLate(lateUsers, cachedUser);
  },
): void {
  if (updates.length === 0) done(true);
  else {
    boards.deliver(cachedUser.userId, updates, isDelivered => {
      if (isDelivered) cachedUser.markDelivered(updates);
      done(isDelivered);
    });
  }
  const { revision, mergedInto } = state;
  // The metrics of a merged user are no longer in the index.
  if (revision === cachedUser.indexedRevision || mergedInto !== null) done(true);
  else {
    userIndex.deliver(cachedUser, state, isDelivered => {
      if (isDelivered) cachedUser.indexedRevision = revision;
      done(isDelivered);
    });
  }
}

/** Delivers scores and metrics; false where some of them could not be delivered now. */
export function deliverStateNow(
  services: Pick<DeliveryServices, "boards" | "userIndex" | "lateUsers">,
  cachedUser: CachedUser,
  committed: Pick<Committed, "state" | "updates">,
): Promise<boolean> {
  const outcomes: boolean[] = [];
  return new Promise(resolve => {
    deliverState(services, cachedUser, committed, isDelivered => {
      if (outcomes.push(isDelivered) === 2) resolve(!outcomes.includes(false));
    });
  });
}

/** The users whose scores are late, by partition. */
type LateUsers = Map<Partition, CachedUser>;

const lateUsersMax = 100_000;
const concurrency = 16;

function addLate(users: LateUsers, user: CachedUser): void {
  if (users.size < lateUsersMax) users.set(user.partition, user);
}

/** Delivers in the background what could not be delivered before. */
export async function deliverLate(
  services: Pick<LoyaltyServices, "store" | "states"> & DeliveryServices,
): Promise<void> {
  const { store, states, lateUsers } = services;
  const users = [...lateUsers.values()];
  lateUsers.clear();
  await mapConcurrent(users, concurrency, async user => {
    try {
      const [stored] = await store.read(user.partition, [states.query]);
      if (stored === null) return;
      const state = states.valueOf(user.partition, stored);
      deliverState(services, user, { state, updates: user.withoutDelivered(state.undelivered) });
    } catch {
      addLate(lateUsers, user);
    }
  });
}

/** Logs effects that were left out: the author of the configuration did not intend that. */
export function logDiagnostics(
  { logger }: Pick<DeliveryServices, "logger">,
  { user: { spaceId }, config: { version } }: Pick<DeliveredTo, "user" | "config">,
  diagnostics: readonly Diagnostic[],
): void {
  for (const { type } of diagnostics) {
    logger.log("warn", "loyalty_stopped", { spaceId, version, because: type });
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
