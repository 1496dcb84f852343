/** Actions that a back end reports late, in bulk, and limits for each value. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryQueue } from "../../../adapters/memory/mod.ts";
import { ids, loyalty, openPlatform, seed, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { until } from "../../support/until.ts";
import { backEnd, pointsOf } from "./_back_end.ts";

const dayMs = 86_400_000;
const bulk = "/v1/api/audience/internal/actions/bulk";
const points = (metricQuantity: number): object[] => [{ type: "metric", metricId: "points", metricQuantity }];
const visit = { action: "visit" };

const document = {
  ...loyalty,
  actions: [
    ...loyalty.actions,
    { name: "visit", data: { matchId: "string" } },
    { name: "guess", clientReportable: true, data: { matchId: "string" } },
  ],
  rules: [
    {
      id: "visit",
      trigger: visit,
      effects: points(1),
      limits: [{ per: "user", max: 1, window: { calendar: "day" } }],
    },
    {
      id: "four-days",
      trigger: visit,
      when: { gte: [{ streak: { action: "visit", unit: "day" } }, 4] },
      effects: points(100),
      limits: [{ per: "user", max: 1 }],
    },
    {
      id: "one-guess-a-match",
      trigger: { action: "guess" },
      effects: points(1),
      limits: [{ per: "user", by: { var: "data.matchId" }, max: 1 }],
    },
  ],
};

async function withWorld(open: OpenStore, use: (world: TestPlatform) => Promise<void>): Promise<void> {
  const queue = createMemoryQueue({ clock: Date.now });
  const world = await openPlatform(open, { queue, seed: { ...seed, loyalty: { [ids.space]: document } } });
  try {
    await use(world);
  } finally {
    await world.dispose();
    await queue[Symbol.asyncDispose]();
  }
}

describeOnStores("late actions", open => {
  it("count where they happened, whether the newest comes first or last", () =>
    withWorld(open, async world => {
      const call = await backEnd(world, ["actions:write", "users:read"]);
      const now = world.clock.now();
      const daysAgo = (days: number): string => new Date(now - days * dayMs).toISOString();
      const worker = world.platform.startActionWorker();
      for (const [userId, days] of Object.entries({
        ordered: [3, 3, 2, 1, 0],
        reversed: [0, 1, 2, 3, 3],
        mixed: [1, 3, 0, 3, 2],
      })) {
        const actions = days.map(day => ({ userId, ...visit, timestamp: daysAgo(day) }));
        assert.equal((await call(bulk, { body: { actions } })).status, 202);
        // A visit a day, and four days in a row.
        await until(
          `all of ${userId} have taken effect`,
          async () => (await pointsOf(world, userId)) === 104,
        );
      }
      await worker.stop();
      assert.equal(world.clock.now(), now);
      const again = { userId: "reversed", ...visit, timestamp: daysAgo(2) };
      const next = world.platform.startActionWorker();
      await call(bulk, {
        body: { actions: [again, { userId: "reversed", action: "guess", data: { matchId: "m" } }] },
      });
      await until("the last one has", async () => (await pointsOf(world, "reversed")) === 105);
      await next.stop();
      const history = await call("/api/audience/transactions?user_id=reversed&limit=100");
      const seconds = (time: string): number => Math.floor(Date.parse(time) / 1_000);
      const rewarded = history.json.data
        .filter(({ source }: { source: { id: string } }) => source.id === "visit")
        .map((one: { createdAt: string; happenedAt: string }) =>
          [one.createdAt, one.happenedAt].map(seconds),
        );
      const expected = [3, 2, 1, 0].flatMap(day => [
        [now, now - day * dayMs].map(at => Math.floor(at / 1_000)),
      ]);
      assert.deepEqual(rewarded.toSorted(), [...expected, expected[0]].toSorted());
    }));

  it("show their id, metadata and both times in history and transactions", () =>
    withWorld(open, async world => {
      const call = await backEnd(world);
      const { userId, token } = await world.fan("Sam");
      const [at, late] = [0, 2].map(days => world.clock.now() - days * dayMs) as [number, number];
      const metadata = { device: "kiosk 7", path: ["gate", 3] };
      const report = (actionId: string, time: number, more: object = {}): object => ({
        userId,
        ...visit,
        actionId,
        timestamp: new Date(time).toISOString(),
        ...more,
      });
      const worker = world.platform.startActionWorker();
      await call(bulk, { body: { actions: [report("today", at), report("before", late, { metadata })] } });
      await until("both have taken effect", async () => (await pointsOf(world, userId)) === 2);
      await worker.stop();
      const seconds = [at, late].map(time => Math.floor(time / 1_000));
      const { json } = await world.call("/api/loyalty/history", { token });
      assert.deepEqual(
        json.data.map(({ timestamp, happenedAt, actionId, metadata: shown }: Record<string, unknown>) => [
          timestamp,
          happenedAt,
          actionId,
          shown,
        ]),
        [
          [seconds[0], seconds[0], "today", undefined],
          [seconds[0], seconds[1], "before", metadata],
        ],
      );
      const listed = await world.call("/v1/api/audience/transactions", {
        token,
        headers: { "x-platform-org-id": ids.organisation },
      });
      assert.deepEqual(
        listed.json.data.map(
          ({ createdAt, happenedAt, actionId, metadata: shown }: Record<string, unknown>) => [
            createdAt,
            happenedAt,
            actionId,
            shown,
          ],
        ),
        [
          [new Date(at).toISOString(), new Date(late).toISOString(), "before", metadata],
          [new Date(at).toISOString(), new Date(at).toISOString(), "today", {}],
        ],
      );
    }));

  it("are limited for each value of their data", () =>
    withWorld(open, async world => {
      const fan = await world.fan("Sam");
      for (const matchId of ["1", "2", "1", "1", "2"]) {
        assert.equal((await fan.act("guess", { matchId })).status, 200);
      }
      await fan.act("guess", {});
      assert.equal((await fan.profile()).metrics.points, 2);
    }));
});
