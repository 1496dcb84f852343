/** Runs commands: load the configuration, make the command, commit it, deliver what follows from it. */

import { AppError } from "../../base/errors/mod.ts";
import { decide, type Store } from "../../storage/mod.ts";
import { readAccountNote, signUpProjectOf } from "../users/mod.ts";
import { joinProject, targetQueryOf } from "./board_sums.ts";
import {
  type BatchedCommand,
  type BatchOutcome,
  batchRule,
  type Command,
  type CommandContext,
  type Committed,
  commandRule,
  type LimitUses,
  type MakeCommand,
  noLimits,
  noScoring,
} from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import { type DeliveredTo, type DeliveryServices, deliver, deliverState, logDiagnostics } from "./deliver.ts";
import { type DueUserQueue, registrationMs } from "./due_users.ts";
import { settledInstantsMax } from "./engine/advance_time.ts";
import { applyRefusals, type Refusal } from "./engine/apply_change.ts";
import { grantCommand } from "./grants.ts";
import { type Claimant, type GlobalLimits, withinLimits } from "./limits.ts";
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

export interface CommandServices extends LoyaltyServices, DeliveryServices {
  readonly limits: GlobalLimits;
  readonly dueUsers: DueUserQueue;
}

interface Run extends DeliveredTo {
  /** Unix ms. */
  readonly now: number;
  readonly command: Command;
}

/** Runs a command: load the configuration, make the command, commit it, deliver. It has taken effect when the promise resolves. */
export async function runCommand(
  services: CommandServices,
  user: SpaceUser,
  makeCommand: MakeCommand,
): Promise<Committed> {
  // A fresh configuration comes without a promise: waiting for one would cost more than the look-up.
  const loading = services.configOf(user.spaceId);
  const config = loading instanceof Promise ? await loading : loading;

  const now = services.clock();
  const command = makeCommand(config, now);

  const run = { config, user, cachedUser: services.users.get(user), now, command };
  const committed =
    config.limitedRules.size === 0
      ? await commitCommand(services, run, noLimits)
      : await commitWithinLimits(services, run);

  // Boards and webhooks follow in the background; codes of coupons and gifts precede the answer.
  await deliver(services, run, [committed]);
  if (committed.state.gifts.length > 0 && command.isFromSweep !== true) {
    await sendGifts(services, user, committed.state);
  }
  return committed;
}

/** Commits a command, again and again where something outside the user's partition must happen first. */
async function commitCommand(services: CommandServices, run: Run, uses: LimitUses): Promise<Committed> {
  const { store, boards, states, profiles, webhooks } = services;
  const { config, user, cachedUser, now, command } = run;
  const { progress } = webhooks;
  const query = targetQueryOf(command.scoring ?? noScoring, command.at ?? now);
  let ready = registerDue(services, run);
  let projectId = user.projectId ?? cachedUser.projectId;
  let foundProject: string | null = null;
  for (let instants = 0; ; ) {
    const targets = await boards.targets(projectId, query);
    const readsAccount = needsProject(user, cachedUser, now);
    const context: CommandContext = {
      config,
      user,
      cachedUser,
      now,
      states,
      progress,
      profiles,
      projectId,
      targets,
      readsAccount,
      foundProject,
      uses,
    };
    const outcome = await decide(store, cachedUser.partition, commandRule(context, command, ready));
    if ("done" in outcome) {
      noteCommitted(cachedUser, projectId, outcome.done);
      if (readsAccount && projectId === null) cachedUser.hasNoProjectUntil = now + registrationMs;
      return outcome.done;
    }
    switch (outcome.retry) {
      case "user gone":
        cachedUser.forget();
        ready = registerDue(services, run);
        break;
      case "project unknown":
      case "project to join":
        projectId = outcome.projectId;
        cachedUser.projectId = projectId;
        if (readsAccount) foundProject = projectId;
        if (outcome.retry === "project unknown") break;
        await ready;
        deliverState(services, cachedUser, await joinProject(services, cachedUser, projectId));
        break;
      case "time must pass":
        // After many instants, all that is left until now happens at once.
        instants += 1;
        await advanceUserTime(services, run, instants <= settledInstantsMax ? outcome.until : null);
        break;
      case "limit to claim":
        await uses.claim(outcome.ruleIds);
    }
  }
}

