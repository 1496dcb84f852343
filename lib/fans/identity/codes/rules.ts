/**
 * The rules of codes, as pure decisions of the store.
 *
 * A code has tries for the holder who asked for it, a login or a network, and as many for everybody else together. So nobody
 * spends the tries of others, and a new code has new ones.
 *
 * @module
 */

import type { Decision, Stored, Write } from "../../../storage/mod.ts";

/** The life of a code, in ms (OWASP ASVS 5.0, 6.5.5). */
export const codeAgeMsMax = 600_000;
/** Tries of one code: those of its holder, and those of all others together. */
export const codeTriesMax = 5;

/** The name of the record of a live code. */
export const codeName = "code";

/** A stored code. */
export interface CodeRecord {
  /** PHC string, whose salt distinguishes this code from every other. */
  readonly hash: string;
  /** Names who asked for the code. */
  readonly holder: string;
  /** Tries of the holder, and of all others. */
  readonly triesLeft: readonly [own: number, others: number];
  /** Unix ms. */
  readonly expireAt: number;
}

/** The record of an address. */
export type CodeState = readonly [code: Stored | null];

/** Makes the write that stores a code. */
export function putCode(code: CodeRecord): Write {
  return { type: "put", key: codeName, value: JSON.stringify(code), expireAt: code.expireAt };
}

/**
 * Spends a try before the comparison, so that racers share the tries. Returns the hash to compare with, or null if there
 * is no code or no try left.
 */
export function reserveTry([stored]: CodeState, holder: string): Decision<string | null> {
  const code = stored === null ? null : (JSON.parse(stored.value) as CodeRecord);
  const index = code?.holder === holder ? 0 : 1;
  const left = code?.triesLeft[index] ?? 0;
  if (code === null || left < 1) return { writes: [], answer: null };
  const triesLeft = code.triesLeft.with(index, left - 1) as [number, number];
  return { writes: [putCode({ ...code, triesLeft })], answer: code.hash };
}

/** Consumes the code that was compared. Returns true for exactly one of the racers with the right code. */
export function consume([stored]: CodeState, hash: string): Decision<boolean> {
  const isLive = stored !== null && (JSON.parse(stored.value) as CodeRecord).hash === hash;
  return { writes: isLive ? [{ type: "delete", shape: "record", key: codeName }] : [], answer: isLive };
}
