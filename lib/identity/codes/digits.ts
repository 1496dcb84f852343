/** Codes that people type. */

import type { RandomBytes } from "../../auth/mod.ts";

/** Digits of a code. */
export const codeDigits = 8;

const codeCount = 10 ** codeDigits;
/** The largest multiple of `codeCount` in 32 bits: what lies beyond would make low codes likelier. */
const fairMax = Math.floor(2 ** 32 / codeCount) * codeCount;
/** Most draws for one code. One in 45 draws is unfair, so that a working generator never comes near it. */
const drawsMax = 64;

/**
 * A random code, each of the 10^8 equally likely.
 *
 * @throws {Error} The generator gives the same unusable numbers again and again.
 */
export function randomCode(random: RandomBytes): string {
  for (let draw = 0; draw < drawsMax; draw++) {
    const bytes = random(4);
    const number = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0);
    if (number < fairMax) return String(number % codeCount).padStart(codeDigits, "0");
  }
  throw new Error("Cannot make a code: the random generator does not work");
}
