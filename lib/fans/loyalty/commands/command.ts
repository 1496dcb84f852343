/**
 * Commands: everything that changes a user's loyalty is one, and takes effect in one commit of the user's partition.
 *
 * @module
 */

import { isUuid } from "../../../auth/crypto/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { Partition, Read, RecordCache, Write } from "../../../storage/mod.ts";
import type { Gain, ScoreTarget, ScoreUpdate } from "../../leaderboards/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { hasEntries } from "../config/scope.ts";
import { advanceTime, type Diagnostic, type Outcome, type TimeOutcome } from "../engine/mod.ts";
import type { HistoryRecord, Notification } from "../user/history.ts";
import { notificationsMax } from "../user/inbox.ts";
import { nextOnceMarks, type OnceId, onceMarkWrites } from "../user/once_marks.ts";
import type { ProfileFields, ProfileFieldsCache } from "../user/profile_fields.ts";
import type { CachedUser, SpaceUser } from "../user/space_user.ts";
import { copyState, type Redemption, type UserState } from "../user/state.ts";
import { appendRecords } from "../user/stored_state.ts";
import type { ProgressCache } from "../webhooks/progress.ts";
import type { LimitUses } from "./limit_uses.ts";
import {
  type ChangedSum,
  changedSums,
  knownTargets,
  scoreUpdates,
  withChangedSums,
  withSumsBefore,
} from "./scores.ts";

/** A change of a user's loyalty, and what it reads and writes beside the user's state. */
export interface Command {
  /** Only advances the user's time: to the next instant at which something is due, or to now in one step. */
  readonly advanceTime?: "nextInstant" | "toNow";
  /** The project that a back end names; a user of another one refuses the command. @default none */
  readonly projectId?: string | undefined;
  /** When it happened, Unix ms: selects the season of each board and the windows of limits. @default now */
  readonly at?: number;
  /** The id under which the command takes effect once. */
  readonly once?: OnceId | undefined;
  /** True where repeating the command after it took effect changes nothing more. @default where it has `once` */
  readonly isIdempotent?: boolean;
  /** The action that boards count it for. @default none */
  readonly scoring?: Omit<Gain, "metrics">;
  /** Sums of boards to add, in place of those that `scoring` adds. @default none */
  readonly addedSums?: readonly ChangedSum[];
  /** Leaves out sums that are no longer in the user's record, as what is taken back was in them. @default false */
  readonly changesKnownSums?: boolean;
  /** Further reads of the user's partition. @default none */
  readonly extraReads?: readonly Read[];
  /** Makes further writes from the results of `extraReads`. @default none */
  readonly extraWrites?: (results: readonly unknown[]) => readonly Write[];
  /** Applies the command to a state that is advanced to now; null where nothing is left to do. Omitted: only time passes. */
  readonly decide?: (
    state: UserState,
    results: readonly unknown[],
    input: DecisionInput,
  ) => CommandResult | null;
  /** Drops delivered board scores, and notes of voters that are listed, even where nothing else changes. @default false */
  readonly dropsDelivered?: boolean;
  /** Ids of gifts whose notes are removed from the state. @default none */
  readonly settledGifts?: ReadonlySet<string>;
  /** True for commands of the sweep, which must not queue the user anew. @default false */
  readonly isFromSweep?: boolean;
  /** Throws the error for a write whose bound refused it. */
  readonly refused?: (key: string) => never;
}

/** What a decision depends on beside the user's state. */
export interface DecisionInput extends LimitUses {
  /** The custom fields of the user's profile, where the configuration reads any. */
  readonly profile?: ProfileFields | undefined;
}

/** The engine's outcome of a command with what else is to be stored. */
export interface CommandResult extends Outcome {
  /** Further writes. @default none */
  readonly writes?: readonly Write[];
  /** The redemption after the command. */
  readonly redemption?: Redemption;
}

export interface CommandDecision {
  /** The user's project. If the decision assumed another one, nothing is written. */
  readonly projectId: string | null;
  /** Board scores to deliver. */
  readonly updates: readonly ScoreUpdate[];
  /** The user's state after the decision. */
  readonly state: UserState;
  /** Null where the command had no effect, for example because it was repeated. */
  readonly result: CommandResult | null;
  /** Id of the history record. */
  readonly recordId: string | null;
  /** Effects that were left out because they exceeded a limit of the engine. */
  readonly diagnostics: readonly Diagnostic[];
  /** Rules whose limited uses must be claimed first; where there are any, nothing is written. */
  readonly missingUses: readonly string[];
  /** True where the history must be replayed for the boards of the project first, and nothing is written. */
  readonly mustJoin: boolean;
  /** True where the user's record is gone, so that the user must be registered anew first, and nothing is written. */
  readonly mustRegister: boolean;
  /** The instant (Unix ms) to which a command of its own must advance time first, and nothing is written; else null. */
  readonly advanceTo: number | null;
}

