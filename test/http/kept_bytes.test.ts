/** What one fan can make a platform keep, within the limits that are on by default. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryLimiter, createMemoryStore } from "../../adapters/memory/mod.ts";
import { idempotentRefusalMs } from "../../lib/http/idempotency/idempotency.ts";
import { propertiesBytesMax } from "../../lib/http/mod.ts";
import { historyBytesMax } from "../../lib/loyalty/user/stored_state.ts";
import type { Partition, Store, Write } from "../../lib/storage/mod.ts";
import { createTestClock } from "../support/clock.ts";
import { type Fan, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { assertProblem } from "./_problem.ts";

/** A minute, and the hundredth by which a unit may come back late. */
const minuteMs = 60_600;
const organisation = { "x-platform-org-id": ids.organisation };
/** The stated most of the whole: a full history, marks of ids, answers of ten minutes, and what a fan has anyway. */
const keptBytesMax = historyBytesMax + 4_194_304;

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
});