function noteCommitted(cachedUser: CachedUser, projectId: string | null, { state }: Committed): void {
  cachedUser.projectId = projectId;
  if (state.revision > 0) cachedUser.hasRecord = true;
}

/** Returns true where it is unknown in which project the user signed up. User ids are made at sign-up, so it hardly changes. */
function needsProject(user: SpaceUser, cachedUser: CachedUser, now: number): boolean {
  if (user.projectId !== null) return false;
  // The account of a user without a record may be one that was removed.
  return !cachedUser.hasRecord || (cachedUser.projectId === null && cachedUser.hasNoProjectUntil <= now);
}

/** Commits what time alone does at an instant, or all that it does until now where none is given. */
async function advanceUserTime(services: CommandServices, run: Run, instant: number | null): Promise<void> {
  const { isFromSweep = false } = run.command;
  const advanceTime = instant === null ? "toNow" : "nextInstant";
  const command: Command = { kind: "time", advanceTime, isFromSweep };
  const committed = await commitCommand(services, { ...run, command, now: instant ?? run.now }, noLimits);
  logDiagnostics(services, run, committed.diagnostics);
  deliverState(services, run.cachedUser, committed);
}

/** Commits a command whose rules have limits that all users share. */
function commitWithinLimits(services: CommandServices, run: Run): Promise<Committed> {
  const { limits, logger } = services;
  const options = {
    limits,
    claimant: claimantOf(run),
    rules: run.config.limitedRules,
    onLost: (error: unknown) => logger.log("warn", "rule_use_lost", { error: String(error) }),
  };
  return withinLimits(options, uses => commitCommand(services, run, uses));
}

/** Outcome of several commands of a user. */
export interface RunAllOutcome {
  /** Number of commands that took effect, repeated ones included, before the first that failed. */
  readonly applied: number;
  /** The error of that one; undefined where all took effect. */
  readonly error?: unknown;
}

const batchMax = 32;

/** Runs commands of one user in their order, as many as possible with one read and one commit. */
export async function runCommands(
  services: CommandServices,
  user: SpaceUser,
  commands: readonly MakeCommand[],
): Promise<RunAllOutcome> {
  for (let applied = 0; applied < commands.length; ) {
    try {
      const config = await services.configOf(user.spaceId);
      const batch = commands.slice(applied, applied + batchMax);
      const isAlone =
        batch.length === 1 ||
        config.limitedRules.size > 0 ||
        needsProject(user, services.users.get(user), services.clock());
      const { done, error } = isAlone ? nothingDone : await commitBatch(services, { config, user, batch });
      applied += done.length;
      if (error !== undefined) return { applied, error };
      // The next one needs what a batch has not: time to pass, uses of limits, a bound of votes, or to learn the user's project.
      if (done.length === 0) {
        await runCommand(services, user, commands[applied] as MakeCommand);
        applied += 1;
      }
    } catch (error) {
      return { applied, error };
    }
  }
  return { applied: commands.length };
}

interface Batch {
  readonly config: CompiledConfig;
  readonly user: SpaceUser;
  readonly batch: readonly MakeCommand[];
}

const nothingDone: BatchOutcome = { done: [] };

