/**
 * What a code's record says and how tries change it. Pure, so that the store can decide by it.
 *
 * Two records belong to an address: `code`, the live one, and `wrong`, when tries were spent, which outlives codes so
 * that asking for new ones buys no new tries.
 *
 * @module
 */

import type { Decision, Stored, Write } from "../../storage/mod.ts";

/** How long a code can be redeemed, in ms (OWASP ASVS 5.0, 6.5.5). */
export const codeAgeMsMax = 600_000;
/** Tries of one code. */
export const codeTriesMax = 5;
/** Wrong tries of one address within {@linkcode wrongTriesWindowMs}, over all its codes. */
export const wrongTriesMax = 15;
/** How long a wrong try counts, in ms. */
export const wrongTriesWindowMs = 86_400_000;

/** The name of the record of a live code. */
export const codeName = "code";
/** The name of the record of an address' wrong tries. */
export const wrongName = "wrong";

/** A code as it is stored. */
export interface CodeRecord {
  /** PHC string with a salt of its own, which therefore also tells this code from every other. */
  readonly hash: string;
  readonly triesLeft: number;
  /** Unix ms. */
  readonly expireAt: number;
}

/** Both records of an address, as read. */
export type CodeState = readonly [code: Stored | null, wrong: Stored | null];

/** The write that stores a code. */
export function putCode(code: CodeRecord): Write {
  return { type: "put", key: codeName, value: JSON.stringify(code), expireAt: code.expireAt };
}

/**
 * Spends a try before anything is compared, so that no number of racers gets more tries than one. Answers the hash to
 * compare with, or null where there is nothing to try.
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
 * Consumes the code that was compared, and takes back the try at `reservedAt`, which was no wrong one. Answers whether the
 * code was still there: of racers with the right code, whether this is the one.
 */
export function consume(
  [storedCode, storedWrong]: CodeState,
  { hash, reservedAt }: { readonly hash: string; readonly reservedAt: number },
): Decision<boolean> {
  const wrong = storedWrong === null ? [] : (JSON.parse(storedWrong.value) as number[]);
  const own = wrong.indexOf(reservedAt);
  const writes: Write[] = own < 0 ? [] : putTries(wrong.toSpliced(own, 1));
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
