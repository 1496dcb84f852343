/** The sample of people that the analytics of events count. */

import { shardOf } from "../../base/text/mod.ts";

export const peopleMax = 1_000;
/** The hashes of people are below this; a sample that has all of them has everybody. */
export const everybody = 2 ** 32;

/** The hashes of people, the lowest where there are many. */
export class PeopleSample {
  readonly #hashes = new Set<number>();
  /** Hashes from here on are left out. */
  #below = everybody;

  get below(): number {
    return this.#below;
  }

  get hashes(): Iterable<number> {
    return this.#hashes;
  }

  add(userId: string): void {
    const hash = mixed(shardOf(userId, everybody));
    if (hash >= this.#below) return;
    this.#hashes.add(hash);
    if (this.#hashes.size < 2 * peopleMax) return;
    const sorted = [...this.#hashes].sort((a, b) => a - b);
    this.#below = sorted[peopleMax] as number;
    for (const other of sorted.slice(peopleMax)) this.#hashes.delete(other);
  }
}

/** Spreads a hash of similar texts evenly (the finalizer of MurmurHash3). */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
