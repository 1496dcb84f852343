import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPause } from "../../../../lib/storage/background/mod.ts";

/** Longer than the slice of a pause. */
const stepMs = 6;
const [tasks, steps] = [8, 5];

function work(): void {
  for (const began = performance.now(); performance.now() - began < stepMs; );
}

describe("the pauses of a piece of work", () => {
  it("let others in between the steps of several tasks that share them", async () => {
    const pause = createPause();
    let sinceOthers = 0;
    let most = 0;
    let isOver = false;
    const others = (): void => {
      sinceOthers = 0;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    async function task(): Promise<void> {
      for (let step = 0; step < steps; step++) {
        await pause();
        work();
        sinceOthers += 1;
        most = Math.max(most, sinceOthers);
      }
    }
    await Promise.all(Array.from({ length: tasks }, task));
    isOver = true;
    assert.ok(most <= 2 * tasks, `${most} of ${tasks * steps} steps in a row`);
  });
});
