/**
 * Board scores that follow from a change of a user.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { addBounded } from "../../../base/text/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import type {
  Gain,
  RecordedScore,
  RecordedTarget,
  RecountedSum,
  ScoreTarget,
  ScoreUpdate,
  TargetQuery,
  UserEarnings,
} from "../../leaderboards/mod.ts";
import { ownValue } from "../config/scope.ts";
import { spaceUserPartition } from "../user/space_user.ts";
import type { RunningSum, UserState } from "../user/state.ts";
import { parseState, readState } from "../user/stored_state.ts";

type SumTarget = Extract<ScoreTarget, { kind: "sum" }>;

/** A running sum that changed. */
export interface ChangedSum extends Pick<SumTarget, "id" | "keepUntil"> {
  /** Its key in the user's state. */
  readonly key: string;
  readonly total: number;
}

/** Length of a sum's key in characters: 80 bits of a hash of its target. */
const keyCharacters = 20;

const keys = new WeakMap<Pick<SumTarget, "id">, string>();

/** Computes the running sums that a gain changes. */
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
    totals.push(keepUntil === undefined ? { id, key, total } : { id, key, total, keepUntil });
  }
  return totals;
}

/** Returns the targets whose sums are kept. */
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
export function keptSums(sums: UserState["sums"], now: number): UserState["sums"] {
  return Object.fromEntries(
    Object.entries(sums).filter(([, [, keepUntil = Number.POSITIVE_INFINITY]]) => keepUntil > now),
  );
}

/** Adds the user's own sums to those that were added up elsewhere. */
export function withSumsBefore(sums: UserState["sums"], added: readonly ChangedSum[]): readonly ChangedSum[] {
  return added.map(sum => ({ ...sum, total: addBounded(sum.total, ownValue(sums, sum.key)?.[0] ?? 0) }));
}

/** Returns the key of a sum in a user's state. */
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
