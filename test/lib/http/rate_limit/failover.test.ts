import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryLimiter } from "../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { Failover } from "../../../../lib/http/rate_limit/failover.ts";
import type { Limiter } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnLimiters } from "../../../support/limiters.ts";
import { createManualTimer, settle } from "../../../support/timer.ts";

/** Longest wait for the limiter, the grace behind it, and the pause after a failure, in ms. */
const [limiterMsMax, lateGraceMs, limiterRetryMs] = [50, 1, 1_000];

const rules = [{ name: "minute", limit: 3, windowMs: 60_000 }];
const spending = { subject: "user:1", rules, onLimiterFailure: "local" } as const;

/** A limiter that can be made to fail or to hang, and a failover over it. */
function opened({ local = true } = {}) {
  const clock = createTestClock();
  const timer = createManualTimer();
  const inner = createMemoryLimiter({ clock: clock.now });
  const state = { is: "well" as "well" | "down" | "slow" | "held", calls: 0, release: (): void => {} };
  const limiter: Limiter = {
    ...inner,
    take: (...args) => {
      state.calls += 1;
      if (state.is === "down") return Promise.reject(new Error("no connection"));
      if (state.is === "slow") return new Promise(() => {});
      if (state.is === "well") return inner.take(...args);
      return new Promise(resolve => {
        state.release = () => resolve(inner.take(...args));
      });
    },
  };
  const reports: string[] = [];
  const failover = new Failover({
    limiter,
    local: local ? createMemoryLimiter({ clock: clock.now }) : null,
    clock: clock.now,
    timer: timer.timer,
    onOutage: reason => reports.push(reason),
    onRecovery: () => reports.push("recovered"),
    onUncounted: () => reports.push("uncounted"),
  });
  return { failover, clock, timer, state, reports };
}

async function allowed(failover: Failover): Promise<boolean | undefined> {
  return (await failover.spend(spending))?.every(verdict => verdict.allowed);
}

