/**
 * The decision that everything which happens to a user is: what of the user's partition it reads, and the one batch that
 * it writes. What time alone did before is part of it.
 *
 * @module
 */

import type { Gain, ScoreTarget, ScoreUpdate } from "../../leaderboards/mod.ts";
import type { Decision, Partition, Read, RecordCache, Stored, Write } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { hasEntries } from "../config/own_property.ts";
import { advanceTime, type Diagnostic, type Outcome, type TimeOutcome } from "../engine/mod.ts";
import type { HistoryRecord, Notification } from "../user/history.ts";
import { notificationsMax } from "../user/inbox.ts";
import type { CachedUser, Member } from "../user/member.ts";
import { nextOnceMarks, type OnceId, onceMarkReads, onceMarkWrites } from "../user/once_marks.ts";
import { emptyState, type Redemption, type UserState } from "../user/state.ts";
import { printRecord } from "../user/stored_record.ts";
import { beginProgress, type ProgressCache } from "../webhooks/progress.ts";
import type { LimitUses } from "./limit_uses.ts";
import { type ChangedSum, changedSums, scoreUpdates, totalScores, withChangedSums } from "./scores.ts";

/** Most records of a user's history that are kept; the oldest is dropped first. */
export const historyMax = 10_000;

/** What decisions about a user depend on besides the user's partition. */
export interface CommandContext {
  readonly config: CompiledConfig;
  readonly member: Member;
  readonly partition: Partition;
  readonly states: RecordCache<UserState>;
  readonly progress: ProgressCache;
  /** The project that `targets` belong to; null where none is known. */
  readonly projectId: string | null;
  readonly targets: readonly ScoreTarget[];
  /** Unix ms. */
  readonly now: number;
  /** What is known of the user: board scores that have arrived need not be kept any longer. */
  readonly user: CachedUser;
  /** What the limits of rules for all users have room for. */
  readonly uses: LimitUses;
}

/** What a happening came to. */
export interface CommandResult extends Outcome {
  /** What it writes besides. @default nothing */
  readonly writes?: readonly Write[];
  /** The redemption that it is a step of. */
  readonly redemption?: Redemption;
}

/** Something that happens to a user. */
export interface Command {
  /** Nothing but time passes: over the one `instant` at which it next does something, or over `all` until now as one. */
  readonly advanceTime?: "nextInstant" | "toNow";
  /** When it happened, Unix ms, which says in which seasons of boards it counts. @default now */
  readonly at?: number;
  /** Under which id it happens once. */
  readonly once?: OnceId;
  /** Whether deciding it again, once it took effect, changes nothing more. @default where it has an id */
  readonly isIdempotent?: boolean;
  /** How boards see it. */
  readonly scoring: Omit<Gain, "metrics">;
  /** What it reads besides. @default nothing */
  readonly reads?: readonly Read[];
  /** What it writes besides, or how that follows from the results of `reads`. @default nothing */
  readonly writes?: readonly Write[] | ((results: readonly unknown[]) => readonly Write[]);
  /** What it makes of a settled state; `results` are those of `reads`. Omitted: nothing but time passes. */
  readonly decide?: (
    settled: UserState,
    results: readonly unknown[],
    uses: LimitUses,
  ) => CommandResult | null;
  /** Whether board scores that have arrived are struck off although nothing else happens. @default false */
  readonly dropsDelivered?: boolean;
  /** Whether the user is on the agenda until all that this causes is done, as in a sweep. @default false */
  readonly isFromSweep?: boolean;
  /** Throws what to say where a guard of `writes` refused. */
  readonly refused?: (key: string) => never;
}

/** What was decided. */
export interface CommandDecision {
  /** The user's project. Where it is not the one that the decision was made for, nothing has happened yet. */
  readonly projectId: string | null;
  /** The board scores that are now to be delivered. */
  readonly updates: readonly ScoreUpdate[];
  /** The state that the user now has. */
  readonly state: UserState;
  /** What happened; null where nothing did, as when it was repeated. */
  readonly result: CommandResult | null;
  /** Id of the history record of the outcome. */
  readonly recordId: string | null;
  /** What was left out because it went too far. */
  readonly diagnostics: readonly Diagnostic[];
  /** Rules of which uses must be claimed first; where there are any, nothing has happened yet. */
  readonly missingUses: readonly string[];
  /** The instant (Unix ms) until which time must pass first, in a decision of its own; else null. Nothing has happened yet. */
  readonly advanceTo: number | null;
}