/** Dependencies of a decision outside the user's partition. */
export interface CommandContext {
  readonly config: CompiledConfig;
  readonly user: SpaceUser;
  readonly partition: Partition;
  readonly states: RecordCache<UserState>;
  readonly progress: ProgressCache;
  readonly profiles: ProfileFieldsCache;
  /** The project that `targets` belong to; null where none is known. */
  readonly projectId: string | null;
  readonly targets: readonly ScoreTarget[];
  /** Unix ms. */
  readonly now: number;
  readonly cachedUser: CachedUser;
  /** True where the user's project is not known, so that the decision reads where the user signed up. */
  readonly readsAccount: boolean;
  /** The project that a decision found which did so. */
  readonly foundProject: string | null;
  readonly uses: LimitUses;
}

/** Results of a decision's reads of the user's partition. */
export interface CommandReads {
  readonly before: UserState;
  /** True where the user has no record. */
  readonly isNew: boolean;
  /** True where the command's id is marked already. */
  readonly isRepeated: boolean;
  /** When the account was removed, Unix ms; negative infinity where it was not, or that was not read. */
  readonly removedAt: number;
  /** The project in which the user signed up; null where none is known. */
  readonly signUpProject: string | null;
  /** The custom fields that the configuration reads; undefined where it reads none. */
  readonly profile: ProfileFields | undefined;
  /** Results of the command's extra reads. */
  readonly results: readonly unknown[];
}

/** A command applied to a state: what to write beside the state itself. */
export interface AppliedCommand {
  readonly decision: CommandDecision;
  readonly isChanged: boolean;
  /** The history records first, so that the last of them names the command's record. */
  readonly writes: readonly Write[];
  readonly recordCount: number;
}

const noWrites: readonly Write[] = [];
const noScoring: Omit<Gain, "metrics"> = { action: "", data: {} };

/** Applies a command to a user's state. Pure: the caller commits the writes. */
export function applyCommand(
  context: CommandContext,
  command: Command,
  { before, isNew, isRepeated, removedAt, signUpProject, profile, results }: CommandReads,
): AppliedCommand {
  const { config, user, now, uses, cachedUser } = context;
  if (isNew && (command.at ?? now) < removedAt) {
    throw new AppError("forbidden", "Cannot apply the action as its user was removed since");
  }
  if (isNew && cachedUser.hasRecord) return unchanged(before, context.projectId, { mustRegister: true });
  // A caller may repeat a command because the answer was lost, and with it the delivery.
  if (isRepeated)
    return unchanged(before, context.projectId, { updates: cachedUser.undelivered(before.undelivered) });
  const isMerged = before.mergedInto !== null;
  const unjoined = isMerged ? null : (signUpProject ?? user.projectId ?? command.projectId ?? null);
  const projectId = before.projectId ?? unjoined;
  if (!isMerged && command.projectId !== undefined && command.projectId !== projectId) throw otherProject();
  const mustJoin = before.projectId !== projectId && before.records > 0;
  if (mustJoin || projectId !== context.projectId) return unchanged(before, projectId, { mustJoin });
  const due = dueInstant(before, now);
  if (due !== null && !advancesPast(command, due, now))
    return unchanged(before, projectId, { advanceTo: due });

  const passed = advanceTime(config, before, now, { instantsMax: 0 });
  const extra = command.extraWrites?.(results) ?? noWrites;
  const input = profile === undefined ? uses : { ...uses, profile };
  const result = command.decide?.(passed.state, results, input) ?? null;
  const missingUses = uses.missing(result?.fired ?? []);
  if (missingUses.length > 0) return unchanged(before, projectId, { missingUses });

  const waiting = cachedUser.undelivered(before.undelivered);
  const gifts = withoutSettled(before.gifts, command);
  const dropsNothing =
    gifts.length === before.gifts.length &&
    (command.dropsDelivered !== true ||
      (waiting.length === before.undelivered.length &&
        cachedUser.unlisted(before.voterOf).length === before.voterOf.length));
  if (result === null && passed.state === before && dropsNothing && extra.length === 0) {
    return unchanged(before, projectId, { updates: waiting });
  }
  return changed(context, command, { before, passed, result, waiting, extra });
}

/**
 * Finds the first instant until now at which time alone changes something. It is decided for itself, so that boards count it
 * for that instant and not for the time at which somebody noticed.
 */
function dueInstant({ dueAt, changedAt }: UserState, now: number): number | null {
  return dueAt === null || dueAt > Math.max(now, changedAt) ? null : Math.max(dueAt, changedAt);
}

function advancesPast({ advanceTime: how }: Command, due: number, now: number): boolean {
  return how === "toNow" || (how === "nextInstant" && due === now);
}

