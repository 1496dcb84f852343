/** What one fan can make a platform keep, within the limits that are on by default. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryLimiter, createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { historyBytesMax } from "../../lib/fans/loyalty/user/stored_state.ts";
import { idempotentRefusalMs } from "../../lib/http/idempotency/idempotency.ts";
import { propertiesBytesMax } from "../../lib/http/requests/validate.ts";
import type { Partition, Store, Write } from "../../lib/storage/mod.ts";
import { createTestClock } from "../support/clock.ts";
import { type Fan, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { assertProblem } from "./_problem.ts";

/** A minute, and the hundredth by which a unit may come back late. */
const minuteMs = 60_600;
const organisation = { "x-platform-org-id": ids.organisation };
/** The stated most of the whole: a full history, marks of ids, answers of ten minutes, and what a fan has anyway. */
const keptBytesMax = historyBytesMax + 4_194_304;

/** The same by the memory of Redis: a full history, the ids of two weeks, and the answers of a day. */
const redisBytesMax = 20 * 1_048_576;
const idsOfWeek = 10_000;
const keysOfDay = 5_000;
const mergePatch = "application/merge-patch+json";

/** Sums the memory of the keys that fit a pattern. */
const memoryScript = `
local sum = 0
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do sum = sum + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0') end
return sum`;

/** Counts the bytes of values and names that the commits of a store leave behind, expired ones apart. */
function createByteCounter(store: Store, now: () => number) {
  const kept = new Map<string, { bytes: number[]; expireAt: number }>();
  const note = (partition: Partition, write: Write): void => {
    const shape = { put: "record", add: "tally", score: "board", unscore: "board", append: "log" } as const;
    const name = `${partition}/${write.type === "delete" ? write.shape : shape[write.type]}/${write.key}`;
    if (write.type === "delete") kept.delete(name);
    if (write.type === "put") {
      const bytes = [Buffer.byteLength(write.value) + name.length];
      kept.set(name, { bytes, expireAt: write.expireAt ?? Number.POSITIVE_INFINITY });
    }
    if (write.type === "add" || write.type === "append") {
      const before = kept.get(name)?.bytes ?? [];
      const bytes = [...before, Buffer.byteLength(write.type === "add" ? write.field : write.value)];
      const most = write.type === "append" ? write.maxLength : bytes.length;
      kept.set(name, { bytes: bytes.slice(-most), expireAt: Number.POSITIVE_INFINITY });
    }
  };
  return {
    store: {
      ...store,
      traits: store.traits,
      read: (partition, queries) => store.read(partition, queries),
      ping: () => store.ping(),
      async commit(partition, batch) {
        const commit = await store.commit(partition, batch);
        if (commit.ok) for (const write of batch.writes) note(partition, write);
        return commit;
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    } satisfies Store,
    /** Sums what is kept under names that contain the text. */
    bytes(text: string = ""): number {
      const alive = [...kept].filter(([name, { expireAt }]) => name.includes(text) && expireAt > now());
      return alive.reduce((sum, [, { bytes }]) => sum + bytes.reduce((a, b) => a + b, 0), 0);
    },
  };
}

async function opened(t: TestContext) {
  const clock = createTestClock();
  const counter = createByteCounter(createMemoryStore({ clock: clock.now }), clock.now);
  const world = await openPlatform(async () => counter.store, {
    clock: clock.now,
    limiter: createMemoryLimiter({ clock: clock.now }),
    localLimiter: createMemoryLimiter({ clock: clock.now }),
    timer: () => () => {},
  });
  t.after(() => world.dispose());
  return { world: { ...world, clock }, counter };
}

/** The largest data that an action may carry. */
function largestData(): Record<string, string> {
  const data: Record<string, string> = {};
  for (let n = 0; n < 8; n++) data[`p${n}`] = "x".repeat(1_000);
  const left = propertiesBytesMax - JSON.stringify({ ...data, last: "" }).length;
  return { ...data, last: "x".repeat(left) };
}

async function actFor(minutes: number, world: TestPlatform, fan: Fan): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    for (let n = 0; n < 120; n++) {
      const body = { action: "rest", actionId: `${minute}-${n}-${"i".repeat(100)}`, data: largestData() };
      assert.equal((await world.call("/api/loyalty/action", { token: fan.token, body })).status, 200);
    }
    world.clock.advance(minuteMs);
  }
}

