import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { concurrentHashesDefault, gatedHasher, HashGate } from "../../../../lib/auth/passwords/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { quickHasher } from "./_setup.ts";

const hashesWaitingMax = 64;
const hashWaitMsMax = 2_000;

/** A gate whose timers a test fires, and work that a test finishes. */
class Bench {
  readonly timers = new Map<() => void, number>();
  /** Names of the jobs that have begun. */
  readonly begun: string[] = [];
  readonly #finish = new Map<string, { resolve: (name: string) => void; reject: (error: Error) => void }>();
  readonly gate: HashGate;

  constructor(options: ConstructorParameters<typeof HashGate>[0] = {}) {
    this.gate = new HashGate({
      timer: (callback, delayMs) => {
        this.timers.set(callback, delayMs);
        return () => this.timers.delete(callback);
      },
      ...options,
    });
  }

  async work(name: string): Promise<string> {
    return await this.gate.run(() => {
      this.begun.push(name);
      return new Promise<string>((resolve, reject) => this.#finish.set(name, { resolve, reject }));
    });
  }

  async finish(name: string): Promise<void> {
    this.#finish.get(name)?.resolve(name);
    await settle();
  }

  async fail(name: string): Promise<void> {
    this.#finish.get(name)?.reject(new Error(name));
    await settle();
  }
}

async function settle(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve));
}

function isBusy(error: unknown): boolean {
  return error instanceof AppError && error.code === "busy" && error.retryAfterMs === hashWaitMsMax;
}

describe("the hash gate", () => {
  it("lets two hashes run at once and the others wait in order", async () => {
    assert.equal(concurrentHashesDefault, 2);
    const bench = new Bench();
    const all = ["a", "b", "c", "d"].map(name => bench.work(name));
    await settle();
    assert.deepEqual(bench.begun, ["a", "b"]);
    await bench.finish("b");
    assert.deepEqual(bench.begun, ["a", "b", "c"]);
    await bench.finish("a");
    assert.deepEqual(bench.begun, ["a", "b", "c", "d"]);
    await bench.finish("c");
    await bench.finish("d");
    assert.deepEqual(await Promise.all(all), ["a", "b", "c", "d"]);
  });

  it("takes as many at once as the runtime says, and at least one", async () => {
    const bench = new Bench({ concurrentMax: 3 });
    const all = ["a", "b", "c", "d"].map(name => bench.work(name));
    await settle();
    assert.deepEqual(bench.begun, ["a", "b", "c"]);
    for (const name of ["a", "b", "c", "d"]) await bench.finish(name);
    await Promise.all(all);
    assert.throws(() => new HashGate({ concurrentMax: 0 }), RangeError);
    assert.throws(() => new HashGate({ concurrentMax: Number.NaN }), RangeError);
  });

  it("refuses at once as busy when 64 are waiting", async () => {
    assert.equal(hashesWaitingMax, 64);
    const bench = new Bench({ concurrentMax: 1 });
    const all = Array.from({ length: 65 }, (_, index) => bench.work(`${index}`));
    await assert.rejects(bench.work("one too many"), isBusy);
    for (let index = 0; index < 65; index++) await bench.finish(`${index}`);
    assert.equal((await Promise.all(all)).length, 65);
    assert.ok(!bench.begun.includes("one too many"));
  });

  it("refuses work that waited two seconds as busy, and never starts it", async () => {
    assert.equal(hashWaitMsMax, 2_000);
    const bench = new Bench({ concurrentMax: 1 });
    const first = bench.work("first");
    const late = bench.work("late");
    const next = bench.work("next");
    const [expire] = [...bench.timers];
    assert.equal(expire?.[1], 2_000);
    const refused = assert.rejects(late, isBusy);
    expire?.[0]();
    await refused;
    await bench.finish("first");
    assert.deepEqual(bench.begun, ["first", "next"]);
    await bench.finish("next");
    assert.deepEqual(await Promise.all([first, next]), ["first", "next"]);
  });

  it("starts no timer for work that need not wait, and stops those of work that began", async () => {
    const bench = new Bench({ concurrentMax: 1 });
    const first = bench.work("first");
    assert.equal(bench.timers.size, 0);
    const second = bench.work("second");
    assert.equal(bench.timers.size, 1);
    await bench.finish("first");
    assert.equal(bench.timers.size, 0);
    await bench.finish("second");
    await Promise.all([first, second]);
  });

  it("gives the place of failed work to the next", async () => {
    const bench = new Bench({ concurrentMax: 1 });
    const failing = assert.rejects(bench.work("failing"), /failing/);
    const next = bench.work("next");
    await bench.fail("failing");
    await failing;
    await bench.finish("next");
    assert.equal(await next, "next");
    const throwing = bench.gate.run(() => {
      throw new Error("at once");
    });
    await assert.rejects(throwing, /at once/);
    const last = bench.work("last");
    await settle();
    assert.equal(bench.begun.at(-1), "last");
    await bench.finish("last");
    await last;
  });

  it("stands before hashing and verifying alike", async () => {
    const bench = new Bench({ concurrentMax: 1 });
    const { hasher, asked } = quickHasher();
    const gated = gatedHasher(hasher, bench.gate);
    assert.equal(gated.id, hasher.id);
    const holder = bench.work("holder");
    const hashing = gated.hash("correct horse");
    const verifying = gated.verify("malformed", "correct horse");
    await settle();
    assert.equal(asked.length, 0);
    await bench.finish("holder");
    await holder;
    assert.equal((await hasher.verify(await hashing, "correct horse")).ok, true);
    assert.equal((await verifying).ok, false);
  });
});
