/** Board scores that follow from a change of a user. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isUuid } from "../../auth/crypto/mod.ts";
import { addBounded } from "../../base/text/mod.ts";
import { type Decision, decide, type Store, type Stored, type Write } from "../../storage/mod.ts";
import type { Earning, Gain, RecountedSum, UserEarnings } from "../leaderboards/mod.ts";
import type {
  RecordedScore,
  RecordedTarget,
  ScoreTarget,
  ScoreUpdate,
  TargetQuery,
} from "../leaderboards/scores/score_delivery.ts";
import { readAccountNote, signUpProjectOf } from "../users/mod.ts";
import { ownValue } from "./config/compiled.ts";
import type { LoyaltyServices } from "./services.ts";
import type { HistoryEntry } from "./user/history.ts";
import { earningOf, earningsOf, historyReadMax, parseEntry, readNextRecords } from "./user/read_history.ts";
import {
  type CachedUser,
  emptyState,
  type RunningSum,
  type SpaceUser,
  spaceUserPartition,
  type UserState,
} from "./user/state.ts";
import { parseState, readState } from "./user/stored_state.ts";

type SumTarget = Extract<ScoreTarget, { kind: "sum" }>;

export interface ChangedSum extends Pick<SumTarget, "id"> {
  readonly key: string;
  readonly total: number;
  readonly keepUntil?: number | undefined;
}

/** Length of a sum's key in characters: 80 bits of a hash of its target. */
const keyCharacters = 20;

const keys = new WeakMap<Pick<SumTarget, "id">, string>();

export function changedSums(
  targets: readonly ScoreTarget[],
  sums: UserState["sums"],
  gain: Gain,
): readonly ChangedSum[] {
  const totals: ChangedSum[] = [];
  for (const target of targets) {
    if (target.kind !== "sum") continue;
    const added = target.amount(gain);
    if (added === 0) continue;
    const { id, keepUntil } = target;
    const key = sumKey(target);
    const total = addBounded(ownValue(sums, key)?.[0] ?? 0, added);
    totals.push({ id, key, total, keepUntil });
  }
  return totals;
}

export function knownTargets(
  targets: readonly ScoreTarget[],
  sums: UserState["sums"],
  now: number,
): readonly ScoreTarget[] {
  return targets.filter(target => {
    if (target.kind !== "sum") return true;
    const sum = ownValue(sums, sumKey(target));
    return sum !== undefined && (sum[1] ?? Number.POSITIVE_INFINITY) > now;
  });
}

/** Returns the sums after a change. A new sum drives out those to which nothing is added any more. */
export function withChangedSums(
  sums: UserState["sums"],
  totals: readonly ChangedSum[],
  now: number,
): UserState["sums"] {
  if (totals.length === 0) return sums;
  const isNew = totals.some(({ key }) => !Object.hasOwn(sums, key));
  const after: Record<string, RunningSum> = { ...(isNew ? keptSums(sums, now) : sums) };
  for (const { key, total, keepUntil } of totals) {
    after[key] = keepUntil === undefined ? [total] : [total, keepUntil];
  }
  return after;
}

/** Corrects a running sum to what the user's earnings give; the same state where it is right. */
export function withRecountedSum(
  state: UserState,
  sum: RecountedSum,
  { earnings, now }: { readonly earnings: UserEarnings; readonly now: number },
): UserState {
  const key = sumKey(sum);
  const { [key]: stored, ...others } = state.sums;
  const recounted = sum.sumOf(earnings);
  const { total = 0, keepUntil = Number.POSITIVE_INFINITY } = recounted ?? {};
  const isKept = recounted !== null && keepUntil > now;
  if ((stored?.[0] ?? 0) === (isKept ? total : 0)) return state;
  const kept: RunningSum = recounted?.keepUntil === undefined ? [total] : [total, recounted.keepUntil];
  return {
    ...state,
    sums: isKept ? { ...others, [key]: kept } : others,
    undelivered: state.undelivered.filter(({ target }) => target !== sum.id),
  };
}

/** Leaves out the sums to which nothing is added any more. */
function keptSums(sums: UserState["sums"], now: number): UserState["sums"] {
  return Object.fromEntries(
    Object.entries(sums).filter(([, [, keepUntil = Number.POSITIVE_INFINITY]]) => keepUntil > now),
  );
}

/** Adds the user's own sums to those that were added up elsewhere. */
export function withSumsBefore(sums: UserState["sums"], added: readonly ChangedSum[]): readonly ChangedSum[] {
  return added.map(sum => ({ ...sum, total: addBounded(sum.total, ownValue(sums, sum.key)?.[0] ?? 0) }));
}

