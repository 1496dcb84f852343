import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Batches, whenAll } from "../../../lib/storage/mod.ts";

/** Batches of at most three, which end when the test says so. */
function setup() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const batches = new Batches<number>({
    countOf: () => 3,
    carryOut: async (partition, batch) => {
      begun.push(`${partition}: ${batch.join(" ")}`);
      await new Promise<void>(resolve => {
        ends.push(resolve);
      });
    },
  });
  return { batches, begun, end: () => ends.shift()?.() };
}

const turn = (): Promise<void> => new Promise(setImmediate);

describe("batches", () => {
  it("hold what is added in one turn, in its order, partition by partition", async () => {
    const { batches, begun } = setup();
    batches.add("a", 1);
    batches.add("b", 2);
    batches.add("a", 3);
    assert.deepEqual(begun, []);
    await turn();
    assert.deepEqual(begun, ["a: 1 3", "b: 2"]);
  });

  it("follow one another, of no more than are counted, with what arrives meanwhile", async () => {
    const { batches, begun, end } = setup();
    for (const entry of [1, 2, 3, 4]) batches.add("a", entry);
    await turn();
    batches.add("a", 5);
    end();
    await turn();
    assert.deepEqual(begun, ["a: 1 2 3", "a: 4 5"]);
    end();
    await turn();
    batches.add("a", 6);
    await turn();
    assert.equal(begun.at(-1), "a: 6");
  });

  it("are idle once nothing waits, is under way or was started", async () => {
    const { batches, end } = setup();
    let isIdle = false;
    let finish = (): void => {};
    batches.start(
      () =>
        new Promise(resolve => {
          finish = resolve;
        }),
    );
    batches.add("a", 1);
    const idle = batches.idle().then(() => {
      isIdle = true;
    });
    await turn();
    end();
    await turn();
    assert.equal(isIdle, false);
    finish();
    await idle;
    await batches.idle();
  });
});

describe("an answer of several", () => {
  it("comes once, with the last of them, and is yes where all were", () => {
    for (const [answers, expected] of [
      [[true, true, true], true],
      [[true, false, true], false],
    ] as const) {
      const told: boolean[] = [];
      const tell = whenAll(3, isAll => told.push(isAll));
      tell(answers[0]);
      tell(answers[1]);
      assert.deepEqual(told, []);
      tell(answers[2]);
      assert.deepEqual(told, [expected]);
    }
  });
});
