/**
 * Changes of users: deciding what happens to one, within what all users may have together, and what follows from it outside
 * the user's partition.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { ScoreFeed, ScoreUpdate } from "../../leaderboards/mod.ts";
import { decide, type RecordCache, type Store } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import type { Coupons } from "../coupons/mod.ts";
import type { DueUserQueue } from "../due_users/mod.ts";
import { settledInstantsMax } from "../engine/mod.ts";
import type { Claimant, GlobalLimits } from "../limits/global_limits.ts";
import type { Member, UserCache } from "../user/member.ts";
import type { UserState } from "../user/state.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { type Command, type CommandDecision, commandRule } from "./command.ts";
import { decideWithinLimits, type LimitedAttempt, type LimitUses, noLimits } from "./limit_uses.ts";

/** What changes need. */
export interface CommandRunnerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly feed: ScoreFeed;
  readonly logger: Logger;
  readonly configOf: ConfigCache;
  readonly states: RecordCache<UserState>;
  readonly users: UserCache;
  readonly limits: GlobalLimits;
  readonly coupons: Pick<Coupons, "assignCodes">;
  readonly agenda: DueUserQueue;
  readonly webhooks: Pick<Webhooks, "enqueue" | "progress">;
}

/** Changes users. */
export interface CommandRunner {
  /** Decides about a user, once its boards, its limits and its coupons are seen to. */
  run(member: Member, make: (config: CompiledConfig, now: number) => Command): Promise<CommandDecision>;
  /** Hands board scores over for delivery in the background. */
  deliverScores(member: Member, updates: readonly ScoreUpdate[]): void;
  /** Delivers board scores, and says whether all of them have arrived. */
  deliverScoresNow(member: Member, updates: readonly ScoreUpdate[]): Promise<boolean>;
}

/** Creates the changes of all users. */
export function createCommandRunner(options: CommandRunnerOptions): CommandRunner {
  const { clock, feed, logger, configOf, users, limits, coupons, webhooks } = options;

  function deliver(member: Member, updates: readonly ScoreUpdate[]): void {
    if (updates.length === 0) return;
    const user = users.get(member);
    feed.deliver(user.userId, updates, () => user.markDelivered(updates));
  }

  /** Codes that cannot be had now are given when the coupon is looked at: what was decided stands. */
  async function giveCodes(member: Member, { state }: CommandDecision): Promise<void> {
    try {
      await coupons.assignCodes(member, state);
    } catch (error) {
      logger.log("warn", "coupon_code_deferred", { error: String(error) });
    }
  }

  /** Whoever wrote the configuration did not mean that: effects were left out. */
  function logStopped({ member, config }: AttemptOptions, { diagnostics }: CommandDecision): void {
    const { spaceId } = member;
    const { version } = config;
    for (const { type } of diagnostics) {
      logger.log("warn", "loyalty_stopped", { spaceId, version, because: type });
    }
  }

  function onPassed(attempt: AttemptOptions, decided: CommandDecision): void {
    logStopped(attempt, decided);
    deliver(attempt.member, decided.updates);
  }

  function decideLimited(attempt: AttemptOptions): Promise<CommandDecision> {
    const { config, member, now, happening } = attempt;
    const claimant = limitClaimant(member, { at: now, config, once: happening.once });
    const onLost = (error: unknown): void => logger.log("warn", "rule_use_lost", { error: String(error) });
    return decideWithinLimits({ limits, claimant, rules: config.limitedRules, onLost }, uses =>
      attemptOnce(options, { ...attempt, uses }),
    );
  }

  return {
    deliverScores: deliver,
    async deliverScoresNow(member, updates) {
      if (updates.length === 0) return true;
      return await new Promise(resolve => {
        const arrived = (): void => {
          users.get(member).markDelivered(updates);
          resolve(true);
        };
        feed.deliver(member.userId, updates, arrived, () => resolve(false));
      });
    },
    async run(member, make) {
      const known = configOf(member.spaceId);
      const config = known instanceof Promise ? await known : known;
      const now = clock();
      const happening = make(config, now);
      const attempt = { config, member, now, happening, uses: noLimits, onPassed };
      const decided =
        config.limitedRules.size === 0
          ? decidedOf(await attemptOnce(options, attempt))
          : await decideLimited(attempt);
      onPassed(attempt, decided);
      if (config.config.webhooks.length > 0) webhooks.enqueue(member);
      if (hasCoupon(decided)) await giveCodes(member, decided);
      return decided;
    },
  };
}

