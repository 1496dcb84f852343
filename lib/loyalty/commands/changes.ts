/**
 * Changes of users: deciding what happens to one, within what all users may have together, and what follows from it outside
 * the user's partition.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { ScoreFeed, ScoreUpdate } from "../../leaderboards/scores/score_feed.ts";
import { decide, type Remembered, type Store } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import type { Coupons } from "../coupons/mod.ts";
import type { Agenda } from "../due_users/mod.ts";
import { settledInstantsMax } from "../engine/mod.ts";
import type { Claimant, GlobalLimits } from "../limits/global_limits.ts";
import type { UserCache } from "../user/known_users.ts";
import type { Member } from "../user/member.ts";
import type { UserState } from "../user/state.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { type Decided, type Happening, happeningRule } from "./command.ts";
import { type Attempt, decideWithin, type Uses, unlimited } from "./limit_uses.ts";

/** What changes need. */
export interface ChangesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly feed: ScoreFeed;
  readonly logger: Logger;
  readonly configOf: ConfigCache;
  readonly states: Remembered<UserState>;
  readonly users: UserCache;
  readonly limits: GlobalLimits;
  readonly coupons: Pick<Coupons, "fill">;
  readonly agenda: Agenda;
  readonly webhooks: Pick<Webhooks, "enqueue" | "progress">;
}

/** Changes users. */
export interface Changes {
  /** Decides about a user, once its boards, its limits and its coupons are seen to. */
  change(member: Member, make: (config: CompiledConfig, now: number) => Happening): Promise<Decided>;
  /** Hands board scores over for delivery in the background. */
  deliver(member: Member, updates: readonly ScoreUpdate[]): void;
  /** Delivers board scores, and says whether all of them have arrived. */
  deliverNow(member: Member, updates: readonly ScoreUpdate[]): Promise<boolean>;
}

