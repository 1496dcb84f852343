import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { retryDelayMs } from "../../../../../lib/fans/loyalty/webhooks/deliveries.ts";

const webhookRetryJitter = 0.2;
const webhookRetryMsMax = 8 * 3_600_000;
const webhookRetryMsMin = 5_000;

describe("the pause before a message is sent again", () => {
  const pause = (attempts: number, id = "m"): number => retryDelayMs({ id, attempts, retryAfterMs: null });

  it("is four times as long each time, up to the longest", () => {
    for (let attempts = 1; attempts < 100; attempts++) {
      const expected = Math.min(webhookRetryMsMax, webhookRetryMsMin * 4 ** (attempts - 1));
      assert.ok(Math.abs(pause(attempts) - expected) <= webhookRetryJitter * expected + 1);
    }
  });

  it("differs from message to message, over the whole range", () => {
    const pauses = Array.from({ length: 1_000 }, (_, n) => pause(1, `message-${n}`));
    const [least, most] = [Math.min(...pauses), Math.max(...pauses)];
    assert.ok(least < webhookRetryMsMin * (1 - 0.9 * webhookRetryJitter), String(least));
    assert.ok(most > webhookRetryMsMin * (1 + 0.9 * webhookRetryJitter), String(most));
    assert.equal(pause(1, "message-1"), pauses[1]);
  });

  it("is never shorter than the service asks for, within the longest", () => {
    assert.equal(retryDelayMs({ id: "m", attempts: 1, retryAfterMs: 60_000 }), 60_000);
    assert.equal(retryDelayMs({ id: "m", attempts: 1, retryAfterMs: 0 }), pause(1));
    assert.equal(
      retryDelayMs({ id: "m", attempts: 1, retryAfterMs: webhookRetryMsMax + 1 }),
      webhookRetryMsMax,
    );
  });
});
