import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../adapters/conformance/random.ts";
import { createMemoryQueue, queueDepthMax } from "../../../adapters/memory/queue.ts";
import { createTestClock } from "../../support/clock.ts";

describe("the memory queue", () => {
  it("needs no options: its leases end by the clock of the process", async t => {
    t.mock.timers.enable({ apis: ["Date"], now: 1_000 });
    const queue = createMemoryQueue();
    await queue.push("t", ["x"]);
    const lease = { consumer: "c", limit: 1, leaseMs: 10 };
    assert.equal((await queue.take("t", lease)).length, 1);
    assert.equal((await queue.take("t", lease)).length, 0);
    t.mock.timers.setTime(1_010);
    assert.equal((await queue.take("t", lease)).length, 1);
  });

  it("holds 100,000 messages per topic by default", async () => {
    const queue = createMemoryQueue({ clock: createTestClock().now });
    const thousand = Array.from({ length: 1_000 }, () => "x");
    for (let count = 0; count < queueDepthMax; count += 1_000) await queue.push("t", thousand);
    await assert.rejects(queue.push("t", ["x"]), { code: "busy" });
    assert.equal(await queue.depth("t"), queueDepthMax);
  });

  it("equals a plain model in a random run of takes, acks and leases", async () => {
    const random = createRandom(11);
    const clock = createTestClock();
    const queue = createMemoryQueue({ clock: clock.now });
    let model: { id: string; until: number; attempts: number }[] = [];
    for (let step = 0; step < 3_000; step++) {
      clock.advance(random.integer(20));
      if (random.chance(0.4)) {
        const ids = await queue.push(
          "t",
          Array.from({ length: random.integer(4) }, () => "x"),
        );
        model.push(...ids.map(id => ({ id, until: 0, attempts: 0 })));
      } else if (random.chance(0.3) && model.length > 0) {
        const { id } = random.pick(model);
        await queue.ack("t", [id]);
        model = model.filter(each => each.id !== id);
      } else {
        const [limit, leaseMs] = [1 + random.integer(4), 1 + random.integer(100)];
        const now = clock.now();
        const ended = model
          .filter(({ attempts, until }) => attempts > 0 && until <= now)
          .sort((a, b) => a.until - b.until || Number(a.id) - Number(b.id))
          .slice(0, limit)
          .sort((a, b) => Number(a.id) - Number(b.id));
        const fresh = model.filter(({ attempts }) => attempts === 0).slice(0, limit - ended.length);
        const expected = [...ended, ...fresh];
        for (const each of expected) {
          each.until = now + leaseMs;
          each.attempts += 1;
        }
        const taken = await queue.take("t", { consumer: "c", limit, leaseMs });
        assert.deepEqual(
          taken.map(({ id, attempts }) => [id, attempts]),
          expected.map(({ id, attempts }) => [id, attempts]),
          `step ${step}`,
        );
      }
      assert.equal(await queue.depth("t"), model.length, `step ${step}`);
    }
  });
});
