/**
 * What follows from decisions outside the user's partition: board scores, webhooks, codes of coupons, and log entries.
 *
 * @module
 */

import type { Logger } from "../../../http/mod.ts";
import type { FedBoards } from "../../leaderboards/mod.ts";
import type { MetricIndexing } from "../../users/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData } from "../config/document.ts";
import type { Coupons } from "../coupons/mod.ts";
import type { CachedUser, SpaceUser } from "../user/space_user.ts";
import type { Voters } from "../votes/voters.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { CommandDecision } from "./command.ts";
import type { LateScores } from "./late_scores.ts";

/** Services that decisions are followed up with. */
export interface FollowUpServices {
  readonly boards: FedBoards;
  readonly userIndex: Pick<MetricIndexing, "deliver">;
  readonly lateScores: LateScores;
  readonly logger: Logger;
  readonly coupons: Pick<Coupons, "assignCodes">;
  readonly webhooks: Pick<Webhooks, "enqueue" | "progress">;
  readonly voters: Pick<Voters, "list">;
  /** Counts an action that names an element or event and took effect for the first time. @default nothing */
  readonly countAction?: ((spaceId: string, data: ActionData) => void) | undefined;
}

/** The user of decisions, and the configuration that decided. */
export interface DecidedFor {
  readonly config: CompiledConfig;
  readonly user: SpaceUser;
  readonly cachedUser: CachedUser;
}

/** Starts what follows from decisions in their order. Resolves when new coupons have their codes. */
export async function followUp(
  services: FollowUpServices,
  of: DecidedFor,
  decisions: readonly CommandDecision[],
): Promise<void> {
  const last = decisions.at(-1);
  if (last === undefined) return;
  for (const decision of decisions) {
    logDiagnostics(services, of, decision);
    const { data, isReveal } = decision.result?.record.action ?? {};
    if (isReveal === true) continue;
    if (data?.elementId !== undefined || data?.eventId !== undefined)
      services.countAction?.(of.user.spaceId, data);
  }
  deliver(services, of.cachedUser, last);
  if (last.state.voterOf.length > 0) services.voters.list(of.cachedUser, last.state.voterOf);
  if (of.config.config.webhooks.length > 0) services.webhooks.enqueue(of.user);
  if (decisions.some(hasNewCoupon)) await assignCodes(services, of.user, last);
}

/** Delivers board scores, and the metrics of the index of users, in the background; those that cannot be delivered now are late. */
export function deliver(
  services: Pick<FollowUpServices, "boards" | "userIndex" | "lateScores">,
  cachedUser: CachedUser,
  decision: Pick<CommandDecision, "state" | "updates">,
): void {
  const lateUnless = (isDelivered: boolean): void => {
    if (!isDelivered) services.lateScores.add(cachedUser);
  };
  deliverScores(services, cachedUser, decision, lateUnless);
  deliverMetrics(services, cachedUser, decision, lateUnless);
}

/** Delivers board scores; calls `done` when they have arrived, or failed to. */
export function deliverScores(
  { boards }: Pick<FollowUpServices, "boards">,
  cachedUser: CachedUser,
  { updates }: Pick<CommandDecision, "updates">,
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
export function deliverMetrics(
  { userIndex }: Pick<FollowUpServices, "userIndex">,
  cachedUser: CachedUser,
  { state }: Pick<CommandDecision, "state">,
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
  { logger }: Pick<FollowUpServices, "logger">,
  { user, config }: Pick<DecidedFor, "user" | "config">,
  { diagnostics }: CommandDecision,
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
  { coupons, logger }: FollowUpServices,
  user: SpaceUser,
  { state }: CommandDecision,
): Promise<void> {
  try {
    await coupons.assignCodes(user, state);
  } catch (error) {
    logger.log("warn", "coupon_code_deferred", { error: String(error) });
  }
}

function hasNewCoupon({ result }: CommandDecision): boolean {
  return result?.record.transactions.some(({ type }) => type === "couponReceived") ?? false;
}