const noWrites: readonly Write[] = [];

/** A pure decision of `decide`. */
export interface CommandRule {
  readonly reads: readonly Read[];
  readonly idempotent: boolean;
  readonly apply: (state: readonly unknown[]) => {
    readonly writes: readonly Write[];
    readonly answer: Decision<CommandDecision>["answer"];
    readonly refused?: (key: string) => never;
  };
}

/** The decision for one happening. */
export function commandRule(context: CommandContext, happening: Command): CommandRule {
  const { member, partition, states, targets, now, uses } = context;
  const { once, refused } = happening;
  const marks = once === undefined ? [] : onceMarkReads(once, now);
  const own = happening.reads ?? [];
  const { webhooks } = context.config.config;
  const progress = webhooks.length === 0 ? [] : [context.progress.query];
  const ownFrom = 1 + marks.length;
  return {
    // Joined, not spread: an array that is spread is made much larger than it need be, and this is made for every action.
    reads: [states.query as Read].concat(marks, own, progress),
    // A repeated id changes nothing, so what has one may be decided again when its outcome is unknown.
    idempotent: once !== undefined || happening.isIdempotent === true,
    apply(found) {
      const stored = found[0] as Stored | null;
      const before = stored === null ? emptyState(member.projectId) : states.valueOf(partition, stored);
      const projectId = before.projectId ?? member.projectId;
      const isRepeated = marks.some((_, index) => (found[1 + index] as ReadonlyMap<string, number>).size > 0);
      // Whoever repeats it may do so because the answer was lost, and with it the delivery that would follow.
      if (isRepeated) return nothing(before, context.projectId, { updates: undelivered(context, before) });
      if (projectId !== context.projectId) return nothing(before, projectId);
      const due = instantBefore(before, now);
      const isPassing =
        happening.advanceTime === "toNow" || (happening.advanceTime === "nextInstant" && due === now);
      if (due !== null && !isPassing) return nothing(before, projectId, { advanceTo: due });
      const settlement = advanceTime(context.config, before, now, { instantsMax: 0 });
      const results = own.length === 0 ? own : found.slice(ownFrom, ownFrom + own.length);
      const { writes: given = noWrites } = happening;
      const besides = typeof given === "function" ? given(results) : given;
      const outcome = happening.decide?.(settlement.state, results, uses) ?? null;
      const needs = uses.missing(outcome?.fired ?? []);
      if (needs.length > 0) return nothing(before, projectId, { missingUses: needs });
      const waiting = undelivered(context, before);
      const isTidy = happening.dropsDelivered !== true || waiting.length === before.undelivered.length;
      if (outcome === null && settlement.state === before && isTidy && besides.length === 0) {
        return nothing(before, projectId, { updates: waiting });
      }
      const gained = sum(settlement.gained, outcome?.gained ?? {});
      const { action, data } = happening.scoring;
      const totals = changedSums(targets, before.sums, { action, data, metrics: gained });
      const toldOf = progress.length === 0 ? null : (found.at(-1) as Stored | null);
      const told = toldOf === null ? {} : context.progress.valueOf(partition, toldOf);
      const begun = beginProgress(webhooks, told, { now, records: before.records });
      const begins = begun === null ? noWrites : [context.progress.put(begun)];
      const applied = {
        before,
        settlement,
        outcome,
        gained,
        totals,
        waiting,
        besides: besides.concat(outcome?.writes ?? noWrites, begins),
      };
      const { writes, answer } = batchOf(context, happening, applied);
      return refused === undefined ? { writes, answer } : { writes, answer, refused };
    },
  };
}

/**
 * The first instant until now at which time alone changes something. Boards are to count that for this instant, and not for
 * what happens when it is noticed.
 */