interface AttemptOptions {
  readonly config: CompiledConfig;
  readonly member: Member;
  readonly now: number;
  readonly happening: Command;
  readonly uses: LimitUses;
  /** Told of each decision in which nothing but time passed. */
  readonly onPassed: (attempt: AttemptOptions, decided: CommandDecision) => void;
}

const nobodysGain: Command["scoring"] = { action: "", data: {} };

/**
 * Decides once, after a decision for each instant at which time alone has changed something. The boards depend on the user's
 * project, and which one that is only the user's record knows for certain.
 */
async function attemptOnce(
  options: CommandRunnerOptions,
  attempt: AttemptOptions,
): Promise<LimitedAttempt<CommandDecision>> {
  const { store, feed, states, users, agenda } = options;
  const { progress } = options.webhooks;
  const { happening, member, config, now, uses } = attempt;
  const user = users.get(member);
  const { partition } = user;
  const query = targetQuery(member, happening, happening.at ?? now);
  // Whatever is decided, a sweep will see to what this process does not get to. The sweep itself must not register whom it
  // looks at: it would look at everybody once an hour for good.
  const ready = happening.isFromSweep
    ? undefined
    : agenda.register(user, { isActivity: happening.decide !== undefined });
  ready?.catch(() => {});
  let instants = 0;
  for (let projectId = member.projectId ?? user.projectId; ; ) {
    const found = feed.targets(projectId, query);
    const targets = found instanceof Promise ? await found : found;
    const context = { config, member, partition, states, progress, projectId, targets, now, user, uses };
    const rule = commandRule(context, happening);
    const decided = await decide(store, partition, ready === undefined ? rule : { ...rule, ready });
    user.projectId = decided.projectId;
    if (decided.missingUses.length > 0) return { needs: decided.missingUses };
    if (decided.projectId !== projectId) {
      projectId = decided.projectId;
    } else if (decided.advanceTo === null) {
      return { answer: decided, fired: decided.result?.fired ?? null };
    } else {
      instants += 1;
      await passTime(options, attempt, instants <= settledInstantsMax ? decided.advanceTo : null);
    }
  }
}

/** Decides what time alone does at its next instant, or at all until now where none is given. */
async function passTime(
  options: CommandRunnerOptions,
  attempt: AttemptOptions,
  instant: number | null,
): Promise<void> {
  const { isFromSweep: isAttended = false } = attempt.happening;
  const happening: Command = {
    scoring: nobodysGain,
    advanceTime: instant === null ? "toNow" : "nextInstant",
    isFromSweep: isAttended,
  };
  const now = instant ?? attempt.now;
  const passed = await attemptOnce(options, { ...attempt, happening, now, uses: noLimits });
  if ("answer" in passed) attempt.onPassed(attempt, passed.answer);
}

function hasCoupon({ result: outcome }: CommandDecision): boolean {
  return outcome?.record.transactions.some(({ type }) => type === "couponReceived") ?? false;
}

function decidedOf(attempt: LimitedAttempt<CommandDecision>): CommandDecision {
  if ("answer" in attempt) return attempt.answer;
  throw new TypeError("Expected a decision without limits to need nothing");
}

/** What a claim depends on besides the user. */
export interface ClaimantOptions {
  readonly at: number;
  readonly config: CompiledConfig;
  readonly once?: Command["once"] | undefined;
}

/** Who claims uses of limited rules for what happens to a user. */
export function limitClaimant(
  { organisationId, spaceId, userId }: Member,
  { at, config, once }: ClaimantOptions,
): Claimant {
  const { timeZone } = config.config;
  const actionId = once === undefined ? {} : { actionId: `${once.of}:${once.id}` };
  return { organisationId, spaceId, userId, at, timeZone, ...actionId };
}

function targetQuery(
  { organisationId }: Member,
  { scoring: gain }: Command,
  at: number,
): Parameters<ScoreFeed["targets"]>[1] {
  const eventId = Object.hasOwn(gain.data, "eventId") ? gain.data.eventId : undefined;
  const named = typeof eventId === "string" ? eventId : null;
  return { organisationId, action: gain.action, eventId: named, at };
}
