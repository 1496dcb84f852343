/**
 * Names that people search by.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";

/** Folds a name, so that spellings which people take for one name are equal: NFKC, lower case, single spaces. */
export function foldName(name: string): string {
  return name.normalize("NFKC").toLowerCase().trim().replace(/\s+/g, " ");
}

/** Bytes of a digest, which is an exact score. */
const digestBytes = 6;

/** Returns the score of a text in an index. Texts may share a score: the user's own record decides. */
export function textScore(folded: string): number {
  const digest = sha256(new TextEncoder().encode(folded));
  return digest.subarray(0, digestBytes).reduce((score, byte) => score * 256 + byte, 0);
}