/** Creates the changes of all users. */
export function createChanges(options: ChangesOptions): Changes {
  const { clock, feed, logger, configOf, users, limits, coupons, webhooks } = options;

  function deliver(member: Member, updates: readonly ScoreUpdate[]): void {
    if (updates.length === 0) return;
    const user = users.get(member);
    feed.deliver(user.userId, updates, () => user.markDelivered(updates));
  }

  /** Codes that cannot be had now are given when the coupon is looked at: what was decided stands. */
  async function giveCodes(member: Member, { state }: Decided): Promise<void> {
    try {
      await coupons.fill(member, state);
    } catch (error) {
      logger.log("warn", "coupon_code_deferred", { error: String(error) });
    }
  }

  /** Whoever wrote the configuration did not mean that: effects were left out. */
  function tellStopped({ spaceId }: Member, { version }: CompiledConfig, { diagnostics }: Decided): void {
    for (const { type } of diagnostics) {
      logger.log("warn", "loyalty_stopped", { spaceId, version, because: type });
    }
  }

  function onPassed({ member, config }: AttemptOptions, decided: Decided): void {
    tellStopped(member, config, decided);
    deliver(member, decided.updates);
  }

  function decideLimited(attempt: AttemptOptions): Promise<Decided> {
    const { config, member, now, happening } = attempt;
    const claimant = claimantOf(member, { at: now, config, once: happening.once });
    const onLost = (error: unknown): void => logger.log("warn", "rule_use_lost", { error: String(error) });
    return decideWithin({ limits, claimant, rules: config.limitedRules, onLost }, uses =>
      attemptOnce(options, { ...attempt, uses }),
    );
  }

  return {
    deliver,
    async deliverNow(member, updates) {
      if (updates.length === 0) return true;
      return await new Promise(resolve => {
        const arrived = (): void => {
          users.get(member).markDelivered(updates);
          resolve(true);
        };
        feed.deliver(member.userId, updates, arrived, () => resolve(false));
      });
    },
    async change(member, make) {
      const known = configOf(member.spaceId);
      const config = known instanceof Promise ? await known : known;
      const now = clock();
      const happening = make(config, now);
      const attempt = { config, member, now, happening, uses: unlimited, onPassed };
      const decided =
        config.limitedRules.size === 0
          ? decidedOf(await attemptOnce(options, attempt))
          : await decideLimited(attempt);
      tellStopped(member, config, decided);
      deliver(member, decided.updates);
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
  readonly happening: Happening;
  readonly uses: Uses;
  /** Told of each decision in which nothing but time passed. */
  readonly onPassed: (attempt: AttemptOptions, decided: Decided) => void;
}

const nobodysGain: Happening["gain"] = { action: "", data: {} };

/**
 * Decides once, after a decision for each instant at which time alone has changed something. The boards depend on the user's
 * project, and which one that is only the user's record knows for certain.
 */
async function attemptOnce(options: ChangesOptions, attempt: AttemptOptions): Promise<Attempt<Decided>> {
  const { store, feed, states, users, agenda } = options;
  const { progress } = options.webhooks;
  const { happening, member, config, now, uses } = attempt;
  const user = users.get(member);
  const { partition } = user;
  const query = targetQuery(member, happening, happening.at ?? now);
  // Whatever is decided, a sweep will see to what this process does not get to. The sweep itself must not register whom it
  // looks at: it would look at everybody once an hour for good.
  const ready = happening.isAttended
    ? undefined
    : agenda.register(user, { isActivity: happening.decide !== undefined });
  ready?.catch(() => {});
  let instants = 0;
  for (let projectId = member.projectId ?? user.projectId; ; ) {
    const found = feed.targets(projectId, query);
    const targets = found instanceof Promise ? await found : found;
    const context = { config, member, partition, states, progress, projectId, targets, now, user, uses };
    const rule = happeningRule(context, happening);
    const decided = await decide(store, partition, ready === undefined ? rule : { ...rule, ready });
    user.projectId = decided.projectId;
    if (decided.needs.length > 0) return { needs: decided.needs };
    if (decided.projectId !== projectId) {
      projectId = decided.projectId;
    } else if (decided.passes === null) {
      return { answer: decided, fired: decided.outcome?.fired ?? null };
    } else {
      instants += 1;
      await passTime(options, attempt, instants <= settledInstantsMax ? decided.passes : null);
    }
  }
}

/** Decides what time alone does at its next instant, or at all until now where none is given. */
async function passTime(
  options: ChangesOptions,
  attempt: AttemptOptions,
  instant: number | null,
): Promise<void> {
  const { isAttended = false } = attempt.happening;
  const happening: Happening = {
    gain: nobodysGain,
    passes: instant === null ? "all" : "instant",
    isAttended,
  };
  const now = instant ?? attempt.now;
  const passed = await attemptOnce(options, { ...attempt, happening, now, uses: unlimited });
  if ("answer" in passed) attempt.onPassed(attempt, passed.answer);
}

function hasCoupon({ outcome }: Decided): boolean {
  return outcome?.record.transactions.some(({ type }) => type === "couponReceived") ?? false;
}

function decidedOf(attempt: Attempt<Decided>): Decided {
  if ("answer" in attempt) return attempt.answer;
  throw new TypeError("Expected a decision without limits to need nothing");
}

/** What a claim depends on besides the user. */
export interface ClaimantOptions {
  readonly at: number;
  readonly config: CompiledConfig;
  readonly once?: Happening["once"] | undefined;
}

/** Who claims uses of limited rules for what happens to a user. */
export function claimantOf(
  { organisationId, spaceId, userId }: Member,
  { at, config, once }: ClaimantOptions,
): Claimant {
  const { timeZone } = config.config;
  const actionId = once === undefined ? {} : { actionId: `${once.of}:${once.id}` };
  return { organisationId, spaceId, userId, at, timeZone, ...actionId };
}

function targetQuery(
  { organisationId }: Member,
  { gain }: Happening,
  at: number,
): Parameters<ScoreFeed["targets"]>[1] {
  const eventId = Object.hasOwn(gain.data, "eventId") ? gain.data.eventId : undefined;
  const named = typeof eventId === "string" ? eventId : null;
  return { organisationId, action: gain.action, eventId: named, at };
}
