/**
 * Runs commands: load the configuration, make the command, commit it, deliver what follows from it.
 *
 * @module
 */

import { decide } from "../../storage/mod.ts";
import type { ScoreTarget, TargetQuery } from "../leaderboards/scores/score_delivery.ts";
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
} from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import {
  type DeliveredTo,
  type DeliveryServices,
  deliver,
  deliverState,
  logDiagnostics,
  sendGifts,
} from "./deliver.ts";
import { type DueUserQueue, registrationMs } from "./due_users.ts";
import { settledInstantsMax } from "./engine/advance_time.ts";
import { type Claimant, type GlobalLimits, withinLimits } from "./limits.ts";
import type { LoyaltyServices } from "./services.ts";
import type { CachedUser, SpaceUser, UserState } from "./user/state.ts";

/** Services that commands need. */
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
    await sendUserGifts(services, user, committed.state);
  }
  return committed;
}

/** Commits a command, again and again where something outside the user's partition must happen first. */
async function commitCommand(services: CommandServices, run: Run, uses: LimitUses): Promise<Committed> {
  const { store, boards, states, profiles, webhooks } = services;
  const { config, user, cachedUser, now, command } = run;
  const { progress } = webhooks;
  const query = targetQuery(run);
  let ready = registerDue(services, run);
  let projectId = user.projectId ?? cachedUser.projectId;
  let foundProject: string | null = null;
  for (let instants = 0; ; ) {
    const loading = boards.targets(projectId, query);
    const targets: readonly ScoreTarget[] = loading instanceof Promise ? await loading : loading;
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
  logDiagnostics(services, run, committed);
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

/** Sends what the user's actions give to other users; returns how many gifts are left because of failures. */
export function sendUserGifts(services: CommandServices, user: SpaceUser, state: UserState): Promise<number> {
  return sendGifts(services, (of, makeCommand) => runCommand(services, of, makeCommand), user, state);
}

/** Outcome of several commands of a user. */
export interface RunAllOutcome {
  /** Number of commands that took effect, repeated ones included, before the first that failed. */
  readonly applied: number;
  /** The error of that one; undefined where all took effect. */
  readonly error?: unknown;
}

/** Most commands that one commit carries. */
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
      // The next one needs what a batch has not: time to pass, uses of limits, or to learn the user's project.
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

/** Commits the first commands of a batch with one read and one commit. */
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
    const targets = await boards.targets(projectId, targetQuery({ now, command }));
    made.push({ command, targets });
  }
  const [first] = made;
  if (first === undefined) return { done: [], ...refusal };
  const ready = registerDue(services, { cachedUser, command: first.command });
  const { progress } = webhooks;
  const context = {
    ...{ config, user, cachedUser, now, states, progress, profiles, projectId },
    readsAccount: false,
    foundProject: null,
    uses: noLimits,
  };
  const outcome = await decide(store, cachedUser.partition, batchRule(context, made, ready));
  const last = outcome.done.at(-1);
  if (last !== undefined) noteCommitted(cachedUser, projectId, last);
  await deliver(services, { config, user, cachedUser }, outcome.done);
  if (last !== undefined && last.state.gifts.length > 0) await sendUserGifts(services, user, last.state);
  return outcome.done.length === made.length ? { ...outcome, ...refusal } : outcome;
}

/**
 * Registers the user with the sweep, which finishes what this process does not get to; undefined where that was done lately. The
 * sweep itself must not: it would look at each user once an hour for ever.
 */
function registerDue(
  { dueUsers }: CommandServices,
  { cachedUser, command }: Pick<Run, "cachedUser" | "command">,
): Promise<void> | undefined {
  if (command.isFromSweep === true) return undefined;
  const ready = dueUsers.register(cachedUser, { isActivity: command.apply !== undefined });
  // The commit awaits it; until then a failure must not count as unhandled.
  ready?.catch(() => {});
  return ready;
}

function targetQuery({ command, now }: Pick<Run, "command" | "now">): TargetQuery {
  const scoring = command.scoring ?? { action: "", data: {} };
  return targetQueryOf(scoring, command.at ?? now);
}

/** Returns whom uses of limited rules are counted for; a repeated command finds the claim of its id. */
function claimantOf({ user, config, now, command: { once, at = now } }: Run): Claimant {
  const { organisationId, spaceId, userId } = user;
  const { timeZone, weekStartsOn } = config.config;
  const actionId = once === undefined ? {} : { actionId: `${once.of}:${once.id}` };
  return { organisationId, spaceId, userId, at, timeZone, weekStartsOn, ...actionId };
}
