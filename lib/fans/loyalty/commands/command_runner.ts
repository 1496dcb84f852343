/**
 * Runs commands: load what the decision depends on, decide and commit it, deliver what follows from it.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { decide, type RecordCache, type Store } from "../../../storage/mod.ts";
import type { ScoreTarget, TargetQuery } from "../../leaderboards/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import { type DueUserQueue, registrationMs } from "../due_users/mod.ts";
import { settledInstantsMax } from "../engine/mod.ts";
import type { Claimant, GlobalLimits } from "../limits/global_limits.ts";
import type { ProfileFieldsCache } from "../user/profile_fields.ts";
import type { CachedUser, SpaceUser, UserCache } from "../user/space_user.ts";
import type { UserState } from "../user/state.ts";
import type { Command, CommandContext, CommandDecision } from "./command.ts";
import {
  type BatchDecision,
  type BatchedCommand,
  batchRule,
  commandRule,
  isDecided,
  noLimits,
} from "./command_rules.ts";
import {
  type DecidedFor,
  deliver,
  deliverMetrics,
  deliverScores,
  type FollowUpServices,
  followUp,
  logDiagnostics,
} from "./follow_up.ts";
import { sendGifts } from "./gifts.ts";
import { joinProject } from "./join_project.ts";
import { decideWithinLimits, type LimitUses } from "./limit_uses.ts";
import { targetQueryOf } from "./scores.ts";

/** Services that commands need. */
export interface CommandServices extends FollowUpServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly configOf: ConfigCache;
  readonly states: RecordCache<UserState>;
  readonly profiles: ProfileFieldsCache;
  readonly users: UserCache;
  readonly limits: GlobalLimits;
  readonly dueUsers: DueUserQueue;
}

/** Makes a command from the configuration of the user's space, at a time in Unix ms. Throws to refuse the command. */
export type MakeCommand = (config: CompiledConfig, now: number) => Command;

/** Outcome of several commands of a user. */
export interface BatchOutcome {
  /** Number of commands that took effect, repeated ones included, before the first that failed. */
  readonly applied: number;
  /** The error of that one; undefined where all took effect. */
  readonly error?: unknown;
}

export interface CommandRunner {
  /** Runs a command; it has taken effect when the promise resolves. Boards, webhooks and codes of coupons follow. */
  run(user: SpaceUser, makeCommand: MakeCommand): Promise<CommandDecision>;
  /** Runs commands of one user in their order, as many as possible with one read and one commit. */
  runAll(user: SpaceUser, commands: readonly MakeCommand[]): Promise<BatchOutcome>;
  /** Delivers board scores, and metrics to the index of users, in the background. */
  deliver(user: SpaceUser, decision: Pick<CommandDecision, "state" | "updates">): void;
  /** Delivers them; false where some of them could not be delivered now. */
  deliverNow(user: SpaceUser, decision: Pick<CommandDecision, "state" | "updates">): Promise<boolean>;
  /** Delivers in the background what could not be delivered before. */
  deliverLateScores(): Promise<void>;
  /** Sends what the user's actions give to other users; returns how many gifts are left because of failures. */
  sendGifts(user: SpaceUser, state: UserState): Promise<number>;
}

/** Most commands that one commit carries. */
const batchMax = 32;

interface Run extends DecidedFor {
  /** Unix ms. */
  readonly now: number;
  readonly command: Command;
}

/** Creates the runner of a process. */
export function createCommandRunner(services: CommandServices): CommandRunner {
  return {
    run: (user, makeCommand) => runCommand(services, user, makeCommand),
    runAll: (user, commands) => runBatches(services, user, commands),
    deliver: (user, decision) => deliver(services, services.users.get(user), decision),
    async deliverNow(user, decision) {
      const cachedUser = services.users.get(user);
      const results = await Promise.all(
        [deliverScores, deliverMetrics].map(
          start => new Promise<boolean>(done => start(services, cachedUser, decision, done)),
        ),
      );
      return results.every(isDelivered => isDelivered);
    },
    deliverLateScores: () => services.lateScores.deliver(user => deliverStored(services, user)),
    sendGifts: (user, state) => sendUserGifts(services, user, state),
  };
}

/** Delivers what a user's record has in the background. */
async function deliverStored(services: CommandServices, user: CachedUser): Promise<void> {
  const { store, states } = services;
  const [stored] = await store.read(user.partition, [states.query]);
  if (stored === null) return;
  const state = states.valueOf(user.partition, stored);
  deliver(services, user, { state, updates: user.undelivered(state.undelivered) });
}

/** Runs a command: load, make, decide and commit, deliver. */
async function runCommand(
  services: CommandServices,
  user: SpaceUser,
  makeCommand: MakeCommand,
): Promise<CommandDecision> {
  const loading = services.configOf(user.spaceId);
  const config = loading instanceof Promise ? await loading : loading;
  const now = services.clock();
  const command = makeCommand(config, now);
  const run = { config, user, cachedUser: services.users.get(user), now, command };
  const decision =
    config.limitedRules.size === 0
      ? await decideCommand(services, run, noLimits)
      : await decideLimited(services, run);
  await followUp(services, run, [decision]);
  if (decision.state.gifts.length > 0 && command.isFromSweep !== true) {
    await sendUserGifts(services, user, decision.state);
  }
  return decision;
}

function sendUserGifts(services: CommandServices, user: SpaceUser, state: UserState): Promise<number> {
  const { store, logger } = services;
  const run = (of: SpaceUser, makeCommand: MakeCommand) => runCommand(services, of, makeCommand);
  return sendGifts({ store, logger, run }, user, state);
}

/**
 * Decides a command, after a decision for each instant at which time alone has changed something. Boards depend on the user's
 * project, which only the user's records name for certain: where the guess was wrong, it decides again.
 */
