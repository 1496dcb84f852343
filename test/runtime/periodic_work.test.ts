import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type StartTimer, startPeriodicWork } from "../../runtime/commands/serve.ts";

/** A timer that the test fires. */
function manualTimer(): { readonly start: StartTimer; readonly set: number; fire(): void } {
  let waiting: (() => void) | null = null;
  let set = 0;
  return {
    start(_ms, act) {
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

describe("periodic work", () => {
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
    const repeated = startPeriodicWork({
      work,
      onFailed: error => assert.fail(String(error)),
      startTimer: timer.start,
    });
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
    await repeated.stop();
  });

  it("continues after a failed round, and reports it", async () => {
    const timer = manualTimer();
    const failures: unknown[] = [];
    const repeated = startPeriodicWork({
      work: () => Promise.reject(new Error("no store")),
      onFailed: error => failures.push(error),
      startTimer: timer.start,
    });
    timer.fire();
    await turn();
    timer.fire();
    await turn();
    assert.equal(failures.length, 2);
    await repeated.stop();
  });

  it("stops after the round under way, and begins no other", async () => {
    const timer = manualTimer();
    const events: string[] = [];
    let finish = (): void => {};
    const repeated = startPeriodicWork({
      work: () =>
        new Promise(resolve => {
          finish = () => {
            events.push("round over");
            resolve(null);
          };
        }),
      onFailed: error => assert.fail(String(error)),
      startTimer: timer.start,
    });
    timer.fire();
    const stopped = repeated.stop().then(() => events.push("stopped"));
    await turn();
    assert.deepEqual(events, []);
    finish();
    await stopped;
    assert.deepEqual(events, ["round over", "stopped"]);
    assert.equal(timer.set, 1);
  });
});
