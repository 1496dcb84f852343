/** The limits of identity operations as clients meet them. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import type { PlatformOptions } from "../../lib/mod.ts";
import type { Limiter } from "../../lib/storage/mod.ts";
import { sampleSize } from "../support/full.ts";
import { openMemoryLimiter, openRedisLimiter } from "../support/limiters.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnDatabases } from "../support/stores.ts";

const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
const anonymous = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };
const here = "192.0.2.1";
const elsewhere = "198.51.100.1";

describeOnDatabases("the limits on identity operations", (open, on) => {
  async function limited(
    test: (world: TestPlatform) => Promise<void>,
    { identity = {}, rateLimits = {} }: Pick<PlatformOptions, "identity" | "rateLimits"> = {},
  ): Promise<void> {
    let now = (): number => 0;
    const openLimiter = on === "Redis" ? openRedisLimiter : openMemoryLimiter;
    const limiter: Limiter = await openLimiter(() => now());
    const world = await openPlatform(open, { limiter, identity, rateLimits });
    now = world.clock.now;
    try {
      await test(world);
    } finally {
      await world.dispose();
      await limiter[Symbol.asyncDispose]();
    }
  }

  const create = (world: TestPlatform, address: string): Promise<Answer> =>
    world.call("/v1/user", { address, body: { ...noLogin, data: { username: "Sam" } } });
  const register = (world: TestPlatform, address: string, deviceId: string): Promise<Answer> =>
    world.call("/v1/user", { address, body: { ...anonymous, data: { deviceId } } });
  const fetchProfile = (world: TestPlatform, address: string, externalId: string): Promise<Answer> =>
    world.call(`/v1/user?${new URLSearchParams({ ...noLogin, externalId })}`, { address });

  /** Asserts a refusal for the window of the limit, which is counted in hundredths, and returns the seconds to wait. */
  function assertLimited(answer: Answer, windowSeconds: number): number {
    assert.equal(answer.status, 429, answer.text);
    const retryAfter = Number(answer.headers.get("retry-after"));
    assert.ok(retryAfter >= windowSeconds && retryAfter <= windowSeconds * 1.01 + 1, `${retryAfter}`);
    assert.deepEqual(answer.json, {
      result: 0,
      message: "Cannot accept another request of this kind yet",
      data: { code: "rate_limited", retryable: true, action: "retry", retryAfter },
    });
    return retryAfter;
  }

  const thirtyAnHour = { limit: 30, windowMs: 3_600_000 };
  const fewSignUps = {
    rateLimits: { "sign-up-no-login": thirtyAnHour, "sign-up-anonymous": thirtyAnHour },
  };

  it("let a venue of 5,000 people behind one address in within ten minutes", () =>
    limited(async world => {
      const perBatch = 50;
      const batches = sampleSize(5_000, 1_500) / perBatch;
      for (let batch = 0; batch < batches; batch++) {
        const answers = await Promise.all(Array.from({ length: perBatch }, () => create(world, here)));
        assert.ok(answers.every(({ status }) => status === 200));
        world.clock.advance(600_000 / (5_000 / perBatch));
      }
    }));

  it("let exactly the configured number of simultaneous creations through, and the next after the time they name", () =>
    limited(async world => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => create(world, here)));
      assert.equal(answers.filter(({ status }) => status === 200).length, 30);
      assert.equal(answers.filter(({ status }) => status === 429).length, 20);
      const retryAfter = assertLimited(await create(world, here), 3_600);
      assert.equal((await create(world, elsewhere)).status, 200);
      world.clock.advance(3_600_000 - 1);
      assert.equal((await create(world, here)).status, 429);
      world.clock.advance((retryAfter - 3_600) * 1_000 + 1);
      assert.equal((await create(world, here)).status, 200);
    }, fewSignUps));

  it("count anonymous registrations by network, known devices included", () =>
    limited(async world => {
      const deviceId = randomUUID();
      for (let count = 0; count < 30; count++) {
        assert.equal((await register(world, `2001:db8::${count}`, deviceId)).status, 201);
      }
      assertLimited(await register(world, "2001:db8::ffff", deviceId), 3_600);
      assert.equal((await register(world, "2001:db8:0:1::", deviceId)).status, 201);
    }, fewSignUps));

  it("count misses alone, so that people behind one address never use up each other's look-ups", () =>
    limited(async world => {
      const { externalId } = (await create(world, here)).json.data;
      for (let count = 0; count < 100; count++) {
        assert.equal((await fetchProfile(world, here, externalId)).status, 200);
      }
      for (let count = 0; count < 15; count++) {
        assert.equal((await fetchProfile(world, here, "a".repeat(32))).status, 404);
        const data = { externalId: "b".repeat(32), deviceId: randomUUID() };
        const body = { ...anonymous, data };
        const login = await world.call("/v1/user/login", { method: "PUT", address: here, body });
        assert.equal(login.status, 401);
      }
      assertLimited(await fetchProfile(world, here, "a".repeat(32)), 60);
      const body = { ...noLogin, externalId: "a".repeat(32), data: { appProfile: {} } };
      assertLimited(await world.call("/v1/user", { method: "PUT", address: here, body }), 60);
      assert.equal((await fetchProfile(world, here, externalId)).status, 200);
      assert.equal((await fetchProfile(world, elsewhere, "a".repeat(32))).status, 404);
    }));

  it("answer every refused request alike, byte for byte", () =>
    limited(async world => {
      await Promise.all(Array.from({ length: 30 }, () => create(world, here)));
      const answers = await Promise.all(Array.from({ length: 5 }, () => create(world, here)));
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    }, fewSignUps));

  it("are those that the platform is given, or none", async () => {
    await limited(
      async world => {
        assert.equal((await create(world, here)).status, 200);
        assert.equal((await create(world, here)).status, 429);
        for (let count = 0; count < 650; count++) {
          assert.equal((await register(world, here, randomUUID())).status, 201);
        }
      },
      {
        rateLimits: { "sign-up-anonymous": "off" },
        identity: {
          limits: {
            noLoginCreate: {
              counts: [{ by: "address", rules: [{ name: "day", limit: 1, windowMs: 86_400_000 }] }],
              onLimiterFailure: "allow",
            },
          },
        },
      },
    );
    await limited(
      async world => {
        const answers = await Promise.all(Array.from({ length: 50 }, () => create(world, here)));
        assert.ok(answers.every(({ status }) => status === 200));
      },
      { identity: { limits: "off" }, ...fewSignUps },
    );
  });

  it("are none on a platform without a limiter", async () => {
    const world = await openPlatform(open);
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(world, here)));
    assert.ok(answers.every(({ status }) => status === 200));
    await world.dispose();
  });

  it("let people in while the limiter of volumes is down", async () => {
    const down = (): Promise<never> => Promise.reject(new Error("connection refused"));
    const limiter: Limiter = { take: down, reset: down, [Symbol.asyncDispose]: async () => {} };
    const world = await openPlatform(open, { limiter });
    assert.equal((await create(world, here)).status, 200);
    const body = {
      projectId: ids.project,
      strategy: "email",
      provider: "managedPool",
      data: { email: "sam@example.org", password: "correct horse battery" },
    };
    const login = await world.call("/v1/user/login", { method: "PUT", address: here, body });
    assert.deepEqual([login.status, login.json.data.code], [503, "storage_unavailable"]);
    assert.ok(login.headers.get("retry-after"));
    await world.dispose();
  });
});
