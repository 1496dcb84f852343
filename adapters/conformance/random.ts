export interface Random {
  /** Returns a float from 0 to 1, exclusive. */
  next(): number;
  /** Returns an integer from 0 to `below`, exclusive. */
  integer(below: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

/** Creates a generator with Mulberry32 (Tommy Ettinger, public domain): 32 bits of state, enough to choose cases. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  function integer(below: number): number {
    return Math.floor(next() * below);
  }
  function pick<T>(items: readonly T[]): T {
    const item = items[integer(items.length)];
    if (item === undefined) throw new RangeError("Cannot pick from an empty list");
    return item;
  }
  return { next, integer, pick, chance: probability => next() < probability };
}
