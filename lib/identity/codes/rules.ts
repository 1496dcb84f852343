/**
 * The rules of codes, as pure decisions of the store.
 *
 * An address has two records: `code`, the live code, and `wrong`, the times of wrong tries. The latter outlives codes, so
 * that a new code brings no new tries.
 *
 * @module
 */

import type { Decision, Stored, Write } from "../../storage/mod.ts";

/** The life of a code, in ms (OWASP ASVS 5.0, 6.5.5). */
export const codeAgeMsMax = 600_000;
/** Tries of one code. */
export const codeTriesMax = 5;
/** Wrong tries of one address within {@linkcode wrongTriesWindowMs}, over all its codes. */
export const wrongTriesMax = 15;
/** The time for which a wrong try counts, in ms. */
export const wrongTriesWindowMs = 86_400_000;

/** The name of the record of a live code. */
export const codeName = "code";
/** The name of the record of wrong tries. */
export const wrongName = "wrong";

/** A stored code. */
export interface CodeRecord {
  /** PHC string, whose salt distinguishes this code from every other. */
  readonly hash: string;
  readonly triesLeft: number;
  /** Unix ms. */
  readonly expireAt: number;
}

/** Both records of an address. */
export type CodeState = readonly [code: Stored | null, wrong: Stored | null];

/** Makes the write that stores a code. */
export function putCode(code: CodeRecord): Write {
  return { type: "put", key: codeName, value: JSON.stringify(code), expireAt: code.expireAt };
}

/**
 * Spends a try before the comparison, so that racers share the tries. Returns the hash to compare with, or null if there
 * is no code or no try left.
 */
export function reserveTry([storedCode, storedWrong]: CodeState, now: number): Decision<string | null> {
  const code = storedCode === null ? null : (JSON.parse(storedCode.value) as CodeRecord);
  const wrong = recentTries(storedWrong, now);
  if (code === null || code.triesLeft < 1 || wrong.length >= wrongTriesMax) {
    return { writes: [], answer: null };
  }
  return {
    writes: [putCode({ ...code, triesLeft: code.triesLeft - 1 }), ...putTries([...wrong, now])],
    answer: code.hash,
  };
}

/**
 * Consumes the code that was compared, and returns the try at `reservedAt`, which was not wrong. Returns true for exactly
 * one of the racers with the right code.
 */
export function consume(
  [storedCode, storedWrong]: CodeState,
  { hash, reservedAt }: { readonly hash: string; readonly reservedAt: number },
): Decision<boolean> {
  const wrong = storedWrong === null ? [] : (JSON.parse(storedWrong.value) as number[]);
  const index = wrong.indexOf(reservedAt);
  const writes: Write[] = index < 0 ? [] : putTries(wrong.toSpliced(index, 1));
  const isLive = storedCode !== null && (JSON.parse(storedCode.value) as CodeRecord).hash === hash;
  if (isLive) writes.push({ type: "delete", shape: "record", key: codeName });
  return { writes, answer: isLive };
}

function recentTries(stored: Stored | null, now: number): number[] {
  const tries = stored === null ? [] : (JSON.parse(stored.value) as number[]);
  return tries.filter(at => at > now - wrongTriesWindowMs);
}

function putTries(tries: readonly number[]): Write[] {
  if (tries.length === 0) return [{ type: "delete", shape: "record", key: wrongName }];
  const expireAt = Math.max(...tries) + wrongTriesWindowMs;
  return [{ type: "put", key: wrongName, value: JSON.stringify(tries), expireAt }];
}
