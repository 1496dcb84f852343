/**
 * Commands and their commit: whatever changes a user's loyalty is a command, and takes effect in one commit of the user's
 * partition.
 */

import { isUuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import type { Decision, Read, RecordCache, Rule, Stored, Write } from "../../storage/mod.ts";
import type { Gain } from "../leaderboards/mod.ts";
import type { ScoreTarget, ScoreUpdate } from "../leaderboards/scores/score_delivery.ts";
import { parseAccountNote, readAccountNote, signUpProjectOf } from "../users/mod.ts";
import {
  type ChangedSum,
  changedSums,
  knownTargets,
  scoreUpdates,
  withChangedSums,
  withSumsBefore,
} from "./board_sums.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import { hasEntries } from "./config/compiled.ts";
import { advanceTime, type TimeOutcome } from "./engine/advance_time.ts";
import type { ChangeOptions } from "./engine/apply_change.ts";
import type { Diagnostic, Outcome } from "./engine/next_state.ts";
import type { HistoryRecord, Notification } from "./user/history.ts";
import { notificationsMax } from "./user/inbox.ts";
import type { CachedUser, SpaceUser } from "./user/state.ts";
import {
  copyState,
  dueInstant,
  emptyState,
  type ProfileFields,
  type ProfileFieldsCache,
  pickFields,
  type Redemption,
  type UserState,
  withoutFutureTime,
} from "./user/state.ts";
import {
  appendRecords,
  nextOnceMarks,
  type OnceId,
  onceMarkReads,
  onceMarkWrites,
} from "./user/stored_state.ts";
import { beginProgress, type ProgressCache } from "./webhooks/progress.ts";

/** What a command may consist of; each kind has some of it. */
interface CommandParts {
  /** Advances the user's time to the next instant at which something is due, or to now in one step. */
  readonly advanceTime?: "nextInstant" | "toNow";
  /** The project that a back end names; a user of another one refuses the command. */
  readonly projectId?: string | undefined;
  /** When it happened, Unix ms: selects the season of each board and the windows of limits. @default now */
  readonly at?: number;
  /** The id under which the command takes effect once. */
  readonly once?: OnceId | undefined;
  /** True where repeating the command after it took effect changes nothing more. @default where it has `once` */
  readonly isIdempotent?: boolean;
  /** The action that boards count it for. */
  readonly scoring?: Omit<Gain, "metrics">;
  /** Sums of boards to add, in place of those that `scoring` adds. */
  readonly addedSums?: readonly ChangedSum[];
  /** Leaves out sums that are no longer in the user's record, as what is taken back was in them. */
  readonly changesKnownSums?: boolean;
  /** Further reads of the user's partition, whose results `writes` and `apply` get. */
  readonly reads?: readonly Read[] | undefined;
  /** Makes writes that do not depend on an effect. */
  readonly writes?: (found: readonly unknown[]) => readonly Write[];
  /** Applies the command to a state that is advanced to now; null where nothing is left to do. */
  readonly apply?: (
    state: UserState,
    found: readonly unknown[],
    options: ChangeOptions,
  ) => CommandResult | null;
  /** Drops delivered board scores, and notes of voters that are listed, even where nothing else changes. */
  readonly dropsDelivered?: boolean;
  /** Ids of gifts whose notes are removed from the state. */
  readonly settledGifts?: ReadonlySet<string>;
  /** True for commands of the sweep, which must not queue the user anew. */
  readonly isFromSweep?: boolean;
  /** Throws the error for a write whose bound refused it. */
  readonly refused?: ((key: string) => never) | undefined;
}

type CommandOf<Kind extends string, Part extends keyof CommandParts> = { readonly kind: Kind } & Pick<
  CommandParts,
  Part
> & { readonly [Other in Exclude<keyof CommandParts, Part>]?: undefined };

export type Command =
  | CommandOf<"time", "advanceTime" | "dropsDelivered" | "isFromSweep">
  | CommandOf<"action", "projectId" | "at" | "once" | "scoring" | "reads" | "apply" | "refused">
  | CommandOf<"grant", "projectId" | "once" | "apply">
  | CommandOf<"adjustment", "isIdempotent" | "reads" | "writes" | "apply">
  | CommandOf<"reversal", "at" | "scoring" | "changesKnownSums" | "reads" | "writes" | "apply" | "refused">
  | CommandOf<"redemption", "isIdempotent" | "reads" | "apply">
  | CommandOf<"reveal", "isIdempotent" | "at" | "scoring" | "reads" | "writes" | "apply">
  | CommandOf<"inheritance", "isIdempotent" | "addedSums" | "reads" | "apply">
  | CommandOf<"gifts", "isIdempotent" | "isFromSweep" | "settledGifts" | "apply">;

/** Makes a command from the configuration of the user's space, at a time in Unix ms. Throws to refuse the command. */
export type MakeCommand = (config: CompiledConfig, now: number) => Command;

/** The engine's outcome of a command with what else is to be stored. */
export interface CommandResult extends Outcome {
  readonly writes?: readonly Write[];
  readonly redemption?: Redemption;
}

export interface Committed {
  readonly state: UserState;
  readonly updates: readonly ScoreUpdate[];
  /** Null where the command had no effect, for example because it was repeated. */
  readonly result: CommandResult | null;
  readonly recordId: string | null;
  /** Effects that were left out because they exceeded a limit of the engine. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Something outside the partition must happen before the command can be applied; nothing was written. */
type Retry =
  /** The record is gone: the user must be registered with the sweep again. */
  | { readonly retry: "user gone" }
  /** The user is of another project than the one whose boards were loaded. */
  | { readonly retry: "project unknown"; readonly projectId: string | null }
  /** The user acted before the project was known: the history must be replayed for its boards. */
  | { readonly retry: "project to join"; readonly projectId: string | null }
  /** Time alone changes something at an instant before. */
  | { readonly retry: "time must pass"; readonly until: number }
  /** The rules with limits for all users that fire, once for each time. */
  | { readonly retry: "limit to claim"; readonly ruleIds: readonly string[] };

/** What the rule over a user's partition comes to. */
type CommitOutcome = { readonly done: Committed } | Retry;

/** Uses of limited rules that a command may rely on. */
export interface LimitUses {
  /** Returns true where the rule must not fire as a limit is reached. */
  readonly isReached: (ruleId: string) => boolean;
  /**
   * Returns the limited rules among those that fired, if there is not a use for each time; else nothing.
   *
   * @param fired Ids of all rules that fired, once for each time.
   */
  readonly missing: (fired: readonly string[]) => readonly string[];
  /** Claims the uses that are missing, before the command is applied again. */
  readonly claim: (missing: readonly string[]) => Promise<void>;
}

export const noLimits: LimitUses = { isReached: () => false, missing: () => [], claim: async () => {} };

export interface CommandContext {
  readonly config: CompiledConfig;
  readonly user: SpaceUser;
  readonly cachedUser: CachedUser;
  /** Unix ms. */
  readonly now: number;
  readonly states: RecordCache<UserState>;
  readonly progress: ProgressCache;
  readonly profiles: ProfileFieldsCache;
  /** The project that `targets` belong to; null where none is known. */
  readonly projectId: string | null;
  readonly targets: readonly ScoreTarget[];
  /** True where the user's project is not known, so that the rule reads where the user signed up. */
  readonly readsAccount: boolean;
  /** The project that an earlier attempt found so. */
  readonly foundProject: string | null;
  readonly uses: LimitUses;
}

interface Found {
  readonly before: UserState;
  /** True where the user has no record. */
  readonly isNew: boolean;
  /** True where the command's id is marked already. */
  readonly isRepeated: boolean;
  /** When the account was removed, Unix ms; negative infinity where it was not, or that was not read. */
  readonly removedAt: number;
  readonly signUpProject: string | null;
  /** The custom fields that the configuration reads; undefined where it reads none. */
  readonly profile: ProfileFields | undefined;
  /** Results of the command's own reads. */
  readonly results: readonly unknown[];
}

interface Applied {
  readonly done: Committed;
  /** What to write beside the state, history records first; null where nothing changed. */
  readonly writes: readonly Write[] | null;
  readonly recordCount: number;
}

const noReads: readonly Read[] = [];
const accountReads: readonly Read[] = [readAccountNote];
const notRemoved = Number.NEGATIVE_INFINITY;
const noWrites: readonly Write[] = [];
export const noScoring: Omit<Gain, "metrics"> = { action: "", data: {} };

/** Makes the rule that applies one command to what the user's partition has. */
export function commandRule(
  context: CommandContext,
  command: Command,
  ready: Promise<void> | undefined,
): Rule<readonly Read[], CommitOutcome> {
  const { once, refused, reads = noReads } = command;
  const accountRead = context.readsAccount ? accountReads : noReads;
  const marks = once === undefined ? noReads : onceMarkReads(once, context.now);
  const profile = profileReads(context);
  const marksFrom = 1 + profile.length;
  const accountAt = marksFrom + marks.length;
  const readsFrom = accountAt + accountRead.length;
  return {
    // Spread, as `concat` takes four times as long.
    reads: [context.states.query, ...profile, ...marks, ...accountRead, ...reads, ...progressReads(context)],
    // A repeated id changes nothing, so a command with one may be decided again when its outcome is unknown.
    idempotent: once !== undefined || command.isIdempotent === true,
    ready,
    apply(found) {
      const before = stateIn(context, found[0] as Stored | null);
      const account = context.readsAccount ? (found[accountAt] as Stored | null) : null;
      const applied = applyCommand(
        context,
        { command, targets: context.targets },
        {
          before,
          isNew: found[0] === null,
          isRepeated: hasMark(found, marksFrom, marks.length),
          removedAt: account === null ? notRemoved : (parseAccountNote(account)?.removedAt ?? notRemoved),
          signUpProject: context.readsAccount ? signUpProjectOf(account) : context.foundProject,
          profile: profileIn(context, found),
          results: reads.length === 0 ? reads : found.slice(readsFrom, readsFrom + reads.length),
        },
      );
      if ("retry" in applied || applied.writes === null) return { writes: noWrites, answer: applied };
      const { done, writes, recordCount } = applied;
      return {
        writes: [...writes, context.states.put(done.state), ...progressWrites(context, before, found)],
        answer: ({ results: ids }) =>
          done.result === null ? applied : { done: { ...done, recordId: String(ids[recordCount - 1]) } },
        refused,
      };
    },
  };
}

/** Applies a command to a user's state. Pure: the caller commits the writes. */
function applyCommand(
  context: Omit<CommandContext, "targets">,
  { command, targets }: BatchedCommand,
  { before, isNew, isRepeated, removedAt, signUpProject, profile, results }: Found,
): Applied | Retry {
  const { config, user, now, uses, cachedUser } = context;
  if (isNew && (command.at ?? now) < removedAt) {
    throw new AppError("forbidden", "Cannot apply the action as its user was removed since");
  }
  if (isNew && cachedUser.hasRecord) return { retry: "user gone" };
  // A caller may repeat a command because the answer was lost, and with it the delivery.
  if (isRepeated) return unchanged(before, cachedUser.withoutDelivered(before.undelivered));

  const isMerged = before.mergedInto !== null;
  const unjoined = isMerged ? null : (signUpProject ?? user.projectId ?? command.projectId ?? null);
  const projectId = before.projectId ?? unjoined;
  if (!isMerged && command.projectId !== undefined && command.projectId !== projectId) throw otherProject();
  if (before.projectId !== projectId && before.records > 0) return { retry: "project to join", projectId };
  if (projectId !== context.projectId) return { retry: "project unknown", projectId };

  // An instant of the past is decided for itself, so that boards count it for that instant and not for the time of this command.
  const due = dueInstant(before, now);
  if (due !== null && !advancesPast(command, due, now)) return { retry: "time must pass", until: due };
  const passed = due === null ? null : advanceTime(config, before, now, { instantsMax: 0 });
  const current = passed?.state ?? before;

  const extra = command.writes?.(results) ?? noWrites;
  const result = command.apply?.(current, results, { globalLimitReached: uses.isReached, profile }) ?? null;
  const ruleIds = uses.missing(result?.fired ?? []);
  if (ruleIds.length > 0) return { retry: "limit to claim", ruleIds };

  const waiting = cachedUser.withoutDelivered(before.undelivered);
  if (result === null && current === before && extra.length === 0) {
    const { settledGifts, dropsDelivered = false } = command;
    const dropsGifts = settledGifts !== undefined && before.gifts.some(({ id }) => settledGifts.has(id));
    const isDelivered =
      waiting.length < before.undelivered.length ||
      cachedUser.unlisted(before.voterOf).length < before.voterOf.length;
    if (!dropsGifts && !(dropsDelivered && isDelivered)) return unchanged(before, waiting);
  }
  return changed(context, { command, targets }, { before, passed, result, waiting, extra });
}

function advancesPast({ advanceTime: how }: Command, due: number, now: number): boolean {
  return how === "toNow" || (how === "nextInstant" && due === now);
}

function unchanged(state: UserState, updates: readonly ScoreUpdate[]): Applied {
  return {
    done: { state, updates, result: null, recordId: null, diagnostics: [] },
    writes: null,
    recordCount: 0,
  };
}

/** Creates the error for a command that names another project than the user's. */
function otherProject(): AppError {
  return new AppError("validation_failed", "Cannot count it for the project as the user is one of another", {
    fields: [{ pointer: "/projectId", detail: "Expected the project of the user" }],
  });
}

interface Change {
  readonly before: UserState;
  /** Null: time alone changed nothing. */
  readonly passed: TimeOutcome | null;
  readonly result: CommandResult | null;
  /** Board scores of earlier commands that have not arrived. */
  readonly waiting: readonly ScoreUpdate[];
  readonly extra: readonly Write[];
}

function changed(
  { projectId, now, cachedUser }: Omit<CommandContext, "targets">,
  { command, targets }: BatchedCommand,
  { before, passed, result, waiting, extra }: Change,
): Applied {
  const { once, scoring = noScoring, addedSums, changesKnownSums = false, settledGifts } = command;
  const state = result?.state ?? copyState(passed?.state ?? before);
  const gained = passed === null ? (result?.gained ?? {}) : addGains(passed.gained, result?.gained ?? {});
  const { action, data } = scoring;
  const summed = changesKnownSums ? knownTargets(targets, before.sums, now) : targets;
  const sums: readonly ChangedSum[] =
    addedSums === undefined || result === null
      ? changedSums(summed, before.sums, { action, data, metrics: gained })
      : withSumsBefore(before.sums, addedSums);
  const current = state.mergedInto === null ? scoreUpdates(state, targets, { totals: sums, gained }) : [];
  const updates = waiting.length === 0 ? current : [...notReplaced(waiting, current), ...current];
  state.projectId = projectId;
  if (settledGifts !== undefined) state.gifts = state.gifts.filter(({ id }) => !settledGifts.has(id));
  state.undelivered = updates;
  state.voterOf = cachedUser.unlisted(state.voterOf);
  state.sums = withChangedSums(before.sums, sums, now);
  if (once !== undefined) state.onceMarks = nextOnceMarks(before, now);
  const records = passed?.records ?? [];
  const history = appendRecords(
    before.historyParts,
    result === null ? records : [...records, withEvent(result.record, targets)],
  );
  state.historyParts = history.parts;
  const marks = once === undefined ? noWrites : onceMarkWrites(before, once, now);
  const notifications = notificationWrites(passed?.notifications ?? [], result?.notifications ?? [], state);
  const diagnostics = result?.diagnostics ?? passed?.diagnostics ?? [];
  return {
    done: { state, updates, result, recordId: null, diagnostics },
    writes: [...history.writes, ...marks, ...notifications, ...extra, ...(result?.writes ?? noWrites)],
    recordCount: history.writes.length,
  };
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
  ofTime: TimeOutcome["notifications"],
  ofResult: Outcome["notifications"],
  { changedAt }: UserState,
): readonly Write[] {
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
  return updates.filter(({ target }) => !later.some(update => update.target === target));
}

function addGains(a: Gain["metrics"], b: Gain["metrics"]): Gain["metrics"] {
  if (!hasEntries(a)) return b;
  return Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map(id => [id, (a[id] ?? 0) + (b[id] ?? 0)]),
  );
}

export type BatchedCommand = { readonly command: Command } & Pick<CommandContext, "targets">;

export interface BatchOutcome {
  /** One for each command that was committed, up to the first that must be run alone. */
  readonly done: readonly Committed[];
  /** The error of the command after those, if that is why the batch ends there. */
  readonly error?: unknown;
}

/** Most writes of a batch, well below what a commit may carry. */
const batchWritesMax = 500;

/**
 * Makes the rule that applies several commands of a user with one read and one commit. It stops before the first command that
 * throws, or that something else must happen for; the caller runs that one alone.
 *
 * @param batch Commands without reads of their own.
 * @param ready Resolves when the user is registered with the sweep, which must precede the commit.
 */
export function batchRule(
  context: Omit<CommandContext, "targets">,
  batch: readonly BatchedCommand[],
  ready: Promise<void> | undefined,
): Rule<readonly Read[], BatchOutcome> {
  const marksOf = batch.map(({ command: { once } }) =>
    once === undefined ? noReads : onceMarkReads(once, context.now),
  );
  const profileQuery = profileReads(context);
  return {
    reads: [context.states.query, ...profileQuery, ...marksOf.flat(), ...progressReads(context)],
    idempotent: batch.every(({ command }) => command.once !== undefined),
    ready,
    apply(found) {
      const before = stateIn(context, found[0] as Stored | null);
      const ids = new Set<string>();
      const profile = profileIn(context, found);
      const writes: Write[] = [];
      const done: Committed[] = [];
      let isChanged = false;
      let from = 1 + profileQuery.length;
      for (const [index, each] of batch.entries()) {
        const marks = marksOf[index]?.length ?? 0;
        const id = each.command.once?.id;
        let applied: Applied | Retry;
        try {
          applied = applyCommand(context, each, {
            before: done.at(-1)?.state ?? before,
            isNew: done.length === 0 && found[0] === null,
            isRepeated: (id !== undefined && ids.has(id)) || hasMark(found, from, marks),
            removedAt: notRemoved,
            signUpProject: null,
            profile,
            results: [],
          });
        } catch (error) {
          // With nothing applied before it, the error may rest on a state that is out of date: `decide` reads anew then.
          if (done.length === 0) throw error;
          return answered({ done, error });
        }
        if ("retry" in applied) break;
        const added = applied.writes ?? noWrites;
        if (writes.length + added.length > batchWritesMax && done.length > 0) break;
        from += marks;
        if (id !== undefined) ids.add(id);
        isChanged ||= applied.writes !== null;
        writes.push(...added);
        done.push(applied.done);
      }
      return answered({ done });

      function answered(answer: BatchOutcome): Decision<BatchOutcome> {
        const last = done.at(-1);
        if (last === undefined || !isChanged) return { writes: noWrites, answer };
        const state = context.states.put(last.state);
        return { writes: [...writes, state, ...progressWrites(context, before, found)], answer };
      }
    },
  };
}

function stateIn(
  { states, cachedUser: { partition }, user, now }: Omit<CommandContext, "targets">,
  stored: Stored | null,
): UserState {
  return stored === null
    ? emptyState(user.projectId)
    : withoutFutureTime(states.valueOf(partition, stored), now);
}

/** Reads the custom fields of the user, second, where the configuration reads any. */
function profileReads({ config, profiles }: Omit<CommandContext, "targets">): readonly Read[] {
  return config.customFields.size === 0 ? noReads : [profiles.query];
}

function profileIn(
  { config, profiles, cachedUser: { partition } }: Omit<CommandContext, "targets">,
  found: readonly unknown[],
): ProfileFields | undefined {
  if (config.customFields.size === 0) return undefined;
  const stored = found[1] as Stored | null;
  return stored === null ? {} : pickFields(profiles.valueOf(partition, stored), config.customFields);
}

function hasMark(found: readonly unknown[], from: number, count: number): boolean {
  for (let index = from; index < from + count; index++) {
    if ((found[index] as ReadonlyMap<string, number>).size > 0) return true;
  }
  return false;
}

/** Reads how far webhooks are, last, where the space has any. */
function progressReads({ config, progress }: Omit<CommandContext, "targets">): readonly Read[] {
  return config.config.webhooks.length === 0 ? noReads : [progress.query];
}

/** Lets webhooks that are new to the user begin with this command. */
function progressWrites(
  { config, progress, cachedUser: { partition } }: Omit<CommandContext, "targets">,
  before: UserState,
  found: readonly unknown[],
): readonly Write[] {
  const { webhooks } = config.config;
  if (webhooks.length === 0) return noWrites;
  const stored = found.at(-1) as Stored | null;
  const begun = beginProgress(webhooks, stored === null ? {} : progress.valueOf(partition, stored), before);
  return begun === null ? noWrites : [progress.put(begun)];
}