function unchanged(
  state: UserState,
  projectId: string | null,
  {
    updates = [],
    missingUses = [],
    mustJoin = false,
    mustRegister = false,
    advanceTo = null,
  }: Partial<
    Pick<CommandDecision, "updates" | "missingUses" | "mustJoin" | "mustRegister" | "advanceTo">
  > = {},
): AppliedCommand {
  const nothing = { result: null, recordId: null, diagnostics: [] };
  const decision = { projectId, updates, state, ...nothing, missingUses, mustJoin, mustRegister, advanceTo };
  return { decision, isChanged: false, writes: noWrites, recordCount: 0 };
}

/** Creates the error for a command that names another project than the user's. */
function otherProject(): AppError {
  return new AppError("validation_failed", "Cannot count it for the project as the user is one of another", {
    fields: [{ pointer: "/projectId", detail: "Expected the project of the user" }],
  });
}

interface Change {
  readonly before: UserState;
  readonly passed: TimeOutcome;
  readonly result: CommandResult | null;
  /** Board scores of earlier decisions that have not arrived. */
  readonly waiting: readonly ScoreUpdate[];
  readonly extra: readonly Write[];
}

function changed(
  { projectId, targets, now, cachedUser }: CommandContext,
  command: Command,
  { before, passed, result, waiting, extra }: Change,
): AppliedCommand {
  const { once, scoring = noScoring, addedSums, changesKnownSums = false } = command;
  const state = result?.state ?? copyState(passed.state);
  const gained = addGains(passed.gained, result?.gained ?? {});
  const { action, data } = scoring;
  const summed = changesKnownSums ? knownTargets(targets, before.sums, now) : targets;
  const sums: readonly ChangedSum[] =
    addedSums === undefined || result === null
      ? changedSums(summed, before.sums, { action, data, metrics: gained })
      : withSumsBefore(before.sums, addedSums);
  const current = scoreUpdates(state, targets, { totals: sums, gained });
  const updates = notReplaced(waiting, current).concat(current);
  state.projectId = projectId;
  state.gifts = withoutSettled(state.gifts, command);
  state.undelivered = updates;
  state.voterOf = cachedUser.unlisted(state.voterOf);
  state.sums = withChangedSums(before.sums, sums, now);
  if (once !== undefined) state.onceMarks = nextOnceMarks(before, now);
  const record = result === null ? [] : withEvent(result.record, targets);
  const history = appendRecords(before.historyParts, passed.records.concat(record));
  const records: readonly Write[] = history.writes;
  state.historyParts = history.parts;
  const marks = once === undefined ? noWrites : onceMarkWrites(before, once, now);
  const diagnostics = result?.diagnostics ?? passed.diagnostics;
  return {
    decision: {
      projectId,
      updates,
      state,
      result,
      recordId: null,
      diagnostics,
      missingUses: [],
      mustJoin: false,
      mustRegister: false,
      advanceTo: null,
    },
    isChanged: true,
    writes: records.concat(
      marks,
      notificationWrites(passed, result, state),
      extra,
      result?.writes ?? noWrites,
    ),
    recordCount: records.length,
  };
}

function withoutSettled(gifts: UserState["gifts"], { settledGifts }: Command): UserState["gifts"] {
  return settledGifts === undefined ? gifts : gifts.filter(({ id }) => !settledGifts.has(id));
}

/** Notes which event an alias named, so that boards can be rebuilt from the record later. */
function withEvent(record: HistoryRecord, targets: readonly ScoreTarget[]): HistoryRecord {
  const { action } = record;
  const named = action?.data.eventId;
  if (action === undefined || typeof named !== "string" || isUuid(named)) return record;
  const eventId = targets.flatMap(target => (target.kind === "sum" ? (target.eventId ?? []) : []))[0];
  return eventId === undefined ? record : { ...record, action: { ...action, eventId } };
}

/** Writes no more notifications of either kind than a user has: they would push each other out of the log. */
function notificationWrites(
  { notifications: ofTime }: TimeOutcome,
  result: Outcome | null,
  { changedAt }: UserState,
): readonly Write[] {
  const ofResult = result?.notifications ?? [];
  if (ofTime.length + ofResult.length === 0) return noWrites;
  return [
    ...ofTime.slice(-notificationsMax).map(({ at, ...one }) => notificationWrite(one, at)),
    ...ofResult.slice(-notificationsMax).map(one => notificationWrite(one, changedAt)),
  ];
}

function notificationWrite(notification: Notification, at: number): Write {
  const value = JSON.stringify(notification);
  return { type: "append", key: "notifications", value, at, maxLength: notificationsMax };
}

/** Leaves out updates that a later one of the same board replaces. */
function notReplaced(updates: readonly ScoreUpdate[], later: readonly ScoreUpdate[]): readonly ScoreUpdate[] {
  if (updates.length === 0 || later.length === 0) return updates;
  return updates.filter(({ target }) => !later.some(update => update.target === target));
}

function addGains(a: Gain["metrics"], b: Gain["metrics"]): Gain["metrics"] {
  if (!hasEntries(a)) return b;
  return Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map(id => [id, (a[id] ?? 0) + (b[id] ?? 0)]),
  );
}
