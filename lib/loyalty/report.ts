/**
 * The decision that a reported action is: what of a user's partition it reads, and the one batch that it writes.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";
import type { ScoreTarget, ScoreUpdate } from "../ports/score_feed.ts";
import { type Read, type Stored, tallyFieldsMax, type Write } from "../storage/mod.ts";
import { knownTotals } from "./adoption.ts";
import { type Action, applyAction, type Outcome } from "./apply_action.ts";
import type { CompiledConfig } from "./compile.ts";
import { notificationsMax } from "./inbox.ts";
import type { Member } from "./member.ts";
import { emptyState, type UserState } from "./state.ts";

/** Most transactions of a user that are kept; the oldest is dropped first. */
export const historyMax = 10_000;
/** Action ids are remembered by generations of this length: for one to two of them, 7 to 14 days. */
export const seenGenerationMs: number = 7 * 24 * 60 * 60 * 1_000;

/** How far the clocks of processes may differ without a repeated action id counting twice at the turn of a generation. */
export const clockSkewMsMax = 60_000;

/** What a fan or a back end reports. */
export interface Report {
  readonly action: string;
  readonly data: Action["data"];
  /** Reports of one user with the same id within {@linkcode seenGenerationMs} take effect once. */
  readonly actionId?: string;
  /** Whether a fan's own device reports it, and the action must be marked for that. */
  readonly isClientReport: boolean;
}

/** What the decision depends on besides the user's partition. */
export interface ReportContext {
  readonly config: CompiledConfig;
  readonly member: Member;
  readonly report: Report;
  /** The project that `targets` belong to; null where none is known. */
  readonly projectId: string | null;
  readonly targets: readonly ScoreTarget[];
  /** Unix ms. */
  readonly now: number;
  /** Whether a board score is known to have arrived, so that it need not be kept any longer. */
  readonly isDelivered: (update: ScoreUpdate) => boolean;
}

/** What was decided about a report. */
export interface Reported {
  /** The user's project. Where it is not the one that the decision was made for, nothing has happened yet. */
  readonly projectId: string | null;
  /** The board scores that are now to be delivered. */
  readonly updates: readonly ScoreUpdate[];
}

/** A pure decision of {@linkcode decide}. */
export interface ReportRule {
  readonly reads: readonly Read[];
  readonly idempotent: boolean;
  readonly apply: (state: readonly unknown[]) => {
    readonly writes: readonly Write[];
    readonly answer: Reported;
  };
}

type SumTarget = Extract<ScoreTarget, { kind: "sum" }>;

/** The decision for one report. */
export function reportRule(context: ReportContext): ReportRule {
  const { report, targets, now } = context;
  const sums = targets.filter((target): target is SumTarget => target.kind === "sum");
  const generation = Math.floor(now / seenGenerationMs);
  const seen = report.actionId === undefined ? [] : seenGenerations(now).map(of => seenRead(of, report));
  return {
    reads: [{ type: "record", key: "loyalty" }, ...seen, ...sums.map(({ id }) => sumRead(id))],
    // A repeated id changes nothing, so a report that has one may be decided again when its outcome is unknown.
    idempotent: report.actionId !== undefined,
    apply(results) {
      const [stored, ...others] = results as [Stored | null, ...unknown[]];
      const marks = others.slice(0, seen.length) as ReadonlyMap<string, number>[];
      const before =
        stored === null ? emptyState(context.member.projectId) : (JSON.parse(stored.value) as UserState);
      const projectId = before.projectId ?? context.member.projectId;
      // Whoever repeats a report may do so because its answer was lost, and with it the delivery that would follow.
      if (marks.some(mark => mark.size > 0)) {
        return {
          writes: [],
          answer: { projectId: context.projectId, updates: undelivered(context, before) },
        };
      }
      if (projectId !== context.projectId) return { writes: [], answer: { projectId, updates: [] } };
      const totals = others.slice(seen.length) as (Stored | null)[];
      const outcome = applyAction(context.config, before, {
        name: report.action,
        data: report.data,
        at: now,
      });
      return batch(context, {
        before,
        outcome,
        generation,
        totals: sumTotals(sums, totals, context, outcome),
      });
    },
  };
}

interface SumTotal extends Pick<SumTarget, "id" | "keepUntil"> {
  readonly total: number;
}

interface Applied {
  readonly before: UserState;
  readonly outcome: Outcome;
  readonly generation: number;
  /** The sums that the action changed. */
  readonly totals: readonly SumTotal[];
}

