import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareStates } from "../../../../../lib/fans/loyalty/engine/replay.ts";
import { emptyState, type UserState } from "../../../../../lib/fans/loyalty/user/state.ts";

const differencesMax = 1_000;

describe("the comparison of two states", () => {
  const withMetrics = (count: number): UserState => ({
    ...emptyState(null),
    metrics: Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n])),
  });

  it("lists each difference with its pointer and both values", () => {
    const [one, two] = [withMetrics(2), { ...withMetrics(1), inventory: { "a/b": ["c"] } }];
    assert.deepEqual(compareStates(one, two), [
      { pointer: "/metrics/m1", a: 1, b: null },
      { pointer: "/inventory/a~1b", a: null, b: ["c"] },
    ]);
  });

  it(`lists at most ${differencesMax} differences`, () => {
    const found = (count: number): number => compareStates(withMetrics(count), emptyState(null)).length;
    assert.equal(found(differencesMax - 1), differencesMax - 1);
    assert.equal(found(differencesMax), differencesMax);
    assert.equal(found(differencesMax + 1), differencesMax);
  });
});
