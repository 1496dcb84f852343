import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Cache, type Loaded, memoize } from "../../../../lib/storage/background/mod.ts";
import { createTestClock } from "../../../support/clock.ts";

/** A cache of values that live for 100 ms, and a loader that resolves when the test says so. */
function setup() {
  const clock = createTestClock();
  const cache = new Cache<string | null>({ entriesMax: 10, maxAgeMs: 100, clock: clock.now });
  const loads: { readonly key: string; readonly settle: (loaded: Loaded<string | null> | Error) => void }[] =
    [];
  const load = (key: string): Promise<Loaded<string | null>> =>
    new Promise((resolve, reject) => {
      loads.push({ key, settle: end => (end instanceof Error ? reject(end) : resolve(end)) });
    });
  return { clock, cache, loads, load };
}

describe("the cache", () => {
  it("holds at most its bound, and what was set last or is read again and again", () => {
    const cache = new Cache<string, number>({ entriesMax: 10 });
    cache.set(-1, "hot");
    for (let key = 0; key < 1_000; key++) {
      cache.set(key, `value ${key}`);
      assert.ok(cache.size <= 10, String(cache.size));
      assert.equal(cache.get(key), `value ${key}`);
      assert.equal(cache.get(-1), "hot");
    }
    assert.equal(cache.get(0), undefined);
  });

  it("returns no value beyond its age, and none beyond a time that it was set with", () => {
    const { clock, cache } = setup();
    cache.set("aged", "a");
    cache.set("until", "b", clock.now() + 10);
    clock.advance(9);
    assert.deepEqual([cache.get("aged"), cache.get("until")], ["a", "b"]);
    clock.advance(1);
    assert.deepEqual([cache.get("aged"), cache.get("until")], ["a", undefined]);
    clock.advance(90);
    assert.equal(cache.get("aged"), undefined);
    assert.equal(cache.get("aged", clock.now() - 1), "a");
  });

  it("shares one load among racing callers, and returns the loaded value without a promise", async () => {
    const { cache, loads, load } = setup();
    const racing = [cache.getOrLoad("a", load), cache.getOrLoad("a", load)];
    loads[0]?.settle({ value: null });
    assert.deepEqual(await Promise.all(racing), [null, null]);
    assert.equal(cache.getOrLoad("a", load), null);
    assert.equal(loads.length, 1);
  });

  it("counts the age from the beginning of the load", async () => {
    const { clock, cache, loads, load } = setup();
    const loading = cache.getOrLoad("a", load);
    clock.advance(60);
    loads[0]?.settle({ value: "x" });
    await loading;
    clock.advance(40);
    assert.equal(cache.get("a"), undefined);
  });

  it("keeps a loaded value until the time that the load gives", async () => {
    const { clock, cache, loads, load } = setup();
    const loading = cache.getOrLoad("a", load);
    loads[0]?.settle({ value: "x", until: clock.now() + 1_000 });
    await loading;
    clock.advance(999);
    assert.equal(cache.get("a"), "x");
  });

  it("keeps no failure", async () => {
    const { cache, loads, load } = setup();
    const loading = cache.getOrLoad("a", load);
    loads[0]?.settle(new Error("down"));
    await assert.rejects(async () => await loading, /down/);
    void cache.getOrLoad("a", load);
    assert.equal(loads.length, 2);
  });

  it("serves the last value for a while if its reload fails", async () => {
    const clock = createTestClock();
    const cache = new Cache<string>({ entriesMax: 10, maxAgeMs: 100, staleMs: 50, clock: clock.now });
    const fail = (): Promise<never> => Promise.reject(new Error("down"));
    cache.set("a", "last");
    clock.advance(149);
    assert.equal(await cache.getOrLoad("a", fail), "last");
    assert.equal(cache.get("a"), undefined);
    clock.advance(1);
    await assert.rejects(async () => await cache.getOrLoad("a", fail), /down/);
  });

  it("keeps the old object while a reload finds the same version", async () => {
    const clock = createTestClock();
    const cache = new Cache<object>({ entriesMax: 10, maxAgeMs: 100, clock: clock.now });
    let version = "1";
    const load = async (): Promise<Loaded<object>> => ({ value: {}, version });
    const first = await cache.getOrLoad("a", load);
    clock.advance(100);
    assert.equal(await cache.getOrLoad("a", load), first);
    version = "2";
    clock.advance(100);
    assert.notEqual(await cache.getOrLoad("a", load), first);
  });

  it("drops the result of a load when the key is set or deleted meanwhile", async () => {
    const { cache, loads, load } = setup();
    const before = cache.getOrLoad("a", load);
    cache.set("a", "newer");
    loads[0]?.settle({ value: "older" });
    assert.equal(await before, "older");
    assert.equal(cache.get("a"), "newer");
    cache.delete("a");
    const stale = cache.getOrLoad("a", load);
    cache.delete("a");
    const fresh = cache.getOrLoad("a", load);
    loads[2]?.settle({ value: "fresh" });
    await fresh;
    loads[1]?.settle({ value: "stale" });
    await stale;
    assert.equal(cache.get("a"), "fresh");
  });
});

describe("a memoized function", () => {
  it("derives a value once for each object", () => {
    const derived: object[] = [];
    const of = memoize((from: object) => {
      derived.push(from);
      return derived.length;
    });
    const [a, b] = [{}, {}];
    assert.deepEqual([of(a), of(b), of(a)], [1, 2, 1]);
  });
});