function batch(context: ReportContext, applied: Applied): ReturnType<ReportRule["apply"]> {
  const { report, now, projectId } = context;
  const { before, outcome, totals } = applied;
  const isNew = before.projectId === null && projectId !== null;
  const known = isNew ? knownTotals(before, context.targets) : [];
  const current = [
    ...totals.map(({ id, total }) => update(id, total, context, outcome)),
    ...metricUpdates(context, outcome),
  ];
  const fresh = new Set(current.map(({ target }) => target));
  const waiting = [...undelivered(context, before), ...known].filter(({ target }) => !fresh.has(target));
  const seen = countSeen(before, applied.generation, report);
  const state: UserState = {
    ...outcome.state,
    projectId,
    changedAt: now,
    undelivered: [...waiting, ...current],
    seen,
  };
  const writes: Write[] = [
    { type: "put", key: "loyalty", value: JSON.stringify(state) },
    ...seenWrites(before, applied.generation, report),
    ...totals.map(sumWrite),
    ...outcome.transactions.map(entry => append("history", JSON.stringify(entry), now, historyMax)),
    ...outcome.notifications.map(entry =>
      append("notifications", JSON.stringify(entry), now, notificationsMax),
    ),
  ];
  return { writes, answer: { projectId, updates: state.undelivered } };
}

function undelivered({ isDelivered }: ReportContext, state: UserState): ScoreUpdate[] {
  return state.undelivered.filter(update => !isDelivered(update));
}

function metricUpdates(context: ReportContext, outcome: Outcome): ScoreUpdate[] {
  return context.targets.flatMap(target => {
    if (target.kind !== "total" || !Object.hasOwn(outcome.gained, target.metricId)) return [];
    return [update(target.id, outcome.state.metrics[target.metricId] ?? 0, context, outcome)];
  });
}

function update(target: string, score: number, { now }: ReportContext, { state }: Outcome): ScoreUpdate {
  return { target, score, at: now, asOf: state.revision };
}

function sumTotals(
  sums: readonly SumTarget[],
  stored: readonly (Stored | null)[],
  { report }: ReportContext,
  { gained }: Outcome,
): SumTotal[] {
  const gain = { action: report.action, data: report.data, metrics: gained };
  return sums.flatMap(({ amount, ...sum }, index) => {
    const added = amount(gain);
    const record = stored[index] ?? null;
    return added === 0 ? [] : [{ ...sum, total: (record === null ? 0 : Number(record.value)) + added }];
  });
}

function countSeen(before: UserState, generation: number, { actionId }: Report): UserState["seen"] {
  if (actionId === undefined) return before.seen;
  const count = before.seen.generation === generation ? before.seen.count : 0;
  if (count >= tallyFieldsMax) {
    throw new AppError(
      "rate_limited",
      `Cannot accept more than ${tallyFieldsMax} actions with an id in a week`,
      {
        retryAfterMs: seenGenerationMs,
      },
    );
  }
  return { generation, count: count + 1 };
}

/**
 * The generations in which a mark may be: this one and the one before, and the next one while a process whose clock is
 * ahead may already be in it.
 */
function seenGenerations(now: number): number[] {
  const generation = Math.floor(now / seenGenerationMs);
  const next = Math.floor((now + clockSkewMsMax) / seenGenerationMs);
  return next === generation ? [generation, generation - 1] : [generation, generation - 1, next];
}

function seenRead(generation: number, { actionId = "" }: Report): Read {
  return { type: "tally", key: `seen:${generation}`, fields: [actionId] };
}

/** Marks the id as seen. The first mark of a generation removes the generations that are over. */
function seenWrites({ seen }: UserState, generation: number, { actionId }: Report): Write[] {
  if (actionId === undefined) return [];
  const over = [seen.generation - 1, seen.generation].filter(of => of < generation - 1);
  return [
    { type: "add", key: `seen:${generation}`, field: actionId, by: 1 },
    ...(seen.generation === generation ? [] : over).map(
      (of): Write => ({ type: "delete", shape: "tally", key: `seen:${of}` }),
    ),
  ];
}

function sumRead(target: string): Read & { readonly type: "record" } {
  return { type: "record", key: `sum:${target}` };
}

function sumWrite({ id, total, keepUntil }: SumTotal): Write {
  const { key } = sumRead(id);
  const put = { type: "put", key, value: String(total) } as const;
  return keepUntil === undefined ? put : { ...put, expireAt: keepUntil };
}

function append(key: string, value: string, at: number, maxLength: number): Write {
  return { type: "append", key, value, at, maxLength };
}
