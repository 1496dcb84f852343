import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryQueue } from "../../../adapters/memory/mod.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { describeOnEveryStore, type OpenStore } from "../../support/stores.ts";
import { until } from "../../support/until.ts";
import { backEnd, pointsOf } from "./_back_end.ts";

const single = "/v1/api/audience/internal/actions";
const bulk = `${single}/bulk`;
const exact = { action: "prediction", data: { outcome: "exact" } };

async function withWorld(
  open: OpenStore,
  use: (world: TestPlatform, work: () => { stop(): Promise<void> }) => Promise<void>,
  depthMax?: number,
): Promise<void> {
  const queue = createMemoryQueue({ clock: Date.now, ...(depthMax === undefined ? {} : { depthMax }) });
  const world = await openPlatform(open, { queue });
  try {
    await use(world, () => world.platform.startActionWorker());
  } finally {
    await world.dispose();
    await queue[Symbol.asyncDispose]();
  }
}

describeOnEveryStore("actions of back ends", open => {
  it("are accepted once they are queued and applied by a worker", () =>
    withWorld(open, async (world, work) => {
      const call = await backEnd(world);
      const one = await call(single, { body: { userId: "fan", ...exact } });
      assert.equal(one.status, 202);
      assert.match(one.json.eventId, /^evt_[0-9a-f-]{36}$/);
      assert.equal(one.json.processed, false);
      assert.deepEqual(one.json.data, { actionId: one.json.eventId, status: "queued" });
      assert.equal(await pointsOf(world, "fan"), 0);
      const worker = work();
      await until("the action has taken effect", async () => (await pointsOf(world, "fan")) === 3);
      const two = await call(single, { body: { userId: "fan", actionId: "mine", ...exact } });
      assert.equal(two.json.data.actionId, "mine");
      await until("the next one has, too", async () => (await pointsOf(world, "fan")) === 6);
      await call(single, { body: { userId: "fan", actionId: "mine", ...exact } });
      await call(single, { body: { userId: "fan", actionId: "last", action: "adjust" } });
      await until("the last one has", async () => (await pointsOf(world, "fan")) === 4);
      await worker.stop();
    }));

  it("are accepted in bulk in both shapes, with one result per item in their order", () =>
    withWorld(open, async (world, work) => {
      const call = await backEnd(world);
      const actions = [
        { userId: "a", actionId: "1", ...exact },
        { userId: "b", actionId: "1", ...exact },
        { userId: "a", actionId: "1", ...exact },
        { userId: "a", ...exact },
      ];
      const answer = await call(bulk, { body: { actions } });
      assert.equal(answer.status, 202);
      const { batchId, summary, errors, results } = answer.json.data;
      assert.match(batchId, /^bat_[0-9a-f-]{36}$/);
      assert.deepEqual(summary, { total: 4, queued: 3, duplicate: 1, failed: 0 });
      assert.equal(errors, false);
      assert.deepEqual(results.slice(0, 3), [
        { index: 0, id: "1", userId: "a", status: "queued" },
        { index: 1, id: "1", userId: "b", status: "queued" },
        { index: 2, id: "1", userId: "a", status: "duplicate" },
      ]);
      assert.match(results[3].id, /^act_/);
      const batch = await call("/api/audience/actions", {
        method: "PUT",
        body: [{ user_id: "b", data: { ...exact, actionId: "2" } }],
      });
      assert.equal(batch.status, 202);
      assert.deepEqual(batch.json.data.summary, { total: 1, queued: 1, duplicate: 0, failed: 0 });
      const worker = work();
      await until("all have taken effect", async () =>
        [await pointsOf(world, "a"), await pointsOf(world, "b")].every(points => points === 6),
      );
      await worker.stop();
    }));

  it("are refused as a whole with every error, and none is queued", () =>
    withWorld(open, async (world, work) => {
      const call = await backEnd(world);
      const now = world.clock.now();
      const at = (ms: number): string => new Date(now + ms).toISOString();
      const answer = await call(bulk, {
        body: {
          actions: [
            { userId: "fan", ...exact },
            { userId: "", action: "x".repeat(65), data: { "a/b": "x".repeat(1_025), n: null } },
            { action: "rest", timestamp: at(-7 * 86_400_000 - 1) },
            { userId: "fan", action: "rest", timestamp: at(60_001), actionId: "" },
            { userId: "fan", action: "rest", timestamp: "yesterday", metadata: { note: "x".repeat(5_000) } },
            7,
          ],
        },
      });
      assert.equal(answer.status, 400);
      assert.equal(answer.json.code, "validation_failed");
      assert.deepEqual(
        answer.json.errors.map(({ pointer }: { pointer: string }) => pointer),
        [
          "/actions/5",
          "/actions/1/action",
          "/actions/1/userId",
          "/actions/1/data/a~1b",
          "/actions/1/data/n",
          "/actions/2/userId",
          "/actions/2/timestamp",
          "/actions/3/timestamp",
          "/actions/3/actionId",
          "/actions/4/timestamp",
          "/actions/4/metadata",
        ],
      );
      const inBatch = await call("/api/audience/actions", {
        method: "POST",
        body: [
          { user_id: "fan", data: { data: 1 } },
          { user_id: "fan", data: 1 },
        ],
      });
      assert.deepEqual(
        inBatch.json.errors.map(({ pointer }: { pointer: string }) => pointer),
        ["/1/data", "/0/data/action", "/0/data/data"],
      );
      for (const body of [
        [],
        { actions: [] },
        { actions: {} },
        "[1",
        Array(1_001).fill({ userId: "a", ...exact }),
      ]) {
        assert.equal((await call(bulk, { body })).status, 400);
      }
      const accepted = await call(bulk, { body: { actions: [{ userId: "fan", ...exact }] } });
      assert.equal(accepted.status, 202);
      const worker = work();
      await until("the good one has taken effect", async () => (await pointsOf(world, "fan")) === 3);
      await worker.stop();
    }));

  it("count for their own time, but not before the user's previous action", () =>
    withWorld(open, async (world, work) => {
      const call = await backEnd(world);
      const now = world.clock.now();
      const timestamp = (ms: number): string => new Date(now - ms).toISOString();
      const actions = [
        { userId: "fan", ...exact, timestamp: timestamp(60_000) },
        { userId: "fan", ...exact, timestamp: timestamp(90_000) },
        { userId: "fan", ...exact },
      ];
      world.clock.advance(5_000);
      await call(bulk, { body: { actions } });
      const worker = work();
      await until("all have taken effect", async () => (await pointsOf(world, "fan")) >= 9);
      const member = { organisationId: ids.organisation, spaceId: ids.space, userId: "fan", projectId: null };
      const history = await world.platform.loyalty.history(member, {});
      const seconds = (ms: number): number => Math.floor(ms / 1_000);
      assert.deepEqual(
        history.filter(({ type }) => type === "actionRewarded").map(one => one.timestamp),
        [seconds(now - 60_000), seconds(now - 60_000), seconds(now + 5_000)],
      );
      await worker.stop();
    }));

  it("are refused with Retry-After while the queue is full, item by item if some fit", () =>
    withWorld(
      open,
      async world => {
        const call = await backEnd(world);
        const many = (count: number, userId: string): unknown[] =>
          Array.from({ length: count }, () => ({ userId, ...exact }));
        assert.equal((await call(bulk, { body: { actions: many(3, "a") } })).status, 202);
        const full = await call(bulk, { body: { actions: many(2, "a") } });
        assert.equal(full.status, 503);
        assert.equal(full.json.code, "busy");
        assert.equal(
          full.json.message,
          "Cannot accept the action as too many are waiting to be applied: send it again later",
        );
        assert.ok(Number(full.headers.get("retry-after")) >= 1);
        const some = await call(bulk, { body: { actions: [...many(2, "a"), ...many(1, "b")] } });
        assert.equal(some.status, 202);
        assert.deepEqual(some.json.data.summary, { total: 3, queued: 1, duplicate: 0, failed: 2 });
        assert.equal(some.json.data.errors, true);
        assert.deepEqual(
          [some.json.data.results[0].error.code, some.json.data.results[0].error.retryable],
          ["busy", true],
        );
        assert.equal((await call(single, { body: { userId: "a", ...exact } })).status, 202);
        assert.equal((await call(single, { body: { userId: "a", ...exact } })).status, 503);
      },
      4,
    ));

  it("that can never be applied are listed as dead letters for their organisation only, and replayed", () =>
    withWorld(open, async (world, work) => {
      const call = await backEnd(world);
      const worker = work();
      const dead = {
        userId: "fan",
        action: "dance",
        actionId: "d-1",
        data: { n: 1 },
        metadata: { from: "till" },
      };
      await call(bulk, { body: { actions: [dead, { userId: "fan", ...exact }] } });
      const list = (): ReturnType<typeof call> => call(`${single}/dead-letters`);
      await until("the dead letter exists", async () => (await list()).json.totalCount === 1);
      await until("the next action of the user went on", async () => (await pointsOf(world, "fan")) === 3);
      const [deadLetter] = (await list()).json.data;
      assert.equal(deadLetter.reason.code, "forbidden");
      assert.deepEqual(
        [
          deadLetter.userId,
          deadLetter.action,
          deadLetter.actionId,
          deadLetter.attempts,
          deadLetter.data,
          deadLetter.metadata,
        ],
        ["fan", "dance", "d-1", 1, { n: 1 }, { from: "till" }],
      );
      const rival = await backEnd(world, ["actions:write"], ids.otherOrganisation);
      const foreign = await rival(`${single}/dead-letters`, { host: "other.example" });
      assert.deepEqual([foreign.status, foreign.json.totalCount], [200, 0]);
      const replay = (callHere: typeof call, host: string): ReturnType<typeof call> =>
        callHere(`${single}/dead-letters/replay`, {
          host,
          body: { ids: [deadLetter.deadLetterId, "no", deadLetter.deadLetterId, "no"] },
        });
      assert.deepEqual((await replay(rival, "other.example")).json.data.replayed, []);
      const { config } = await world.platform.loyalty.config(ids.space);
      assert.equal(
        config.actions.some(({ name }) => name === "dance"),
        false,
      );
      const replayed = await replay(call, "club.example");
      assert.deepEqual(replayed.json.data, { replayed: [deadLetter.deadLetterId], notFound: ["no"] });
      await until("it is a dead letter again under another id", async () => {
        const [again] = (await list()).json.data;
        return again !== undefined && again.deadLetterId !== deadLetter.deadLetterId;
      });
      await worker.stop();
    }));

  it("reported by a user are applied at once, and only those that users may report", () =>
    withWorld(open, async world => {
      const fan = await world.fan("Sam");
      const headers = { "x-platform-org-id": ids.organisation };
      const ownRequest = await world.call("/api/audience/actions", {
        token: fan.token,
        headers,
        body: exact,
      });
      assert.equal(ownRequest.status, 200, ownRequest.text);
      assert.equal(ownRequest.json.data.results[0].status, "succeeded");
      assert.equal(await pointsOf(world, fan.userId), 3);
      const refused = await world.call("/api/audience/actions", {
        token: fan.token,
        headers,
        body: { action: "adjust" },
      });
      assert.equal(refused.status, 403);
      const foreign = await world.call("/api/audience/actions", {
        token: fan.token,
        headers,
        body: [{ user_id: "else", data: exact }],
      });
      assert.equal(foreign.status, 403);
    }));

  it("reported by a user again are answered as duplicates", () =>
    withWorld(open, async world => {
      const fan = await world.fan("Sam");
      const headers = { "x-platform-org-id": ids.organisation };
      const report = (actions: readonly unknown[]): Promise<Answer> =>
        world.call("/api/audience/actions", { token: fan.token, headers, body: { actions } });
      const first = { ...exact, actionId: "1" };
      const { json } = await report([first, first, { ...exact, actionId: "2" }]);
      assert.deepEqual(json.data.summary, { total: 3, succeeded: 2, duplicate: 1, failed: 0 });
      const again = await report([first]);
      assert.equal(again.json.data.results[0].status, "duplicate");
      assert.equal(await pointsOf(world, fan.userId), 6);
    }));

  it("reported by a user count for now and may not name a time", () =>
    withWorld(open, async world => {
      const fan = await world.fan("Sam");
      const headers = { "x-platform-org-id": ids.organisation };
      const timestamp = new Date(world.clock.now() - 86_400_000).toISOString();
      for (const [body, pointer] of [
        [{ ...exact, timestamp }, "/timestamp"],
        [{ actions: [exact, { ...exact, timestamp }] }, "/actions/1/timestamp"],
        [[{ user_id: fan.userId, data: { ...exact, timestamp } }], "/0/data/timestamp"],
      ] as const) {
        const answer = await world.call("/api/audience/actions", { token: fan.token, headers, body });
        assert.equal(answer.status, 400);
        assert.deepEqual(answer.json.errors, [{ pointer, detail: "Only back ends may set it" }]);
      }
      assert.equal(await pointsOf(world, fan.userId), 0);
    }));

  it("are applied before the reply if the platform has no queue", async () => {
    const world = await openPlatform(open);
    const call = await backEnd(world);
    const answer = await call(bulk, {
      body: {
        actions: [
          { userId: "fan", ...exact },
          { userId: "fan", action: "no" },
        ],
      },
    });
    assert.deepEqual(answer.json.data.summary, { total: 2, queued: 1, duplicate: 0, failed: 1 });
    assert.equal(await pointsOf(world, "fan"), 3);
    assert.throws(() => world.platform.startActionWorker(), TypeError);
    await world.dispose();
  });
});

