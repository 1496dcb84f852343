/**
 * Ids of what was reported or given, so that what is repeated has no second effect.
 *
 * @module
 */

import { AppError } from "../errors/mod.ts";
import { type Read, tallyFieldsMax, unseen, type Write } from "../storage/mod.ts";
import type { UserState } from "./state.ts";

/** Ids are remembered by generations of this length: for one to two of them, 7 to 14 days. */
export const seenGenerationMs: number = 7 * 24 * 60 * 60 * 1_000;
/** How far the clocks of processes may differ without a repeated id counting twice at the turn of a generation. */
export const clockSkewMsMax = 60_000;

/** An id that a happening takes effect under once. Ids of actions and of grants have nothing to do with each other. */
export interface OnceId {
  readonly of: "action" | "grant";
  readonly id: string;
}

const keys = { action: "seen", grant: "granted" } as const;

/** Reads the marks of an id: of each generation in which one may be. */
export function seenReads(once: OnceId, now: number): readonly Read[] {
  return seenGenerations(now).map(generation => unseen(`${keys[once.of]}:${generation}`, once.id));
}

/**
 * What is counted of the ids seen, after one more.
 *
 * @throws {AppError} `rate_limited`: there are as many as can be remembered.
 */
export function seenAfter({ seen }: UserState, now: number): UserState["seen"] {
  const generation = generationOf(now);
  const count = seen.generation === generation ? seen.count : 0;
  if (count >= tallyFieldsMax) {
    const message = `Cannot accept more than ${tallyFieldsMax} actions with an id in a week`;
    throw new AppError("rate_limited", message, { retryAfterMs: seenGenerationMs });
  }
  return { generation, count: count + 1 };
}

/** Marks the id as seen. The first mark of a generation removes the generations that are over. */
export function seenWrites({ seen }: UserState, { of, id }: OnceId, now: number): readonly Write[] {
  const generation = generationOf(now);
  const over = [seen.generation - 1, seen.generation].filter(one => one < generation - 1);
  const removals = (seen.generation === generation ? [] : over).flatMap(one =>
    Object.values(keys).map((key): Write => ({ type: "delete", shape: "tally", key: `${key}:${one}` })),
  );
  return [{ type: "add", key: `${keys[of]}:${generation}`, field: id, by: 1 }, ...removals];
}

function generationOf(now: number): number {
  return Math.floor(now / seenGenerationMs);
}

/**
 * The generations in which a mark may be: this one and the one before, and the next one while a process whose clock is
 * ahead may already be in it.
 */
function seenGenerations(now: number): number[] {
  const generation = generationOf(now);
  const next = generationOf(now + clockSkewMsMax);
  return next === generation ? [generation, generation - 1] : [generation, generation - 1, next];
}
