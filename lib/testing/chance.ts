/** Repeatable randomness: the same seed gives the same ids. */

import { MasterSecret, type RandomBytes } from "../auth/mod.ts";

/** Creates a generator of bytes (sfc32). For tests alone, as its bytes are predictable. */
export function seededRandom(seed: number): RandomBytes {
  let [a, b, c, counter] = [seed | 0, (seed / 2 ** 32) | 0, 0x9e37_79b9, 1];
  function next(): number {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 24;
  }
  // The first numbers of similar seeds are similar.
  for (let round = 0; round < 16; round++) next();
  return length => Uint8Array.from({ length }, next);
}

/** Creates a master secret from random bytes. */
export function testSecret(random: RandomBytes): MasterSecret {
  return new MasterSecret(Array.from(random(48), byte => String.fromCharCode(0x21 + (byte % 94))).join(""));
}
