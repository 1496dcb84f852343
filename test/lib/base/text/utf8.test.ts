import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { bytesPerUnitMax, compareUtf8, utf8Length } from "../../../../lib/base/text/mod.ts";

const units = [
  "a",
  "z",
  "\0",
  "\x7f",
  "\x80",
  "é",
  "\u07ff",
  "\u0800",
  "～",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "𐀀",
  "😀",
  "\u{10ffff}",
];

describe("UTF-8", () => {
  it("lengths and order are those of the encoded bytes", () => {
    const random = createRandom(9);
    const text = () => Array.from({ length: random.integer(5) }, () => random.pick(units)).join("");
    for (let round = 0; round < 50_000; round++) {
      const [a, b] = [text(), text()];
      assert.equal(utf8Length(a), Buffer.byteLength(a));
      assert.equal(
        Math.sign(compareUtf8(a, b)),
        Buffer.compare(Buffer.from(a), Buffer.from(b)),
        JSON.stringify([a, b]),
      );
    }
  });

  it(`has at most ${bytesPerUnitMax} bytes for a unit of a string`, () => {
    const share = (text: string): number => (utf8Length(text) ?? 0) / text.length;
    assert.equal(Math.max(...units.map(share)), bytesPerUnitMax);
  });

  it("has no length for text with a lone surrogate", () => {
    for (const bad of ["\ud800", "\udfff", "a\ud83d", "\ude00\ud83d", "\ud83d\ud83d\ude00"]) {
      assert.equal(utf8Length(bad), undefined, JSON.stringify(bad));
    }
  });
});
