/**
 * The stored key ring, and the life of a key as a function of time.
 *
 * A key is created with the moment from which it signs. Its state follows from the clock alone, so no process has to
 * act at the right moment: **standby** before that moment, **active** while it is the latest started key, **retired**
 * after a later key took over, **gone** once no token that it signed can still be valid, and **revoked** from the moment at
 * which it was ended before that.
 *
 * @module
 */

import { type SignatureAlgorithm, signatureAlgorithms } from "./jose.ts";

/** The time that clients may cache the key set, in seconds. */
export const jwksAgeSecondsMax = 600;
/** Age in ms at which a process reads the ring again before it signs or publishes. */
export const ringAgeMsMax = 60_000;
/** The longest life of a token, in seconds: 366 days. A retired key is kept as long. */
export const tokenTtlSecondsMax = 31_622_400;
/** The most that the clocks of two processes may differ, in seconds: each that serves requests is at most 30 s off. */
export const clockSkewSecondsMax = 60;
/** The time in ms for which a new key is published before it signs: every cache and process has it by then. */
export const standbyMs: number = jwksAgeSecondsMax * 1_000 + ringAgeMsMax + clockSkewSecondsMax * 1_000;
/** The time in ms for which a retired key verifies: as long as the last token that it signed may live. */
export const retentionMs: number = (tokenTtlSecondsMax + clockSkewSecondsMax) * 1_000 + ringAgeMsMax;
/** Most keys of a ring that are not gone: enough to rotate every month. */
export const ringKeysMax = 16;

export interface StoredKey {
  readonly kid: string;
  readonly algorithm: SignatureAlgorithm;
  /** Unix ms from which the key signs. */
  readonly activeFrom: number;
  /** The private JWK, sealed under the master secret and bound to the other members. */
  readonly sealed: string;
  /** Unix ms from which the key verifies nothing, if it was revoked. */
  readonly endedAt?: number;
}

export type KeyState = "standby" | "active" | "retired" | "revoked" | "gone";

/** A key with the moments of its end, in Unix ms; infinite while no later key exists. */
export interface KeyLife {
  readonly key: StoredKey;
  /** The end of verification. */
  readonly goneAt: number;
  /** The end of the last token that the key may have signed. Until then a revoked key stays in the ring. */
  readonly keptUntil: number;
}

/** Computes the lives of the keys, in the order in which they sign. */
export function keyLives(keys: readonly StoredKey[]): readonly KeyLife[] {
  const ordered = keys.toSorted((left, right) => left.activeFrom - right.activeFrom);
  return ordered.map((key, index) => {
    const successor = ordered[index + 1];
    const keptUntil = successor === undefined ? Number.POSITIVE_INFINITY : successor.activeFrom + retentionMs;
    return { key, keptUntil, goneAt: Math.min(keptUntil, key.endedAt ?? keptUntil) };
  });
}

/**
 * Finds the key that signs at `now`: the latest that has started and was not revoked. A process whose clock is behind finds
 * none and takes the earliest.
 */
export function signingLife(lives: readonly KeyLife[], now: number): KeyLife | undefined {
  const usable = lives.filter(({ key }) => key.endedAt === undefined);
  return usable.findLast(({ key }) => key.activeFrom <= now) ?? usable[0];
}

/** Computes the state of a key of the ring at `now`, in Unix ms. */
export function keyState(life: KeyLife, lives: readonly KeyLife[], now: number): KeyState {
  if (life.keptUntil <= now) return "gone";
  if (life.key.endedAt !== undefined) return "revoked";
  if (life === signingLife(lives, now)) return "active";
  return life.key.activeFrom > now ? "standby" : "retired";
}

/** A key of the ring, for operators. */
export interface KeyInfo {
  readonly kid: string;
  readonly algorithm: SignatureAlgorithm;
  readonly state: KeyState;
  /** Unix ms from which the key signs. */
  readonly activeFrom: number;
  /** Unix ms from which it verifies nothing; null while no later key exists. */
  readonly goneAt: number | null;
}

/** Describes a key of the ring at `now`, in Unix ms. */
export function keyInfo(life: KeyLife, lives: readonly KeyLife[], now: number): KeyInfo {
  const { kid, algorithm, activeFrom } = life.key;
  const goneAt = life.goneAt === Number.POSITIVE_INFINITY ? null : life.goneAt;
  return { kid, algorithm, state: keyState(life, lives, now), activeFrom, goneAt };
}

/**
 * Returns the keys of a ring without those of another algorithm that wait: their setting was taken back before they signed. One
 * that is about to start stays, as the clock of another process may be ahead. So do all if none has started: the clock is wrong.
 */
export function withoutStrays(
  lives: readonly KeyLife[],
  algorithm: SignatureAlgorithm,
  now: number,
): readonly StoredKey[] {
  const keys = lives.map(({ key }) => key);
  if (!keys.some(({ activeFrom }) => activeFrom <= now)) return keys;
  const startedBy = now + clockSkewSecondsMax * 1_000;
  return keys.filter(key => key.algorithm === algorithm || key.activeFrom <= startedBy);
}

/** @throws {RangeError} The ring is full. */
export function requireRoom(keys: readonly StoredKey[]): void {
  if (keys.length < ringKeysMax) return;
  throw new RangeError(
    `Cannot rotate: ${keys.length} keys may still be needed, at most ${ringKeysMax} are kept`,
  );
}

export function encodeRing(keys: readonly StoredKey[]): string {
  return JSON.stringify({ format: 1, keys });
}

/**
 * Decodes the keys of a stored ring.
 *
 * @throws {Error} The text is not a ring of this format.
 */
export function decodeRing(text: string): readonly StoredKey[] {
  const ring: unknown = JSON.parse(text);
  const keys = isObject(ring) && ring.format === 1 && Array.isArray(ring.keys) ? ring.keys : [];
  if (keys.length === 0 || !keys.every(isStoredKey)) {
    throw new Error("Cannot read the key ring: its record is not of a known format");
  }
  return keys;
}

function isStoredKey(value: unknown): value is StoredKey {
  return (
    isObject(value) &&
    typeof value.kid === "string" &&
    signatureAlgorithms.some(algorithm => algorithm === value.algorithm) &&
    typeof value.activeFrom === "number" &&
    typeof value.sealed === "string" &&
    (value.endedAt === undefined || typeof value.endedAt === "number")
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
