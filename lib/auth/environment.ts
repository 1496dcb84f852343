/** Clock and randomness, injected so that tests control them. */

/** Returns the current time in Unix ms. */
export type Clock = () => number;

/** Returns `length` unpredictable bytes. */
export type RandomBytes = (length: number) => Uint8Array;

/** Reads the clock of the machine. */
export function systemClock(): number {
  return Date.now();
}

/** Reads the cryptographic generator of the runtime, at most 65,536 bytes at once. */
export function systemRandom(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}
