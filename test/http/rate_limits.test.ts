/** The limits of the audience API and of reported actions, on both limiters. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryLimiter, createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Timer } from "../../lib/http/mod.ts";
import { createPlatform, type RateLimits, seedPlatform, silentLogger } from "../../lib/mod.ts";
import { createMetrics } from "../../lib/platform/metrics/mod.ts";
import type { Limiter } from "../../lib/storage/mod.ts";
import { createTestClock } from "../support/clock.ts";
import { describeOnLimiters, type OpenLimiter } from "../support/limiters.ts";
import {
  type Answer,
  type Fan,
  ids,
  openPlatform,
  seed,
  type TestPlatform,
  testSecret,
} from "../support/platform.ts";
import { createManualTimer, settle } from "../support/timer.ts";
import { newKey, operationsOf } from "./_operations.ts";
import { assertProblem } from "./_problem.ts";

const noRead = "/v1/api/audience/notifications/none/read";
const organisation = { "x-platform-org-id": ids.organisation };
const keyPaths = /^(\/v1)?\/api\/audience\//;

/** A platform in memory whose limiter is another one. Both have the same clock. */
async function opened(
  t: TestContext,
  open: OpenLimiter,
  {
    rateLimits,
    wrap = it => it,
    // A busy machine may be slower than a deployment would wait for.
    timer = () => () => {},
  }: { rateLimits?: RateLimits; wrap?: (limiter: Limiter) => Limiter; timer?: Timer } = {},
): Promise<TestPlatform> {
  const clock = createTestClock();
  const limiter = await open(clock.now);
  const world = await openPlatform(async () => createMemoryStore({ clock: clock.now }), {
    clock: clock.now,
    limiter: wrap(limiter),
    localLimiter: createMemoryLimiter({ clock: clock.now }),
    metrics: createMetrics(),
    http: { servesMetrics: true, clock: clock.now },
    timer,
    identity: { limits: "off" },
    ...(rateLimits === undefined ? {} : { rateLimits }),
  });
  t.after(async () => {
    await world.dispose();
    await limiter[Symbol.asyncDispose]();
  });
  return { ...world, clock };
}

function markRead(world: TestPlatform, { token }: Pick<Fan, "token">, more = {}): Promise<Answer> {
  return world.call(noRead, { method: "POST", token, headers: { ...organisation, ...more } });
}

async function statuses(asks: readonly Promise<Answer>[]): Promise<Readonly<Record<number, number>>> {
  const counted: Record<number, number> = {};
  for (const { status } of await Promise.all(asks)) counted[status] = (counted[status] ?? 0) + 1;
  return counted;
}

function times<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

