import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemRandom } from "../../../../../lib/auth/crypto/mod.ts";
import { randomCode } from "../../../../../lib/fans/identity/codes/codes.ts";

/** A generator that gives these 32-bit numbers in turn. */
function numbers(...values: number[]): (length: number) => Uint8Array {
  const left = [...values];
  return length => {
    assert.equal(length, 4);
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, left.shift() ?? 0);
    return bytes;
  };
}

describe("random codes", () => {
  it("keep leading zeros", () => {
    assert.equal(randomCode(numbers(0)), "00000000");
    assert.equal(randomCode(numbers(42)), "00000042");
  });

  it("draw again beyond the last whole multiple of 10^8, which would favour low codes", () => {
    assert.equal(randomCode(numbers(4_199_999_999)), "99999999");
    assert.equal(randomCode(numbers(4_200_000_000, 7)), "00000007");
    assert.equal(randomCode(numbers(4_294_967_295, 4_250_000_000, 8)), "00000008");
  });

  it("throw if the generator is stuck", () => {
    assert.throws(() => randomCode(() => new Uint8Array(4).fill(255)), /generator/);
  });

  it("read the bytes that they were given, wherever those lie in their buffer", () => {
    assert.equal(
      randomCode(() => Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 9).subarray(4)),
      "00000009",
    );
  });

  it("spread evenly over the first digit", () => {
    const counts = new Array<number>(10).fill(0);
    for (let draw = 0; draw < 20_000; draw++) {
      const digit = Number(randomCode(systemRandom).charAt(0));
      counts[digit] = (counts[digit] ?? 0) + 1;
    }
    // Six standard deviations of a fair digit: 42.4 each.
    for (const count of counts) assert.ok(Math.abs(count - 2_000) < 255, `${counts}`);
  });
});