describe("counting without the shared limiter", () => {
  it("continues in the process with the whole limit, and is reported once per outage", async () => {
    const { failover, state, reports } = opened();
    state.is = "down";
    const verdicts = [];
    for (let n = 0; n < 5; n++) verdicts.push(await allowed(failover));
    assert.deepEqual(verdicts, [true, true, true, false, false]);
    assert.deepEqual(
      reports.filter(text => text !== "uncounted"),
      ["no connection"],
    );
    assert.equal(reports.filter(text => text === "uncounted").length, 5);
    assert.equal(state.calls, 1);
  });

  it("begins when the limiter takes longer than 50 ms", async () => {
    const { failover, state, clock, timer, reports } = opened();
    state.is = "slow";
    const answer = failover.spend(spending);
    await settle();
    assert.deepEqual(timer.waiting, [limiterMsMax]);
    clock.advance(limiterMsMax);
    await timer.advance(limiterMsMax);
    assert.deepEqual(reports, []);
    await timer.advance(lateGraceMs);
    assert.equal((await answer)?.[0]?.remaining, 2);
    assert.deepEqual(reports, ["no answer within 50 ms", "uncounted"]);
  });

  it("does not begin for an answer that waits behind a turn of the process itself", async () => {
    const { failover, state, clock, timer, reports } = opened();
    state.is = "held";
    const answer = failover.spend(spending);
    clock.advance(10 * limiterMsMax);
    await timer.advance(limiterMsMax);
    state.release();
    assert.equal((await answer)?.[0]?.remaining, 2);
    await timer.advance(10 * limiterMsMax);
    assert.deepEqual([reports, timer.waiting], [[], []]);
  });

  it("is watched by one timer for all requests, each of which has its whole time", async () => {
    const { failover, state, clock, timer, reports } = opened();
    state.is = "slow";
    const first = failover.spend(spending);
    clock.advance(30);
    await timer.advance(30);
    const second = failover.spend(spending);
    assert.equal(timer.waiting.length, 1);
    clock.advance(21);
    await timer.advance(21);
    await first;
    assert.deepEqual(reports, ["no answer within 50 ms", "uncounted"]);
    clock.advance(30);
    await timer.advance(30);
    await second;
    assert.deepEqual(reports.slice(2), ["uncounted"]);
    assert.equal(timer.waiting.length, 0);
  });

  it("ends when one request finds the limiter well again, which is tried once a second", async () => {
    const { failover, clock, state, reports } = opened();
    state.is = "down";
    await failover.spend(spending);
    clock.advance(limiterRetryMs - 1);
    await failover.spend(spending);
    assert.equal(state.calls, 1);
    clock.advance(1);
    await Promise.all([failover.spend(spending), failover.spend(spending)]);
    assert.equal(state.calls, 2);
    state.is = "well";
    clock.advance(limiterRetryMs);
    assert.equal((await failover.spend(spending))?.[0]?.remaining, 2);
    assert.deepEqual(
      reports.filter(text => text !== "uncounted"),
      ["no connection", "recovered"],
    );
    state.is = "down";
    await failover.spend(spending);
    assert.equal(reports.filter(text => text === "no connection").length, 2);
  });

  it("is refused where it was decided that nothing goes uncounted", async () => {
    const { failover, state } = opened();
    state.is = "down";
    for (let n = 0; n < 2; n++) {
      await assert.rejects(
        async () => await failover.spend({ ...spending, onLimiterFailure: "reject" }),
        (error: unknown) => error instanceof AppError && error.code === "storage_unavailable",
      );
    }
  });

  it("waits up to 500 ms where it would be refused, also while others do not wait", async () => {
    const { failover, state, clock, timer } = opened();
    const scarce = { ...spending, onLimiterFailure: "reject" } as const;
    state.is = "slow";
    const impatient = failover.spend(spending);
    clock.advance(limiterMsMax + lateGraceMs);
    await timer.advance(limiterMsMax + lateGraceMs);
    await impatient;
    state.is = "held";
    const late = failover.spend(scarce);
    await settle();
    clock.advance(499);
    await timer.advance(499);
    state.release();
    assert.equal((await late)?.[0]?.allowed, true);
    state.is = "slow";
    const refused = assert.rejects(
      async () => await failover.spend(scarce),
      (error: unknown) => error instanceof AppError && error.code === "storage_unavailable",
    );
    await settle();
    clock.advance(500 + lateGraceMs);
    await timer.advance(500 + lateGraceMs);
    await refused;
  });

  it("admits requests if there is no other limiter", async () => {
    const { failover, state } = opened({ local: false });
    state.is = "down";
    assert.equal(await failover.spend(spending), null);
  });

  it("does not hide a mistake of the caller", async () => {
    const { failover, reports } = opened();
    await assert.rejects(async () => await failover.spend({ ...spending, subject: "" }), RangeError);
    assert.deepEqual(reports, []);
  });
});

describeOnLimiters("counting at the boundary", open => {
  it("lets exactly as many racers pass as the limit says", async t => {
    const clock = createTestClock();
    const limiter = await open(clock.now);
    t.after(() => limiter[Symbol.asyncDispose]());
    const failover = new Failover({
      limiter,
      local: null,
      clock: clock.now,
      // A busy machine may be slower than a deployment would wait for.
      timer: () => () => {},
      onOutage: () => assert.fail("the limiter failed"),
      onRecovery: () => {},
      onUncounted: () => {},
    });
    const many = [{ name: "minute", limit: 100, windowMs: 60_000 }];
    const race = async (): Promise<number> => {
      const verdicts = await Promise.all(
        Array.from({ length: 250 }, () => failover.spend({ ...spending, rules: many })),
      );
      return verdicts.filter(verdict => verdict?.[0]?.allowed).length;
    };
    assert.equal(await race(), 100);
    clock.advance(60_000);
    assert.equal(await race(), 0);
    clock.advance(600);
    assert.equal(await race(), 100);
  });
});