describeOnLimiters("the limits of the audience API", open => {
  it("let a user ask exactly 100 times a minute, however many requests race", async t => {
    const world = await opened(t, open);
    const [one, two] = [await world.fan("Sam"), await world.fan("Kim")];
    assert.deepEqual(await statuses(times(150, () => markRead(world, one))), { 404: 100, 429: 50 });
    const other = await markRead(world, two);
    assert.equal(other.headers.get("ratelimit-policy"), '"minute";q=100;w=60');
    assert.equal(other.headers.get("ratelimit"), '"minute";r=99;t=61');
    const refused = await markRead(world, one);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("ratelimit"), '"minute";r=0;t=61');
    assert.equal(refused.headers.get("retry-after"), "61");
    assert.equal(refused.json.type, "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert.deepEqual(refused.json["violated-policies"], ["minute"]);
    world.clock.advance(59_999);
    assert.deepEqual(await statuses(times(3, () => markRead(world, one))), { 429: 3 });
    world.clock.advance(601);
    assert.deepEqual(await statuses(times(150, () => markRead(world, one))), { 404: 100, 429: 50 });
  });

  it("are those of the key for back ends, and reported with every answer", async t => {
    const world = await opened(t, open, { rateLimits: { private: { limit: 7, windowMs: 60_000 } } });
    const key = await newKey(world);
    const headers = { ...organisation, "x-api-key": key.key, "x-api-secret": key.secret };
    const operations = (await operationsOf(world)).filter(
      ({ path, scheme }) => keyPaths.test(path) && scheme === "apiKey",
    );
    if (operations.length === 0) return t.skip("no route of the audience API is for back ends alone");
    const target = operations[0] ?? assert.fail();
    const ask = (): Promise<Answer> =>
      world.call(target.path.replace(/\{\w+\}/g, "none"), {
        method: target.method,
        headers,
        ...(target.hasBody ? { body: 1 } : {}),
      });
    const answers = await Promise.all(times(9, ask));
    assert.equal(answers.filter(({ status }) => status === 429).length, 2);
    for (const { headers: described } of answers) {
      assert.equal(described.get("ratelimit-policy"), '"minute";q=7;w=60');
      assert.match(described.get("ratelimit") ?? "", /^"minute";r=[0-6];t=\d+$/);
    }
  });

  it("have further policies by name", async t => {
    const world = await opened(t, open, { rateLimits: { "public-burst": "on", "public-hour": "on" } });
    const fan = await world.fan("Sam");
    assert.deepEqual(await statuses(times(30, () => markRead(world, fan))), { 404: 20, 429: 10 });
    const refused = await markRead(world, fan);
    const policy = '"minute";q=100;w=60, "hour";q=1000;w=3600, "second";q=20;w=1';
    assert.equal(refused.headers.get("ratelimit-policy"), policy);
    assert.deepEqual(refused.json["violated-policies"], ["second"]);
  });

  it("are off where a deployment says so", async t => {
    const world = await opened(t, open, { rateLimits: "off" });
    const fan = await world.fan("Sam");
    const asks = times(130, () => markRead(world, fan));
    assert.deepEqual(await statuses(asks), { 404: 130 });
    assert.equal((await markRead(world, fan)).headers.get("ratelimit"), null);
    assert.deepEqual(await statuses(times(130, () => fan.act("rest"))), { 200: 130 });
  });

  it("are never paid by a user for what others send in the user's name", async t => {
    const world = await opened(t, open);
    const fan = await world.fan("Sam");
    const forged = { token: `${fan.token.slice(0, -8)}AAAAAAAA` };
    const from = { method: "POST", headers: organisation, address: "192.0.2.7" };
    const asks = times(70, () => world.call(noRead, { ...from, ...forged }));
    assert.deepEqual(await statuses(asks), { 401: 60, 429: 10 });
    const elsewhere = await world.call(noRead, { ...from, ...forged, address: "192.0.2.8" });
    assert.equal(elsewhere.status, 401);
    assert.equal(elsewhere.headers.get("ratelimit-policy"), '"failures";q=60;w=60');
    // A header that names another organisation is 403, and costs nobody anything.
    const mixed = { "x-platform-org-id": ids.otherOrganisation };
    assert.deepEqual(await statuses(times(20, () => markRead(world, fan, mixed))), { 403: 20 });
    const right = await world.call(noRead, { ...from, token: fan.token });
    assert.deepEqual([right.status, right.headers.get("ratelimit")], [404, '"minute";r=99;t=61']);
  });

  it("are not paid by a network for requests that bring no credentials, or half of an API key", async t => {
    const world = await opened(t, open);
    const { key, secret } = await newKey(world);
    const at = "/v1/api/audience/internal/profiles?user_ids=a";
    const from = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
      world.call(at, { headers: { ...organisation, ...headers }, address: "192.0.2.9" });
    for (const headers of [{}, { "x-api-key": key }, { "x-api-secret": secret }] as const) {
      assert.deepEqual(await statuses(times(70, () => from(headers))), { 401: 70 });
      assertProblem(await from(headers), 401, "missing_api_key");
    }
    const wrong = times(70, () => from({ "x-api-key": key, "x-api-secret": "guess" }));
    assert.deepEqual(await statuses(wrong), { 401: 60, 429: 10 });
  });

  it("let a user report 120 actions a minute, apart from other requests", async t => {
    const world = await opened(t, open, { rateLimits: { public: { limit: 120, windowMs: 60_000 } } });
    const fan = await world.fan("Sam");
    assert.deepEqual(await statuses(times(130, () => fan.act("rest"))), { 200: 120, 429: 10 });
    assert.equal((await markRead(world, fan)).headers.get("ratelimit"), '"minute";r=119;t=61');
    assert.equal((await world.call("/api/loyalty/profile", { token: fan.token })).status, 200);
  });

  it("count the actions that a user reports at once on the path for batches one by one, and not those of back ends", async t => {
    const world = await opened(t, open);
    const fan = await world.fan("Sam");
    const report = (count: number, headers = {}): Promise<Answer> =>
      world.call("/api/audience/actions", {
        ...("x-api-key" in headers ? {} : { token: fan.token }),
        headers: { ...organisation, ...headers },
        body: Array.from({ length: count }, () => ({ user_id: fan.userId, data: { action: "rest" } })),
      });
    assertProblem(await report(121), 413, "payload_too_large");
    const taken = await report(100);
    assert.deepEqual([taken.status, taken.headers.get("ratelimit")], [200, '"minute";r=98;t=61']);
    const refused = await report(21);
    assertProblem(refused, 429, "rate_limited");
    assert.equal(refused.headers.get("retry-after"), "61");
    assert.deepEqual(await statuses(times(30, () => fan.act("rest"))), { 200: 20, 429: 10 });
    const { key, secret } = await newKey(world);
    const many = await report(1_000, { "x-api-key": key, "x-api-secret": secret });
    assert.equal(many.status, 202, many.text);
  });

  it("cost one call of the limiter for each request", async t => {
    let calls = 0;
    const world = await opened(t, open, {
      rateLimits: { "public-burst": "on", "public-hour": "on" },
      wrap: limiter => ({
        take: (...args) => {
          calls += 1;
          return limiter.take(...args);
        },
        reset: (...args) => limiter.reset(...args),
        [Symbol.asyncDispose]: async () => {},
      }),
    });
    const fan = await world.fan("Sam");
    await Promise.all(times(10, () => markRead(world, fan)));
    assert.equal(calls, 10);
  });

  it("do not refuse redemptions because the limiter takes 499 ms", async t => {
    const time = createManualTimer();
    let answer: (() => void) | null = null;
    const world = await opened(t, open, {
      timer: time.timer,
      wrap: limiter => ({
        async take(...args) {
          await new Promise<void>(resolve => {
            answer = resolve;
          });
          return await limiter.take(...args);
        },
        reset: (...args) => limiter.reset(...args),
        [Symbol.asyncDispose]: async () => {},
      }),
    });
    const { token } = await world.fan("Sam");
    const redeemed = world.call("/v1/api/audience/products/none/redeem", {
      token,
      headers: organisation,
      body: {},
    });
    while (answer === null) await settle();
    world.clock.advance(499);
    await time.advance(499);
    (answer as () => void)();
    assertProblem(await redeemed, 404, "not_found");
  });

  it("are counted by the process while the limiter is down, which the metrics report", async t => {
    const world = await opened(t, open, {
      wrap: limiter => ({
        take: () => Promise.reject(new Error("no connection")),
        reset: (...args) => limiter.reset(...args),
        [Symbol.asyncDispose]: async () => {},
      }),
    });
    const fan = await world.fan("Sam");
    assert.deepEqual(await statuses(times(150, () => markRead(world, fan))), { 404: 100, 429: 50 });
    assert.match((await world.call("/metrics")).text, /^grandstand_rate_limiter_fallbacks_total 150$/m);
  });
});

