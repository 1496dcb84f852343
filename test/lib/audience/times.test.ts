import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../adapters/conformance/random.ts";
import { isoTime } from "../../../lib/audience/_times.ts";

const timeMax = 8_640_000_000_000_000;
const dayMs = 86_400_000;

describe("times as the audience API writes them", () => {
  it("are what a Date makes of them, before and after 1970 and to the ends of time", () => {
    const random = createRandom(1);
    const some = Array.from(
      { length: 5_000 },
      () => random.integer(2 ** 31) * 2_000 - random.integer(2 ** 31) * 2_500,
    );
    const ends = [
      0,
      -0,
      1,
      -1,
      0.5,
      -0.5,
      1.9,
      -1.9,
      dayMs - 1,
      dayMs,
      -dayMs,
      -dayMs - 1,
      timeMax,
      -timeMax,
      -62_198_755_200_000,
    ];
    for (const at of [...some, ...ends, ...some.map(one => one + 1)]) {
      assert.equal(isoTime(at), new Date(at).toISOString(), String(at));
    }
  });

  it("are refused where a Date has none", () => {
    for (const at of [Number.NaN, Number.POSITIVE_INFINITY, timeMax + 1, -timeMax - 1]) {
      assert.throws(() => isoTime(at), RangeError);
      // And a time of another day is right after it.
      assert.equal(isoTime(timeMax), new Date(timeMax).toISOString());
    }
  });
});
