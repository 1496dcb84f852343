import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedCache } from "../../../lib/storage/mod.ts";

describe("a bounded cache", () => {
  it("never holds more than its bound, and always what was written last", () => {
    const cache = new BoundedCache<string, number>(10);
    for (let key = 0; key < 1_000; key++) {
      cache.set(key, `value ${key}`);
      assert.ok(cache.size <= 10, String(cache.size));
      for (let recent = Math.max(0, key - 4); recent <= key; recent++) {
        assert.equal(cache.get(recent), `value ${recent}`);
      }
    }
    assert.equal(cache.get(0), undefined);
  });

  it("keeps what is read again and again", () => {
    const cache = new BoundedCache<string, number>(10);
    cache.set(-1, "kept");
    for (let key = 0; key < 1_000; key++) {
      cache.set(key, "other");
      assert.equal(cache.get(-1), "kept", String(key));
      assert.ok(cache.size <= 10);
    }
  });

  it("has one value per key", () => {
    const cache = new BoundedCache<number>(4);
    for (let round = 0; round < 10; round++) {
      cache.set("a", round);
      cache.set(`other ${round}`, round);
      assert.equal(cache.get("a"), round);
    }
    assert.ok(cache.size <= 4);
  });

  it("forgets a key in whichever generation it is, and no other", () => {
    const cache = new BoundedCache<number>(4);
    for (const [value, key] of ["elder", "other", "young"].entries()) cache.set(key, value);
    cache.delete("elder");
    cache.delete("young");
    assert.deepEqual(
      ["elder", "other", "young"].map(key => cache.get(key)),
      [undefined, 1, undefined],
    );
    assert.equal(cache.size, 1);
  });
});