describe("a platform without Redis", () => {
  it("counts by a monotonic clock, so that a step of the system's clock neither frees nor blocks anybody", async t => {
    const store = createMemoryStore();
    await seedPlatform(store, seed);
    const platform = await createPlatform({
      store,
      secret: testSecret,
      defaultSpaceId: ids.space,
      logger: silentLogger,
    });
    t.after(() => platform.close());
    const guess = async (address: string): Promise<number> => {
      const query = new URLSearchParams({
        ...{ projectId: ids.project, strategy: "simplified", provider: "noLogin" },
        externalId: "x".repeat(32),
      });
      const request = new Request(`http://club.example/v1/user?${query}`);
      return (await platform.fetch(request, { address })).status;
    };
    const now = Date.now();
    const wall = t.mock.method(Date, "now", () => now);
    for (let attempt = 0; attempt < 30; attempt++) assert.equal(await guess("192.0.2.1"), 404);
    assert.equal(await guess("192.0.2.1"), 429);
    wall.mock.mockImplementation(() => now + 3_600_000);
    assert.equal(await guess("192.0.2.1"), 429, "an hour ahead");
    assert.equal(await guess("192.0.2.2"), 404);
    wall.mock.mockImplementation(() => now - 3_600_000);
    assert.equal(await guess("192.0.2.1"), 429, "an hour behind");
    assert.equal(await guess("192.0.2.2"), 404);
  });
});

describe("the document", () => {
  it("documents the limits and the idempotency keys of every route of the audience API", async () => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    const { json } = await world.call("/openapi.json");
    let found = 0;
    for (const [path, methods] of Object.entries<Record<string, { parameters: { name: string }[] }>>(
      json.paths,
    )) {
      if (!keyPaths.test(path)) continue;
      for (const [method, operation] of Object.entries(methods)) {
        const described = JSON.stringify(operation);
        assert.ok(described.includes('"429"') && described.includes("RateLimitPolicy"), `${method} ${path}`);
        const hasKey = operation.parameters.some(({ name }) => name === "Idempotency-Key");
        assert.equal(hasKey, method === "post" && !path.endsWith("/import"), `${method} ${path}`);
        if (path.endsWith("/redeem")) assert.ok(described.includes('"503"'), path);
        found += 1;
      }
    }
    assert.ok(found > 0);
    await world.dispose();
  });
});