async function decideCommand(services: CommandServices, run: Run, uses: LimitUses): Promise<CommandDecision> {
  const { store, boards } = services;
  const { config, user, cachedUser, now, command } = run;
  const { partition } = cachedUser;
  const query = targetQuery(run);
  let ready = registerDue(services, run);
  let foundProject: string | null = null;
  for (let instants = 0, projectId = user.projectId ?? cachedUser.projectId; ; ) {
    const loading = boards.targets(projectId, query);
    const targets: readonly ScoreTarget[] = loading instanceof Promise ? await loading : loading;
    const { states, profiles } = services;
    const readsAccount = needsProject(user, cachedUser, now);
    const { progress } = services.webhooks;
    const context: CommandContext = {
      config,
      user,
      partition,
      states,
      progress,
      profiles,
      projectId,
      targets,
      now,
      cachedUser,
      readsAccount,
      foundProject,
      uses,
    };
    const rule = commandRule(context, command);
    const decision = await decide(store, partition, ready === undefined ? rule : { ...rule, ready });
    if (decision.mustRegister) {
      cachedUser.forget();
      ready = registerDue(services, run);
      continue;
    }
    noteDecision(cachedUser, decision);
    if (readsAccount) foundProject = decision.projectId;
    if (readsAccount && decision.projectId === null) cachedUser.hasNoProjectUntil = now + registrationMs;
    if (isDecided(decision, context) || decision.missingUses.length > 0) return decision;
    if (decision.mustJoin) {
      projectId = decision.projectId;
      await ready;
      deliver(services, cachedUser, await joinProject(services, cachedUser, projectId));
    } else if (decision.projectId !== projectId) {
      projectId = decision.projectId;
    } else {
      instants += 1;
      await advanceUserTime(services, run, instants <= settledInstantsMax ? decision.advanceTo : null);
    }
  }
}

function noteDecision(cachedUser: CachedUser, { projectId, state }: CommandDecision): void {
  cachedUser.projectId = projectId;
  if (state.revision > 0) cachedUser.hasRecord = true;
}

/** Tells whether it is unknown in which project the user signed up. User ids are made at sign-up, so it hardly changes. */
function needsProject(user: SpaceUser, cachedUser: CachedUser, now: number): boolean {
  if (user.projectId !== null) return false;
  // The account of a user without a record may be one that was removed.
  return !cachedUser.hasRecord || (cachedUser.projectId === null && cachedUser.hasNoProjectUntil <= now);
}

/** Decides what time alone does at an instant, or all that it does until now where none is given. */
async function advanceUserTime(services: CommandServices, run: Run, instant: number | null): Promise<void> {
  const { isFromSweep = false } = run.command;
  const command: Command = { advanceTime: instant === null ? "toNow" : "nextInstant", isFromSweep };
  const step = { ...run, command, now: instant ?? run.now };
  const decision = await decideCommand(services, step, noLimits);
  logDiagnostics(services, run, decision);
  deliver(services, run.cachedUser, decision);
}

/** Decides a command whose rules have limits that all users share. */
async function decideLimited(services: CommandServices, run: Run): Promise<CommandDecision> {
  const { limits, logger } = services;
  return await decideWithinLimits(
    {
      limits,
      claimant: claimantOf(run),
      rules: run.config.limitedRules,
      onLost: error => logger.log("warn", "rule_use_lost", { error: String(error) }),
    },
    uses => decideCommand(services, run, uses),
  );
}

async function runBatches(
  services: CommandServices,
  user: SpaceUser,
  commands: readonly MakeCommand[],
): Promise<BatchOutcome> {
  for (let applied = 0; applied < commands.length; ) {
    try {
      const config = await services.configOf(user.spaceId);
      const batch = commands.slice(applied, applied + batchMax);
      const isAlone =
        batch.length === 1 ||
        config.limitedRules.size > 0 ||
        needsProject(user, services.users.get(user), services.clock());
      const { decisions, error } = isAlone
        ? nothingDecided
        : await decideBatch(services, { config, user, batch });
      applied += decisions.length;
      if (error !== undefined) return { applied, error };
      // The next one needs what a batch has not: time to pass, uses of limits, or to learn the user's project.
      if (decisions.length === 0) {
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

const nothingDecided: BatchDecision = { decisions: [] };

/** Decides the first commands of a batch with one read and one commit. */
async function decideBatch(
  services: CommandServices,
  { config, user, batch }: Batch,
): Promise<BatchDecision> {
  const { store, boards, users, states, profiles } = services;
  const now = services.clock();
  const cachedUser = users.get(user);
  const projectId = user.projectId ?? cachedUser.projectId;
  const made: BatchedCommand[] = [];
  let refusal: Pick<BatchDecision, "error"> = {};
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
  if (first === undefined) return { decisions: [], ...refusal };
  const ready = registerDue(services, { cachedUser, command: first.command });
  const { partition } = cachedUser;
  const { progress } = services.webhooks;
  const context = {
    ...{ config, user, partition, states, progress, profiles, projectId, now, cachedUser },
    readsAccount: false,
    foundProject: null,
    uses: noLimits,
  };
  const rule = batchRule(context, made);
  const decided = await decide(store, partition, ready === undefined ? rule : { ...rule, ready });
  const last = decided.decisions.at(-1);
  if (last !== undefined) noteDecision(cachedUser, last);
  await followUp(services, { config, user, cachedUser }, decided.decisions);
  if (last !== undefined && last.state.gifts.length > 0) await sendUserGifts(services, user, last.state);
  return decided.decisions.length === made.length ? { ...decided, ...refusal } : decided;
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
  const ready = dueUsers.register(cachedUser, { isActivity: command.decide !== undefined });
  // The decision awaits it; until then a failure must not count as unhandled.
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