export function sumKey(target: Pick<SumTarget, "id">): string {
  const cached = keys.get(target);
  if (cached !== undefined) return cached;
  const key = bytesToHex(sha256(utf8ToBytes(target.id))).slice(0, keyCharacters);
  keys.set(target, key);
  return key;
}

/** Makes updates for the sums that changed, and for the boards that show a metric which changed. */
export function scoreUpdates(
  { changedAt, revision, metrics }: UserState,
  targets: readonly ScoreTarget[],
  { totals, gained }: { readonly totals: readonly ChangedSum[]; readonly gained: Gain["metrics"] },
): readonly ScoreUpdate[] {
  const updates: ScoreUpdate[] = totals.map(({ id, total }) => ({
    target: id,
    score: total,
    at: changedAt,
    asOf: revision,
  }));
  for (const target of targets) {
    if (target.kind !== "total" || !Object.hasOwn(gained, target.metricId)) continue;
    const score = ownValue(metrics, target.metricId) ?? 0;
    updates.push({ target: target.id, score, at: changedAt, asOf: revision });
  }
  return updates;
}

/** Reads the score that a user's record has for a target; null where it says nothing of it. */
export async function readRecordedScore(
  store: Store,
  organisationId: string,
  { projectId, userId, ...target }: RecordedTarget,
): Promise<RecordedScore | null> {
  const [stored] = await store.read(spaceUserPartition({ organisationId, userId }), [readState]);
  const state = stored === null ? null : parseState(stored.value);
  if (state === null || state.mergedInto !== null || state.projectId !== projectId) return null;
  const { metrics, sums, undelivered, changedAt, revision } = state;
  const score =
    target.kind === "total" ? ownValue(metrics, target.metricId) : ownValue(sums, sumKey(target))?.[0];
  if (score === undefined) return null;
  const update = undelivered.find(one => one.target === target.id && one.score === score);
  return { score, at: update?.at ?? changedAt, asOf: revision };
}

/** Returns the query for the targets of an action that counts at a time (Unix ms). */
export function targetQueryOf({ action, data }: Omit<Gain, "metrics">, at: number): TargetQuery {
  const eventId = ownValue(data, "eventId");
  return { action, eventId: typeof eventId === "string" ? eventId : null, at };
}

/** All recorded gains of a user, oldest first, and what is on record at the same instant. */
export interface UserRecords {
  readonly earnings: readonly Earning[];
  /** Null where there is none. */
  readonly state: UserState | null;
  readonly account: Stored | null;
}

/**
 * Decides about a user from the whole history, so that no gain is missed or counted twice, whatever the user does meanwhile.
 * `decideUser` may be called many times. Where it needs something that cannot be had at once, it returns null until `prepare` was
 * called with as many earnings.
 */
export async function decideWithEarnings<A>(
  { store, states }: Pick<LoyaltyServices, "store" | "states">,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  decideUser: (records: UserRecords) => { readonly writes: readonly Write[]; readonly answer: A } | null,
  prepare: (earnings: readonly Earning[]) => Promise<void> = async () => {},
): Promise<A> {
  const partition = spaceUserPartition(user);
  let earnings: readonly Earning[] = [];
  await prepare(earnings);
  for (let cursor: string | undefined; ; ) {
    const outcome = await decide(store, partition, {
      reads: [states.query, readAccountNote, readNextRecords(cursor)] as const,
      idempotent: true,
      apply([stored, account, entries]): Decision<
        { readonly done: A } | { readonly retry: "history to read"; readonly more: readonly HistoryEntry[] }
      > {
        const state = stored === null ? null : states.valueOf(partition, stored);
        const more = entries.map(parseEntry);
        const isWhole =
          more.length < historyReadMax && !more.some(({ grant }) => grant?.inheritance !== undefined);
        const all = more.length === 0 ? earnings : [...earnings, ...more.map(earningOf)];
        const decided = isWhole ? decideUser({ state, account, earnings: all }) : null;
        if (decided === null) return { writes: [], answer: { retry: "history to read", more } };
        return { writes: decided.writes, answer: { done: decided.answer } };
      },
    });
    if ("done" in outcome) return outcome.done;
    earnings = [...earnings, ...(await earningsOf(store, states, user, outcome.more))];
    cursor = outcome.more.at(-1)?.id ?? cursor;
    if (outcome.more.length < historyReadMax) await prepare(earnings);
  }
}

interface Joined {
  readonly state: UserState;
  readonly updates: readonly ScoreUpdate[];
}

/**
 * Gives a user a project, by default the one of the sign-up, which wins over any other. Creates an empty state where there is
 * none. A user who has a project keeps it. The caller registers the user as due before, and delivers the scores after.
 */
