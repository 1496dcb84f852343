import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryLimiter } from "../../../adapters/memory/limiter.ts";
import { expirySlackMs } from "../../../adapters/redis/keys.ts";
import { createRedisLimiter, createRedisQueue } from "../../../adapters/redis/mod.ts";
import type { LimitRule } from "../../../lib/storage/mod.ts";
import { redisAvailable, sharedRedis, startRedis } from "../../support/redis.ts";
import { calls } from "./calls.ts";
import { freshPrefix, testClock } from "./fixture.ts";

describe("a Redis limiter", { skip: redisAvailable() }, () => {
  it("decides exactly as the one in memory does", async () => {
    const clock = testClock();
    const server = await sharedRedis();
    await using redis = createRedisLimiter({ server: server.url, prefix: freshPrefix(), clock: clock.now });
    await using memory = createMemoryLimiter({ clock: clock.now });
    const rules: LimitRule[] = [
      { name: "a", limit: 7, windowMs: 999 },
      { name: "b", limit: 3, windowMs: 1_000 },
      { name: "c", limit: 1_000_003, windowMs: 86_400_000 },
    ];
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    let refused = 0;
    for (let step = 0; step < 2_000; step++) {
      clock.advance(random(4) === 0 ? random(900) : 0);
      const subject = `s${random(3)}`;
      const some = rules.filter(() => random(3) > 0);
      const cost = 1 + random(2);
      const verdicts = await redis.take(subject, some, cost);
      assert.deepEqual(verdicts, await memory.take(subject, some, cost), `step ${step}`);
      if (verdicts.some(verdict => !verdict.allowed)) refused += 1;
    }
    assert.ok(refused > 200 && refused < 1_800, `${refused} of 2000 were refused`);
  });

  it("keeps nothing for longer than it matters", async () => {
    const server = await startRedis();
    await using limiter = createRedisLimiter({ server: server.url });
    // By the server's clock before and after, so that a slow machine changes nothing.
    const now = async (): Promise<number> => {
      const [seconds, micros] = (await server.command("TIME")) as string[];
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    };
    const before = await now();
    await limiter.take("s", [{ name: "a", limit: 10, windowMs: 10_000 }], 5);
    const after = await now();
    const [key = ""] = (await server.command("KEYS", "*")) as string[];
    const end = Number(await server.command("PEXPIRETIME", key));
    assert.ok(
      end >= before + expirySlackMs + 10_000 && end <= after + expirySlackMs + 10_100,
      `${end - before}`,
    );
    await server.kill();
  });

  it("decides many takes of one time in few calls, each with its own answer", async () => {
    const clock = testClock();
    const server = await startRedis();
    await using redis = createRedisLimiter({ server: server.url, clock: clock.now });
    await using memory = createMemoryLimiter({ clock: clock.now });
    const rules: LimitRule[] = [
      { name: "a", limit: 3, windowMs: 999 },
      { name: "b", limit: 5, windowMs: 60_000 },
    ];
    const takes = Array.from(
      { length: 200 },
      (_, n) => [`s${n % 50}`, rules.slice(n % 2), 1 + (n % 3)] as const,
    );
    await redis.take("other", rules);
    const counted = await calls(server, async () => {
      const verdicts = await Promise.all(takes.map(take => redis.take(...take)));
      assert.deepEqual(verdicts, await Promise.all(takes.map(take => memory.take(...take))));
      assert.ok(verdicts.flat().some(({ allowed }) => !allowed));
    });
    assert.ok((counted.evalsha ?? 0) <= 10, `${counted.evalsha} calls`);
    await server.kill();
  });

  it("counts by the clock of the server, whatever that of the process says", async t => {
    const server = await sharedRedis();
    await using limiter = createRedisLimiter({ server: server.url, prefix: freshPrefix() });
    const once = [{ name: "once", limit: 1, windowMs: 60_000 }];
    assert.equal((await limiter.take("s", once))[0]?.allowed, true);
    const tomorrow = Date.now() + 26 * 3_600_000;
    t.mock.method(Date, "now", () => tomorrow);
    const [refused] = await limiter.take("s", once);
    assert.equal(refused?.allowed, false);
    assert.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= 60_600, `${refused.retryAfterMs}`);
  });

  it("reports a server that is gone", async () => {
    const server = await startRedis();
    await using limiter = createRedisLimiter({ server: server.url });
    const rules = [{ name: "a", limit: 10, windowMs: 1_000 }];
    await limiter.take("s", rules);
    await server.kill();
    await assert.rejects(async () => await limiter.take("s", rules), { code: "storage_unavailable" });
  });
});

describe("a Redis queue", { skip: redisAvailable() }, () => {
  const lease = { consumer: "one", limit: 10, leaseMs: 1_000 };

  it("keeps what it accepted over the end of every client and of the server", async () => {
    const server = await startRedis({ durable: true });
    const first = createRedisQueue({ server: server.url });
    const ids = await first.push("t", ["a", "b"]);
    await first[Symbol.asyncDispose]();
    await server.restart();
    await using second = createRedisQueue({ server: server.url });
    assert.deepEqual(
      (await second.take("t", lease)).map(({ id }) => id),
      ids,
    );
    await server.kill();
  });

  it("leaves nothing pending of what is settled, and forgets consumers whose messages others took over", async () => {
    const clock = testClock();
    const server = await sharedRedis();
    const prefix = freshPrefix();
    await using queue = createRedisQueue({ server: server.url, prefix, clock: clock.now });
    await queue.push("t", ["a", "b", "c"]);
    await queue.take("t", { ...lease, consumer: "dead" });
    clock.advance(1_000);
    const taken = await queue.take("t", { ...lease, consumer: "heir" });
    assert.deepEqual(
      taken.map(({ attempts }) => attempts),
      [2, 2, 2],
    );
    const key = `${prefix}{t}q`;
    const consumers = (await server.command("XINFO", "CONSUMERS", key, "w")) as string[][];
    assert.deepEqual(
      consumers.map(consumer => consumer[1]),
      ["heir"],
    );
    await queue.ack(
      "t",
      taken.map(({ id }) => id),
    );
    assert.deepEqual(((await server.command("XPENDING", key, "w")) as unknown[])[0], 0);
    assert.deepEqual(
      [await server.command("XLEN", key), await server.command("EXISTS", `${prefix}{t}w`)],
      [0, 0],
    );
  });
});