function instantBefore({ dueAt, changedAt }: UserState, now: number): number | null {
  return dueAt === null || dueAt > Math.max(now, changedAt) ? null : Math.max(dueAt, changedAt);
}

function nothing(
  state: UserState,
  projectId: string | null,
  {
    updates = [],
    missingUses = [],
    advanceTo = null,
  }: Partial<Pick<CommandDecision, "updates" | "missingUses" | "advanceTo">> = {},
): ReturnType<CommandRule["apply"]> {
  const answer = {
    projectId,
    updates,
    state,
    result: null,
    recordId: null,
    diagnostics: [],
    missingUses,
    advanceTo,
  };
  return { writes: [], answer };
}

interface Applied {
  readonly before: UserState;
  readonly settlement: TimeOutcome;
  readonly outcome: CommandResult | null;
  readonly gained: Gain["metrics"];
  readonly totals: readonly ChangedSum[];
  /** Board scores of earlier decisions that have not arrived. */
  readonly waiting: readonly ScoreUpdate[];
  /** What the happening writes besides, and what webhooks that are new to the user begin with. */
  readonly besides: readonly Write[];
}

function batchOf(
  context: CommandContext,
  { once }: Command,
  { before, settlement, outcome, gained, totals, waiting, besides }: Applied,
): ReturnType<CommandRule["apply"]> {
  const { projectId, targets, states, now } = context;
  const after = outcome?.state ?? settlement.state;
  const known = before.projectId === null && projectId !== null ? totalScores(before, targets) : [];
  const current = scoreUpdates(after, targets, { totals, gained });
  const diagnostics = outcome?.diagnostics ?? settlement.diagnostics;
  const updates = stillDue(waiting, current).concat(stillDue(known, current), current);
  const onceMarks = once === undefined ? before.onceMarks : nextOnceMarks(before, now);
  const sums = withChangedSums(before.sums, totals, now);
  const state: UserState = { ...after, projectId, undelivered: updates, sums, onceMarks };
  const records = settlement.records.concat(outcome === null ? [] : outcome.record).map(recorded);
  const recordCount = records.length;
  const marks = once === undefined ? noWrites : onceMarkWrites(before, once, now);
  const notices = noticesOf(settlement, outcome, state);
  return {
    writes: records.concat(states.put(state), marks, notices, besides),
    answer: ({ results }) => {
      const recordId = outcome === null ? null : String(results[recordCount - 1]);
      return {
        projectId,
        updates,
        state,
        result: outcome,
        recordId,
        diagnostics,
        missingUses: [],
        advanceTo: null,
      };
    },
  };
}

/** Announcements, not more of either kind than a user has: they would push each other out of the log. */
function noticesOf(
  { notifications: passed }: TimeOutcome,
  outcome: Outcome | null,
  { changedAt }: UserState,
): readonly Write[] {
  const told = outcome?.notifications ?? [];
  if (passed.length + told.length === 0) return noWrites;
  return [
    ...passed.slice(-notificationsMax).map(({ at, ...one }) => announced(one, at)),
    ...told.slice(-notificationsMax).map(one => announced(one, changedAt)),
  ];
}

function recorded(record: HistoryRecord): Write {
  const value = printRecord(record);
  return { type: "append", key: "history", value, at: record.at, maxLength: historyMax };
}

function announced(notification: Notification, at: number): Write {
  const value = JSON.stringify(notification);
  return { type: "append", key: "notifications", value, at, maxLength: notificationsMax };
}

function undelivered({ user }: CommandContext, state: UserState): readonly ScoreUpdate[] {
  return user.undelivered(state.undelivered);
}

/** The updates that no later one of the same board makes needless. */
function stillDue(updates: readonly ScoreUpdate[], later: readonly ScoreUpdate[]): readonly ScoreUpdate[] {
  if (updates.length === 0 || later.length === 0) return updates;
  return updates.filter(({ target }) => !later.some(update => update.target === target));
}

function sum(a: Gain["metrics"], b: Gain["metrics"]): Gain["metrics"] {
  if (!hasEntries(a)) return b;
  return Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map(id => [id, (a[id] ?? 0) + (b[id] ?? 0)]),
  );
}
