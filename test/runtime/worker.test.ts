import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type After, startWorker } from "../../runtime/_worker.ts";

/** A timer that fires when told to. */
function manualTimer(): { readonly after: After; readonly set: number; fire(): void } {
  let waiting: (() => void) | null = null;
  let set = 0;
  return {
    after(_ms, act) {
      set += 1;
      waiting = act;
      return () => {
        waiting = null;
      };
    },
    get set() {
      return set;
    },
    fire() {
      const act = waiting;
      waiting = null;
      act?.();
    },
  };
}

async function turn(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve));
}

describe("a worker", () => {
  it("works after each pause, one round at a time", async () => {
    const timer = manualTimer();
    let rounds = 0;
    let finish = (): void => {};
    const work = (): Promise<void> => {
      rounds += 1;
      return new Promise(resolve => {
        finish = resolve;
      });
    };
    const worker = startWorker({ work, onFailed: error => assert.fail(String(error)), after: timer.after });
    assert.equal(rounds, 0);
    timer.fire();
    assert.equal(rounds, 1);
    timer.fire();
    assert.equal(rounds, 1);
    finish();
    await turn();
    timer.fire();
    assert.equal(rounds, 2);
    finish();
    await worker.stop();
  });

  it("goes on after a round that failed, and tells of it", async () => {
    const timer = manualTimer();
    const failures: unknown[] = [];
    const worker = startWorker({
      work: () => Promise.reject(new Error("no store")),
      onFailed: error => failures.push(error),
      after: timer.after,
    });
    timer.fire();
    await turn();
    timer.fire();
    await turn();
    assert.equal(failures.length, 2);
    await worker.stop();
  });

  it("stops after the round under way, and begins no other", async () => {
    const timer = manualTimer();
    const events: string[] = [];
    let finish = (): void => {};
    const worker = startWorker({
      work: () =>
        new Promise(resolve => {
          finish = () => {
            events.push("round over");
            resolve(null);
          };
        }),
      onFailed: error => assert.fail(String(error)),
      after: timer.after,
    });
    timer.fire();
    const stopped = worker.stop().then(() => events.push("stopped"));
    await turn();
    assert.deepEqual(events, []);
    finish();
    await stopped;
    assert.deepEqual(events, ["round over", "stopped"]);
    assert.equal(timer.set, 1);
  });
});
