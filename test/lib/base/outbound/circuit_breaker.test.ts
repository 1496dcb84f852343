import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { AppError, type ErrorCode } from "../../../../lib/base/errors/mod.ts";
import { CircuitBreaker } from "../../../../lib/base/outbound/outbound.ts";
import { createTestClock } from "../../../support/clock.ts";
import { hasCode } from "../../auth/_setup.ts";

const breakerFailuresMax = 5;
const providerRetryMs = 5_000;

describe("a circuit breaker", () => {
  let clock: ReturnType<typeof createTestClock>;
  let breaker: CircuitBreaker;
  let asked: number;
  beforeEach(() => {
    clock = createTestClock();
    breaker = new CircuitBreaker(clock.now);
    asked = 0;
  });

  function answer(): Promise<string> {
    return breaker.run(async () => {
      asked += 1;
      return "answer";
    });
  }
  async function fail(code: ErrorCode = "provider_unavailable"): Promise<void> {
    const failing = breaker.run(async () => {
      asked += 1;
      throw new AppError(code, "Cannot answer");
    });
    await assert.rejects(failing, hasCode(code));
  }
  async function failTimes(times: number): Promise<void> {
    for (let failure = 0; failure < times; failure++) await fail();
  }
  async function isOpen(): Promise<boolean> {
    const before = asked;
    await assert.rejects(answer(), hasCode("provider_unavailable"));
    return asked === before;
  }

  it("asks on until too many failures came in a row", async () => {
    await failTimes(breakerFailuresMax - 1);
    assert.equal(await answer(), "answer");
    await failTimes(breakerFailuresMax - 1);
    assert.equal(await answer(), "answer");
    await failTimes(breakerFailuresMax);
    assert.ok(await isOpen());
  });
  it("counts answers without sense and unforeseen errors, but no refusals", async () => {
    for (let failure = 1; failure < breakerFailuresMax; failure++) await fail("provider_error");
    const broken = breaker.run(() => Promise.reject(new TypeError("broken")));
    await assert.rejects(broken, TypeError);
    assert.ok(await isOpen());
    breaker = new CircuitBreaker(clock.now);
    for (let refusal = 0; refusal < 2 * breakerFailuresMax; refusal++) await fail("social_token_rejected");
    assert.equal(await answer(), "answer");
  });
  it("lets one try for all after a while, and closes when that succeeds", async () => {
    await failTimes(breakerFailuresMax);
    clock.advance(providerRetryMs - 1);
    assert.ok(await isOpen());
    clock.advance(1);
    let succeed: (value: string) => void = assert.fail;
    const trial = breaker.run(() => new Promise<string>(resolve => (succeed = resolve)));
    assert.ok(await isOpen(), "others do not wait for the trial");
    succeed("back");
    assert.equal(await trial, "back");
    assert.equal(await answer(), "answer");
  });
  it("stays open when the trial fails", async () => {
    await failTimes(breakerFailuresMax);
    clock.advance(providerRetryMs);
    await fail();
    assert.ok(await isOpen());
    clock.advance(providerRetryMs);
    assert.equal(await answer(), "answer");
  });
});