async function commitBatch(services: CommandServices, { config, user, batch }: Batch): Promise<BatchOutcome> {
  const { store, boards, users, states, profiles, webhooks } = services;
  const now = services.clock();
  const cachedUser = users.get(user);
  const projectId = user.projectId ?? cachedUser.projectId;
  const made: BatchedCommand[] = [];
  let refusal: Pick<BatchOutcome, "error"> = {};
  for (const makeCommand of batch) {
    let command: Command;
    try {
      command = makeCommand(config, now);
    } catch (error) {
      refusal = { error };
      break;
    }
    // The refusal of one by a bound would undo all of them.
    if (command.refused !== undefined) break;
    const { scoring = noScoring, at = now } = command;
    const targets = await boards.targets(projectId, targetQueryOf(scoring, at));
    made.push({ command, targets });
  }
  const [first] = made;
  if (first === undefined) return { done: [], ...refusal };
  const ready = registerDue(services, { cachedUser, command: first.command });
  const { progress } = webhooks;
  const context = {
    config,
    user,
    cachedUser,
    now,
    states,
    progress,
    profiles,
    projectId,
    readsAccount: false,
    foundProject: null,
    uses: noLimits,
  };
  const outcome = await decide(store, cachedUser.partition, batchRule(context, made, ready));
  const last = outcome.done.at(-1);
  if (last !== undefined) noteCommitted(cachedUser, projectId, last);
  await deliver(services, { config, user, cachedUser }, outcome.done);
  if (last !== undefined && last.state.gifts.length > 0) await sendGifts(services, user, last.state);
  return outcome.done.length === made.length ? { ...outcome, ...refusal } : outcome;
}

/**
 * Registers the user with the sweep, which finishes what this process does not get to; undefined where that was done lately. The
 * sweep itself must not: it would look at each user once an hour for ever.
 */
function registerDue(
  { dueUsers, clock }: CommandServices,
  { cachedUser, command }: Pick<Run, "cachedUser" | "command">,
): Promise<void> | undefined {
  const isActivity = command.apply !== undefined;
  if (command.isFromSweep === true || cachedUser.isRegistered(clock(), isActivity)) return undefined;
  const ready = dueUsers.register(cachedUser, { isActivity });
  // The commit awaits it; until then a failure must not count as unhandled.
  ready.catch(() => {});
  return ready;
}

/** Returns whom uses of limited rules are counted for; a repeated command finds the claim of its id. */
function claimantOf({ user, config, now, command: { once, at = now } }: Run): Claimant {
  const { organisationId, spaceId, userId } = user;
  const { timeZone, weekStartsOn } = config.config;
  const actionId = once === undefined ? undefined : `${once.of}:${once.id}`;
  return { organisationId, spaceId, userId, actionId, at, timeZone, weekStartsOn };
}

const userIdMax = 128;

const reasons = {
  self: "Cannot give the reward as the action names its own user",
  unknown: "Cannot give the reward as the action names nobody who is known",
} as const;

/**
 * Sends what the user's actions give to other users; returns how many gifts are left because of failures. It may be repeated.
 */
export async function sendGifts(
  services: CommandServices,
  user: SpaceUser,
  { gifts }: Pick<UserState, "gifts">,
): Promise<number> {
  const settled = new Set<string>();
  const refusals: Refusal[] = [];
  const onFailed = (error: unknown): void =>
    services.logger.log("warn", "gift_deferred", { error: String(error) });
  for (const gift of gifts) {
    try {
      const reason = await sendGift(services, user, gift);
      settled.add(gift.id);
      if (reason !== null) refusals.push({ gift, reason: reasons[reason] });
    } catch (error) {
      onFailed(error);
    }
  }
  if (settled.size === 0) return gifts.length;
  try {
    await runCommand(services, user, (config, now) => settleCommand(config, { settled, refusals }, now));
    return gifts.length - settled.size;
  } catch (error) {
    onFailed(error);
    return gifts.length;
  }
}

/** Gives a gift to its user, once. Returns why the user cannot get it; null where the user has it. */
async function sendGift(
  services: CommandServices,
  from: SpaceUser,
  { id, userId, ruleId, rewards }: Gift,
): Promise<keyof typeof reasons | null> {
  const to: SpaceUser = { ...from, userId, projectId: null };
  if (!(await isKnown(services.store, to))) return "unknown";
  const order = {
    rewards,
    reason: `Rule ${ruleId}`,
    metadata: { ruleId, fromUserId: from.userId },
    id: `referral:${from.userId}:${id}`,
  };
  try {
    return await onAccount(to, async of => {
      if (of.userId === from.userId) return "self";
      await runCommand(services, of, (config, now) => grantCommand(config, order, now));
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
