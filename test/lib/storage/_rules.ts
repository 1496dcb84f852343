import type { Read, Rule } from "../../../lib/storage/mod.ts";

/** The partition of tests that need only one. */
export const home = "p";

/** A rule that counts a record up and answers its new value. */
export function increment(
  key: string = "n",
): Rule<readonly [{ readonly type: "record"; readonly key: string }], number> {
  return {
    reads: [{ type: "record", key }],
    apply([stored]) {
      const next = Number(stored?.value ?? 0) + 1;
      return { writes: [{ type: "put", key, value: String(next) }], answer: next };
    },
  };
}

/** A rule that takes one of a stock by its guard alone, and answers what is left or -1. */
export function take(key: string = "stock"): Rule<readonly Read[], number> {
  return {
    reads: [],
    apply: () => ({
      writes: [{ type: "add", key, field: "left", by: -1, min: 0 }],
      answer: ({ results }) => Number(results[0]),
      refused: () => -1,
    }),
  };
}
