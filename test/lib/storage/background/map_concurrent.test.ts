import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mapConcurrent } from "../../../../lib/storage/background/mod.ts";

const turn = (): Promise<void> => new Promise(setImmediate);

describe("work that is done side by side", () => {
  it("is begun for so many items at a time, and continues as one is done", async () => {
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const all = mapConcurrent([10, 11, 12, 13], 2, async item => {
      begun.push(item);
      await new Promise<void>(resolve => {
        ends.push(resolve);
      });
      return item;
    });
    assert.deepEqual(begun, [10, 11]);
    ends[1]?.();
    await turn();
    assert.deepEqual(begun, [10, 11, 12]);
    ends[0]?.();
    await turn();
    assert.deepEqual(begun, [10, 11, 12, 13]);
    for (const end of ends) end();
    assert.deepEqual(await all, [10, 11, 12, 13]);
  });

  it("is nothing for no items, and fails with the first error", async () => {
    assert.deepEqual(await mapConcurrent([], 2, () => assert.fail("there is nothing to do")), []);
    const failing = mapConcurrent([1, 2, 3], 1, item =>
      item === 2 ? Promise.reject(new Error(`no ${item}`)) : Promise.resolve(item),
    );
    await assert.rejects(failing, /no 2/);
  });
});
