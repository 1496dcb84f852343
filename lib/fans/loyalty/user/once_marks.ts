/**
 * Marks of the ids of actions and grants, so that a repeated one has no second effect. Marks are kept in generations of a week, and
 * so for 7 to 14 days.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { onceMark, type Read, type ReadTally, storageLimits, type Write } from "../../../storage/mod.ts";
import type { UserState } from "./state.ts";

/** Length of a generation of marks, in ms. */
export const onceGenerationMs: number = 7 * 24 * 60 * 60 * 1_000;
/** The clocks of processes may differ by this without a repeated id counting twice at the turn of a generation. */
const clockSkewMsMax = 60_000;

/** An id under which a command takes effect once. Ids of actions and of grants are independent. */
export interface OnceId {
  readonly of: "action" | "grant";
  readonly id: string;
}

const keyPrefixes = { action: "seen", grant: "granted" } as const;

/** Returns the reads of an id's marks, in each generation that may have one. */
export function onceMarkReads({ of, id }: OnceId, now: number): Read[] {
  return generationsAt(now).map(generation => onceMark(keyOf(of, generation), id));
}

/** Returns the reads of the marks of actions, in each generation that may have them. */
export function actionMarkReads(ids: readonly string[], now: number): readonly ReadTally[] {
  return generationsAt(now).map(generation => ({
    type: "tally",
    key: keyOf("action", generation),
    fields: ids,
  }));
}

/**
 * Returns the count of marks after another one.
 *
 * @throws {AppError} `rate_limited`: the generation is full.
 */
export function nextOnceMarks({ onceMarks }: UserState, now: number): UserState["onceMarks"] {
  const generation = generationOf(now);
  const count = onceMarks.generation === generation ? onceMarks.count : 0;
  if (count >= storageLimits.tallyFieldsMax) {
    const message = `Cannot accept more than ${storageLimits.tallyFieldsMax} actions with an id in a week`;
    throw new AppError("rate_limited", message, {
      retryAfterMs: onceGenerationMs - (now % onceGenerationMs),
    });
  }
  return { generation, count: count + 1 };
}

/** Returns the writes that mark an id. The first mark of a generation removes the generations that are over. */
export function onceMarkWrites({ onceMarks }: UserState, { of, id }: OnceId, now: number): readonly Write[] {
  const generation = generationOf(now);
  const mark: Write = { type: "add", key: keyOf(of, generation), field: id, by: 1 };
  if (onceMarks.generation === generation) return [mark];
  const over = [onceMarks.generation - 1, onceMarks.generation].filter(one => one < generation - 1);
  const removals = over.flatMap((one): Write[] => [
    { type: "delete", shape: "tally", key: keyOf("action", one) },
    { type: "delete", shape: "tally", key: keyOf("grant", one) },
  ]);
  return [mark, ...removals];
}

/** Returns the keys of all marks that a user's partition may have. */
export function onceMarkKeys({ onceMarks: { generation } }: Pick<UserState, "onceMarks">): readonly string[] {
  return [generation - 1, generation].flatMap(one => [keyOf("action", one), keyOf("grant", one)]);
}

function keyOf(of: OnceId["of"], generation: number): string {
  return `${keyPrefixes[of]}:${generation}`;
}

function generationOf(now: number): number {
  return Math.floor(now / onceGenerationMs);
}

/** Includes the next generation while a process with a faster clock may be in it already. */
function generationsAt(now: number): readonly number[] {
  const generation = generationOf(now);
  const next = generationOf(now + clockSkewMsMax);
  return next === generation ? [generation - 1, generation] : [next, generation - 1, generation];
}
