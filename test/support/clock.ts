import type { TestClock } from "../../adapters/conformance/mod.ts";

/** A clock that starts at `start` (Unix ms) and moves only by `advance`. */
export function createTestClock(start: number = 1_750_000_000_000): TestClock {
  let now = start;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
  };
}
