/** Where time and randomness come from. Both are injected, so that tests decide them. */

/** The current time, in Unix ms. */
export type Clock = () => number;

/** `length` unpredictable bytes. */
export type RandomBytes = (length: number) => Uint8Array;

/** The clock of the machine. */
export function systemClock(): number {
  return Date.now();
}

/** Bytes from the cryptographic generator of the runtime. At most 65,536 at once. */
export function systemRandom(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}
