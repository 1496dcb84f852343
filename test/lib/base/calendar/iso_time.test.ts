import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { isoTime } from "../../../../lib/base/calendar/mod.ts";

const timeMax = 8_640_000_000_000_000;
const dayMs = 86_400_000;

describe("isoTime", () => {
  it("formats as Date does, before and after 1970 and up to the last instant", () => {
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

  it("throws where Date has no such instant", () => {
    for (const at of [Number.NaN, Number.POSITIVE_INFINITY, timeMax + 1, -timeMax - 1]) {
      assert.throws(() => isoTime(at), RangeError);
      // And a time of another day is right after it.
      assert.equal(isoTime(timeMax), new Date(timeMax).toISOString());
    }
  });
});
