import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Batcher } from "../../../../lib/storage/background/mod.ts";

/** Batches of at most three, which end when the test says so, with each item doubled as its result. */
function setup() {
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const batcher = new Batcher<number, number>({
    batchMax: 3,
    run: async (key, items) => {
      begun.push(`${key}: ${items.join(" ")}`);
      await new Promise<void>((resolve, reject) => {
        ends.push(error => (error === undefined ? resolve() : reject(error)));
      });
      return items.map(item => item * 2);
    },
  });
  return { batcher, begun, end: (error?: Error) => ends.shift()?.(error) };
}

const turn = (): Promise<void> => new Promise(setImmediate);

describe("the batcher", () => {
  it("runs items added in one turn together, in their order, key by key", async () => {
    const { batcher, begun } = setup();
    batcher.push("a", 1);
    batcher.push("b", 2);
    batcher.push("a", 3);
    assert.deepEqual(begun, []);
    await turn();
    assert.deepEqual(begun, ["a: 1 3", "b: 2"]);
  });

  it("runs one batch of a key at a time, and items that arrive meanwhile with the next one", async () => {
    const { batcher, begun, end } = setup();
    for (const item of [1, 2, 3, 4]) batcher.push("a", item);
    await turn();
    batcher.push("a", 5);
    end();
    await turn();
    assert.deepEqual(begun, ["a: 1 2 3", "a: 4 5"]);
    end();
    await turn();
    batcher.push("a", 6);
    await turn();
    assert.equal(begun.at(-1), "a: 6");
  });

  it("resolves each caller with the result of its item", async () => {
    const { batcher, end } = setup();
    const results = Promise.all([batcher.add("a", 1), batcher.add("a", 2)]);
    await turn();
    end();
    assert.deepEqual(await results, [2, 4]);
  });

  it("rejects the callers of a batch that fails, and continues with the next one", async () => {
    const { batcher, end } = setup();
    const failed = [1, 2, 3].map(item => batcher.add("a", item));
    const next = batcher.add("a", 4);
    await turn();
    end(new Error("down"));
    for (const one of failed) await assert.rejects(one, /down/);
    await turn();
    end();
    assert.equal(await next, 8);
  });

  it("leaves it to the caller which of the waiting items may share a batch", async () => {
    const begun: string[] = [];
    const batcher = new Batcher<number>({
      countOf: waiting => Math.max(1, waiting.findIndex(item => item % 2 === 0) + 1),
      run: async (_, items) => void begun.push(items.join(" ")),
    });
    for (const item of [1, 3, 4, 5, 6, 8]) batcher.push("a", item);
    await batcher.idle();
    assert.deepEqual(begun, ["1 3 4", "5 6", "8"]);
  });

  it("is idle once everything added before has run, whatever is added later", async () => {
    const { batcher, end } = setup();
    await batcher.idle();
    batcher.push("a", 1);
    let isIdle = false;
    const idle = batcher.idle().then(() => {
      isIdle = true;
    });
    await turn();
    batcher.push("a", 2);
    assert.equal(isIdle, false);
    end();
    await idle;
  });
});