describeOnEveryStore("rewards of back ends", open => {
  const path = "/v1/api/audience/internal/rewards/bulk";

  it("are granted once under their ids, those of one user in order", () =>
    withWorld(open, async world => {
      const call = await backEnd(world);
      const rewards = [
        { userId: "a", rewardId: "1", type: "metric", currency: "points", amount: 5, reason: "Welcome" },
        { userId: "b", rewardId: "1", type: "metric", metricId: "points", amount: 7 },
        { userId: "a", rewardId: "2", type: "metric", currency: "points", amount: 1 },
        { userId: "a", rewardId: "1", type: "metric", currency: "points", amount: 5 },
        { userId: "b", type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" },
        { userId: "b", type: "coupon", couponId: "drink" },
      ];
      const { status, json } = await call(path, { body: { rewards } });
      assert.equal(status, 200);
      assert.deepEqual(json.data.summary, { total: 6, succeeded: 5, duplicate: 1, failed: 0 });
      assert.deepEqual(
        json.data.results.map((one: { status: string; balanceAfter?: number }) => [
          one.status,
          one.balanceAfter,
        ]),
        [
          ["succeeded", 5],
          ["succeeded", 7],
          ["succeeded", 6],
          ["duplicate", undefined],
          ["succeeded", undefined],
          ["succeeded", undefined],
        ],
      );
      assert.match(json.data.results[0].transactionId, /^\d+-\d+$/);
      const again = await call("/api/audience/rewards", {
        method: "PUT",
        body: [{ user_id: "a", data: { rewardId: "2", type: "metric", currency: "points", amount: 1 } }],
      });
      assert.deepEqual(again.json.data.summary, { total: 1, succeeded: 0, duplicate: 1, failed: 0 });
      assert.deepEqual([await pointsOf(world, "a"), await pointsOf(world, "b")], [6, 7]);
    }));

  it("notify the user on request and keep the metadata of the back end", () =>
    withWorld(open, async world => {
      const call = await backEnd(world);
      const fan = await world.fan("Sam");
      const reward = { userId: fan.userId, type: "metric", currency: "points", amount: 5, reason: "Luck" };
      const metadata = { campaign: "derby", seat: 12, vip: true };
      const notify = { title: "A gift", message: "For you" };
      const first = await call(path, {
        body: { rewards: [{ ...reward, rewardId: "1", metadata, notify }, reward] },
      });
      assert.deepEqual(first.json.data.summary, { total: 2, succeeded: 2, duplicate: 0, failed: 0 });
      await call(path, { body: { rewards: [{ ...reward, rewardId: "1", metadata, notify }] } });
      const ownRequest = { token: fan.token, headers: { "x-platform-org-id": ids.organisation } };
      const { json: listed } = await world.call("/v1/api/audience/transactions", ownRequest);
      assert.deepEqual(
        listed.data.map((one: Answer["json"]) => [one.description, one.source.type, one.metadata]),
        [
          ["Luck", "reward", {}],
          ["Luck", "reward", metadata],
        ],
      );
      const { json: notifications } = await world.call("/v1/api/audience/notifications", ownRequest);
      assert.deepEqual(
        notifications.data.map(({ type, display, title, message }: Answer["json"]) => [
          type,
          display,
          title,
          message,
        ]),
        [["rewardGranted", "toast", "A gift", "For you"]],
      );
      assert.deepEqual(notifications.data[0].payload.metricChanges, { points: { oldValue: 0, newValue: 5 } });
      const member = { organisationId: ids.organisation, spaceId: ids.space, userId: fan.userId };
      const { differences } = await world.platform.loyalty.replay({ ...member, projectId: null });
      assert.deepEqual(differences, []);
      const wrong = [
        [{ notify: true }, "notify"],
        [{ notify: { title: "" } }, "notify/title"],
        [{ notify: { title: "a", display: "shout" } }, "notify/display"],
        [{ notify: { title: "a", icon: "b" } }, "notify/icon"],
        [{ notify: { title: "x".repeat(257) } }, "notify/title"],
        [{ notify: { title: "a", message: "x".repeat(1_025) } }, "notify/message"],
        [{ metadata: [] }, "metadata"],
        [{ metadata: { a: { b: 1 } } }, "metadata/a"],
        [{ metadata: { a: "x".repeat(1_025) } }, "metadata/a"],
      ] as const;
      const refused = await call(path, {
        body: { rewards: wrong.map(([more]) => ({ ...reward, ...more })) },
      });
      assert.equal(refused.status, 400);
      assert.deepEqual(
        refused.json.errors.map(({ pointer }: { pointer: string }) => pointer),
        wrong.map(([, name], index) => `/rewards/${index}/${name}`),
      );
    }));

  it("are refused as a whole if the space does not have one of them", () =>
    withWorld(open, async world => {
      const call = await backEnd(world);
      const { status, json } = await call(path, {
        body: {
          rewards: [
            { userId: "a", type: "metric", currency: "points", amount: 5 },
            { userId: "a", type: "metric", currency: "gold", amount: 1.5 },
            { userId: "a", type: "inventory", inventorySetId: "badges", inventoryItemId: "no" },
            { userId: "a", type: "coupon", reason: 7 },
            { userId: "a", type: "metric", metricId: "points", amount: 1, expiresAt: "2026-01-01T00:00:00Z" },
            { type: "level" },
          ],
        },
      });
      assert.equal(status, 400);
      assert.deepEqual(
        json.errors.map(({ pointer }: { pointer: string }) => pointer),
        [
          "/rewards/1/currency",
          "/rewards/1/amount",
          "/rewards/2/inventoryItemId",
          "/rewards/3/couponId",
          "/rewards/3/reason",
          "/rewards/4/expiresAt",
          "/rewards/5/userId",
          "/rewards/5/type",
        ],
      );
      assert.equal(await pointsOf(world, "a"), 0);
      const fan = await world.fan("Sam");
      const ownRequest = await world.call("/api/audience/rewards", {
        token: fan.token,
        headers: { "x-platform-org-id": ids.organisation },
        body: { type: "metric", currency: "points", amount: 1 },
      });
      assert.equal(ownRequest.status, 403);
    }));
});
