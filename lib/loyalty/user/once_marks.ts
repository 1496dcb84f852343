/**
 * Ids of what was reported or given, so that what is repeated has no second effect.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { onceMark, type Read, type ReadTally, storageLimits, type Write } from "../../storage/mod.ts";
import type { UserState } from "./state.ts";

/** Ids are remembered by generations of this length: for one to two of them, 7 to 14 days. */
export const onceGenerationMs: number = 7 * 24 * 60 * 60 * 1_000;
/** How far the clocks of processes may differ without a repeated id counting twice at the turn of a generation. */
export const clockSkewMsMax = 60_000;

/** An id that a happening takes effect under once. Ids of actions and of grants have nothing to do with each other. */
export interface OnceId {
  readonly of: "action" | "grant";
  readonly id: string;
}

const names = { action: "seen", grant: "granted" } as const;
const kinds = ["action", "grant"] as const;

/** Reads the marks of an id: of each generation in which one may be. */
export function onceMarkReads({ of, id }: OnceId, now: number): Read[] {
  return markKeys(of, now).map(key => onceMark(key, id));
}

/** Reads the marks of actions: of each generation in which they may be. */
export function actionMarkReads(ids: readonly string[], now: number): readonly ReadTally[] {
  return markKeys("action", now).map(key => ({ type: "tally", key, fields: ids }));
}

/**
 * What is counted of the ids seen, after one more.
 *
 * @throws {AppError} `rate_limited`: there are as many as can be remembered.
 */
export function nextOnceMarks({ onceMarks }: UserState, now: number): UserState["onceMarks"] {
  const generation = generationOf(now);
  const count = onceMarks.generation === generation ? onceMarks.count : 0;
  if (count >= storageLimits.tallyFieldsMax) {
    const message = `Cannot accept more than ${storageLimits.tallyFieldsMax} actions with an id in a week`;
    throw new AppError("rate_limited", message, { retryAfterMs: onceGenerationMs });
  }
  return { generation, count: count + 1 };
}

/** Marks the id as seen. The first mark of a generation removes the generations that are over. */
export function onceMarkWrites({ onceMarks }: UserState, { of, id }: OnceId, now: number): readonly Write[] {
  const generation = generationOf(now);
  const mark: Write = { type: "add", key: keyOf(of, generation), field: id, by: 1 };
  if (onceMarks.generation === generation) return [mark];
  const over = [onceMarks.generation - 1, onceMarks.generation].filter(one => one < generation - 1);
  const removals = over.flatMap(one =>
    kinds.map((kind): Write => ({ type: "delete", shape: "tally", key: keyOf(kind, one) })),
  );
  return [mark, ...removals];
}

function keyOf(of: OnceId["of"], generation: number): string {
  return `${names[of]}:${generation}`;
}

function generationOf(now: number): number {
  return Math.floor(now / onceGenerationMs);
}

interface MarkKeys {
  readonly of: OnceId["of"];
  readonly generation: number;
  readonly next: number;
  readonly keys: readonly string[];
}

/** The keys that were asked for last: nearly everybody in a week asks for the same. */
let lastKeys: MarkKeys | undefined;

/**
 * The keys of the generations in which a mark may be: this one and the one before, and the next one while a process whose
 * clock is ahead may already be in it.
 */
function markKeys(of: OnceId["of"], now: number): readonly string[] {
  const generation = generationOf(now);
  const next = generationOf(now + clockSkewMsMax);
  if (lastKeys?.of === of && lastKeys.generation === generation && lastKeys.next === next)
    return lastKeys.keys;
  const keys = [keyOf(of, generation - 1), keyOf(of, generation)];
  if (next !== generation) keys.unshift(keyOf(of, next));
  lastKeys = { of, generation, next, keys };
  return keys;
}