describe("what one fan can make a platform keep", () => {
  it("is a history of so many bytes, and the whole stays below the stated figure", async t => {
    const { world, counter } = await opened(t);
    const fan = await world.fan("Sam");
    const before = counter.bytes();
    await actFor(18, world, fan);
    const history = counter.bytes("/log/history");
    assert.ok(history <= historyBytesMax, String(history));
    assert.ok(history >= (historyBytesMax * 7) / 8, String(history));
    for (let n = 0; n < 1_000; n++) {
      const headers = { ...organisation, "idempotency-key": `k-${n}` };
      const path = "/v1/api/audience/notifications/none/read";
      const answer = await world.call(path, { method: "POST", token: fan.token, headers });
      assert.equal(answer.status, n % 100 === 99 ? answer.status : 404);
      if (n % 100 === 99) world.clock.advance(minuteMs);
    }
    const whole = counter.bytes() - before;
    assert.ok(whole <= keptBytesMax, String(whole));
    world.clock.advance(idempotentRefusalMs);
    assert.equal(counter.bytes(":idempotency:"), 0);
  });

  it("is read in pages of a mebibyte at most, whose cursors lead through all of it", async t => {
    const { world } = await opened(t);
    const fan = await world.fan("Sam");
    await actFor(3, world, fan);
    await fan.act("prediction", { outcome: "exact" });
    const found: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; pages++) {
      const query = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const { status, json } = await world.call(`/api/loyalty/history?limit=1000${query}`, {
        token: fan.token,
      });
      assert.equal(status, 200);
      found.push(...json.data.map((one: { type: string }) => one.type));
      cursor = json.cursor;
      if (cursor === undefined) break;
    }
    assert.ok(pages >= 2, String(pages));
    assert.ok(found.includes("actionRewarded"));
  });

  it("takes no data of an action beyond its bytes", async t => {
    const { world } = await opened(t);
    const fan = await world.fan("Sam");
    const data = { ...largestData(), one: 1 };
    const answer = await world.call("/api/loyalty/action", {
      token: fan.token,
      body: { action: "rest", data },
    });
    assertProblem(answer, 400, "validation_failed");
    assert.match(answer.text, /Expected at most 8192 bytes of JSON/);
  });

  it("is read so many times a minute by a fan", async t => {
    const { world } = await opened(t);
    const fan = await world.fan("Sam");
    const statuses = new Set<number>();
    for (let n = 0; n < 300; n++) {
      statuses.add((await world.call("/api/loyalty/profile", { token: fan.token })).status);
    }
    assert.deepEqual([...statuses], [200]);
    assertProblem(await world.call("/api/loyalty/history", { token: fan.token }), 429, "rate_limited");
  });

  it("has no ids of profile updates, and no marks of them", async t => {
    const { world, counter } = await opened(t);
    const fan = await world.fan("Sam");
    const put = (body: unknown) =>
      world.call("/api/audience/profile", { method: "PUT", token: fan.token, headers: organisation, body });
    const data = (more: object) => ({ user_id: fan.userId, data: { displayName: "Sam", ...more } });
    for (const [body, pointer] of [
      [data({ updateId: "one" }), "/updateId"],
      [[data({ updateId: "one" })], "/0/data/updateId"],
    ] as const) {
      const answer = await put(body);
      assertProblem(answer, 400, "validation_failed");
      assert.equal(answer.json.errors[0].pointer, pointer);
      assert.match(answer.text, /Only back ends may name it/);
    }
    assert.equal((await put(data({ expectedVersion: 0 }))).status, 200);
    const many = Array.from({ length: 100 }, (_, n) =>
      data({ displayName: `Sam ${n}`, expectedVersion: n + 1 }),
    );
    assert.equal((await put(many)).json.data.summary.succeeded, 100);
    assert.equal(counter.bytes("/record/update:"), 0);
  });

  it("are so many results of actions under idempotency keys", async t => {
    const { world } = await opened(t);
    const fan = await world.fan("Sam");
    const actions = Array.from({ length: 120 }, (_, n) => ({ action: "rest", actionId: `a${n}` }));
    const statuses: number[] = [];
    for (let n = 0; n < 42; n++) {
      const headers = { ...organisation, "idempotency-key": `k-${n}` };
      const answer = await world.call("/api/audience/actions", {
        token: fan.token,
        headers,
        body: { actions },
      });
      statuses.push(answer.status);
      world.clock.advance(minuteMs);
    }
    assert.deepEqual([statuses.indexOf(429), statuses.at(40)], [41, 200]);
    const headers = organisation;
    const plain = await world.call("/api/audience/actions", { token: fan.token, headers, body: { actions } });
    assert.equal(plain.status, 200);
  });
});

describe("what one fan can make Redis keep", { skip: redisAvailable() }, () => {
  it("stays below the stated figure, by the memory that Redis counts", async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    const world = await openPlatform(async clock => createRedisStore({ server: redis.url, clock }));
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    const user = {
      ...{ organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project },
      userId: fan.userId,
    };
    const used = async (pattern: string): Promise<number> =>
      Number(await redis.command("EVAL", memoryScript, "0", pattern));
    const before = await used("*");
    const report = (n: number, data: Readonly<Record<string, string>>): Promise<unknown> =>
      world.platform.loyalty.report(user, {
        ...{ action: "rest", data, isClientReport: true },
        actionId: `${n}-`.padEnd(128, "i"),
      });
    for (let n = 0; n < idsOfWeek; n += 500) {
      // The last reports fill the history with the largest data.
      const data = n < idsOfWeek - 2_000 ? {} : largestData();
      await Promise.all(Array.from({ length: 500 }, (_, of) => report(n + of, data)));
    }
    await assert.rejects(report(idsOfWeek, {}), { code: "rate_limited" });
    const customFields = { goals: 1, shirt: "S" };
    const profile = {
      method: "PATCH",
      token: fan.token,
      headers: { ...organisation, "content-type": mergePatch },
    };
    const patched = await world.call("/v1/api/audience/profile", { ...profile, body: { customFields } });
    assert.equal(patched.status, 200, patched.text);
    const keys = 100;
    for (let n = 0; n < keys; n++) {
      const headers = { ...organisation, "idempotency-key": `${n}`.padEnd(255, "k") };
      const body = { userId: fan.userId, action: "rest", actionId: "0-".padEnd(128, "i") };
      const answer = await world.call("/api/audience/actions", { token: fan.token, headers, body });
      assert.equal(answer.status, 200, answer.text);
    }
    await world.platform.idle();
    const marks = await used("*seen:*");
    const answers = await used("*:idempotency:*");
    const whole = (await used("*")) - before + marks + answers * (keysOfDay / keys - 1);
    t.diagnostic(`${whole} bytes: ids ${2 * marks}, answers ${answers * (keysOfDay / keys)}`);
    assert.ok(whole <= redisBytesMax, String(whole));
    assert.ok(whole >= redisBytesMax / 2, String(whole));
  });
});