export async function joinProject(
  services: Pick<LoyaltyServices, "store" | "clock" | "boards" | "states">,
  user: CachedUser,
  named: string | null,
): Promise<Joined> {
  for (let projectId = named; ; ) {
    const outcome = await replayAndJoin(services, user, projectId);
    if ("done" in outcome) {
      user.projectId = outcome.done.state.projectId;
      return outcome.done;
    }
    projectId = outcome.projectId;
  }
}

type JoinOutcome =
  | { readonly done: Joined }
  /** The user signed up in another project. */
  | { readonly retry: "project unknown"; readonly projectId: string };

async function replayAndJoin(
  services: Pick<LoyaltyServices, "store" | "clock" | "boards" | "states">,
  user: CachedUser,
  projectId: string | null,
): Promise<JoinOutcome> {
  let replayed: ReplayedScores | null = null;
  let replayedCount = 0;
  return await decideWithEarnings<JoinOutcome>(
    services,
    user,
    ({ state: stored, account, earnings }) => {
      const before = stored ?? emptyState(null);
      const signedUpIn = signUpProjectOf(account);
      const isSettled = before.projectId !== null || before.mergedInto !== null;
      if (!isSettled && signedUpIn !== null && signedUpIn !== projectId) {
        return { writes: [], answer: { retry: "project unknown", projectId: signedUpIn } };
      }
      const isDone = stored !== null && (isSettled || projectId === null);
      if (!isDone && earnings.length !== replayedCount) return null;
      const state = isDone ? before : joined(before, projectId, replayed);
      const writes = isDone ? [] : [services.states.put(state)];
      return { writes, answer: { done: { state, updates: user.withoutDelivered(state.undelivered) } } };
    },
    async earnings => {
      if (projectId !== null) replayed = await replayScores(services, projectId, earnings);
      replayedCount = earnings.length;
    },
  );
}

/** The scores of a user on the boards of a project, as the history tells them. */
interface ReplayedScores {
  readonly sums: UserState["sums"];
  readonly scores: readonly Omit<ScoreUpdate, "asOf">[];
  /** Boards that show a metric; their scores are the metrics themselves. */
  readonly totals: readonly {
    readonly id: string;
    readonly metricId: string;
    readonly at: number | undefined;
  }[];
}

function joined(before: UserState, projectId: string | null, replayed: ReplayedScores | null): UserState {
  if (replayed === null) return { ...before, projectId };
  const totals = replayed.totals.flatMap(({ id, metricId, at = before.changedAt }) => {
    const score = ownValue(before.metrics, metricId);
    return score === undefined ? [] : [{ target: id, score, at }];
  });
  const scores = [...replayed.scores, ...totals];
  // A revision of its own, as scores as of the last one may count as delivered.
  const revision = before.revision + (scores.length === 0 ? 0 : 1);
  const updates = scores.map(score => ({ ...score, asOf: revision }));
  const targets = new Set(updates.map(({ target }) => target));
  const undelivered = [...before.undelivered.filter(({ target }) => !targets.has(target)), ...updates];
  return { ...before, revision, projectId, sums: replayed.sums, undelivered };
}

/**
 * Computes what the boards of a project would show, had it been known from the start. Closed seasons are left out, and so are
 * events that were named by an alias, as none was known without the project.
 */
async function replayScores(
  { boards, clock }: Pick<LoyaltyServices, "boards" | "clock">,
  projectId: string,
  earnings: readonly Earning[],
): Promise<ReplayedScores> {
  const now = clock();
  const scores = new Map<string, Omit<ScoreUpdate, "asOf">>();
  const gainedAt = new Map<string, number>();
  let sums: UserState["sums"] = {};
  for (const { gain, at } of earnings) {
    const query = targetQueryOf(gain, at);
    const eventId = query.eventId !== null && isUuid(query.eventId) ? query.eventId : null;
    const found = await boards.targets(projectId, { ...query, eventId });
    const targets = found.filter(
      ({ kind, ...target }) => kind === "total" || !("closesAt" in target) || target.closesAt > now,
    );
    const changed = changedSums(targets, sums, gain);
    sums = withChangedSums(sums, changed, 0);
    for (const { id, total } of changed) scores.set(id, { target: id, score: total, at });
    for (const metricId of Object.keys(gain.metrics)) gainedAt.set(metricId, at);
  }
  const current = await boards.targets(projectId, targetQueryOf({ action: "", data: {} }, now));
  const totals = current.flatMap(target =>
    target.kind === "total"
      ? [{ id: target.id, metricId: target.metricId, at: gainedAt.get(target.metricId) }]
      : [],
  );
  return { sums: keptSums(sums, now), scores: [...scores.values()], totals };
}
