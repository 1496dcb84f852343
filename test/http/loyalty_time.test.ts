/** Every list shows the effects of time alone as soon as balances do. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";

/** A notification or a transaction as the loyalty API shows it. */
interface Shown {
  readonly type: string;
  readonly display?: string;
  readonly title?: string;
  readonly timestamp: number;
  readonly payload: unknown;
}

const minuteMs = 60_000;
const document = {
  ...loyalty,
  metrics: [
    {
      id: "coins",
      title: "",
      lots: { activatesAfter: { minutes: 10 }, expires: { after: { minutes: 20 } } },
    },
    ...loyalty.metrics,
  ],
  milestones: [
    {
      id: "purse",
      title: "",
      metricId: "coins",
      milestones: [
        { id: "full", title: "", threshold: 5, notification: { display: "toast", title: "Full" } },
      ],
    },
  ],
  rules: [
    {
      id: "coins",
      trigger: { action: "prediction" },
      effects: [{ type: "metric", metricId: "coins", metricQuantity: 5 }],
    },
    {
      id: "points",
      trigger: { action: "cheer" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
    },
  ],
};

function openPurse(open: OpenStore): Promise<TestPlatform> {
  return openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
}

describeOnStores("effects of time on a user", open => {
  it("show in history, notifications and transactions as soon as in the balance: points that become available and expire", async t => {
    const world = await openPurse(open);
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    const earnedAt = Math.floor(world.clock.now() / 1_000);
    await fan.act("prediction", {});

    const listed = async (): Promise<unknown> => {
      const { data } = (await world.call("/api/loyalty/history", { token: fan.token })).json;
      return data
        .filter(({ type }: { type: string }) => /^points/.test(type))
        .map(({ type, timestamp, payload }: Shown) => [type, timestamp - earnedAt, payload]);
    };
    const changes = (oldValue: number, newValue: number): object => ({
      metricChanges: { coins: { oldValue, newValue } },
      inventoryChanges: { received: [], lost: [] },
      milestoneChanges: {},
    });
    assert.deepEqual(await listed(), []);

    world.clock.advance(15 * minuteMs);
    const titles = await world.call("/api/loyalty/notifications", { token: fan.token });
    assert.deepEqual(
      titles.json.data.map(({ title, timestamp }: Shown) => [title, timestamp - earnedAt]),
      [["Full", 600]],
    );
    const activated = ["pointsActivated", 600, changes(0, 5)];
    assert.equal((await fan.profile()).metrics.coins, 5);
    assert.deepEqual(await listed(), [activated]);

    world.clock.advance(20 * minuteMs);
    assert.equal((await fan.profile()).metrics.coins, 0);
    assert.deepEqual(await listed(), [activated, ["pointsExpired", 1_800, changes(5, 0)]]);

    const headers = { "x-platform-org-id": ids.organisation };
    const { json } = await world.call("/v1/api/audience/transactions", { token: fan.token, headers });
    assert.deepEqual(
      json.data.map(({ type, reason }: { type: string; reason: string }) => [type, reason]),
      [
        ["debit", "pointsExpired"],
        ["credit", "pointsActivated"],
        ["credit", "actionRewarded"],
      ],
    );
    // Nothing is recorded twice, whoever looks again.
    assert.deepEqual(await listed(), await listed());
    assert.equal(((await listed()) as unknown[]).length, 2);
  });

  it("announces that a challenge has failed, by time or by an action, where the challenge says so", async t => {
    const failureNotification = { display: "modal", title: "Too late" };
    const rule = { action: "prediction", count: 2 };
    const challenges = [
      {
        id: "5b0f4c0e-6a41-4f0e-9d3c-2f6c1f0a7e11",
        title: "Twice in ten minutes",
        within: { minutes: 10 },
        failureNotification,
        missions: [{ id: "0c2d8a36-51f7-4d0a-8a7e-94b3f2a1c6d2", title: "", rule }],
      },
      {
        id: "5b0f4c0e-6a41-4f0e-9d3c-2f6c1f0a7e12",
        title: "No rest",
        fail: { action: "rest" },
        failureNotification: { ...failureNotification, title: "Rested" },
        missions: [{ id: "0c2d8a36-51f7-4d0a-8a7e-94b3f2a1c6d3", title: "", rule }],
      },
    ];
    const configured = { ...loyalty, rules: [], challenges };
    const world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: configured } } });
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    const startedAt = Math.floor(world.clock.now() / 1_000);
    await fan.act("prediction", {});
    await fan.act("rest");
    world.clock.advance(15 * minuteMs);
    const { data } = (await world.call("/api/loyalty/notifications", { token: fan.token })).json;
    assert.deepEqual(
      data.map(({ type, display, title, timestamp, payload }: Shown) => [
        type,
        display,
        title,
        timestamp - startedAt,
        (payload as { challengeId: string }).challengeId,
      ]),
      [
        ["challengeFailed", "modal", "Rested", 0, challenges[1]?.id],
        ["challengeFailed", "modal", "Too late", 600, challenges[0]?.id],
      ],
    );
    assert.deepEqual((await fan.profile()).challenges[challenges[0]?.id ?? ""], {
      isCompleted: false,
      missionsCompleted: [],
    });
    const shown = (await world.call("/api/loyalty/config", { token: fan.token })).json.data.challenges;
    assert.equal(Object.hasOwn(shown[0], "failureNotification"), false);
  });
});

describeOnStores("a profile that was read before", open => {
  it("shows each action of its user at once, points as soon as they count, and none that have expired", async t => {
    const world = await openPurse(open);
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    /** Reads again until nothing of the user waits for its delivery. */
    async function expectMetrics(coins: number, points: number): Promise<void> {
      for (const _ of "abc") {
        const { metrics } = await fan.profile();
        assert.deepEqual([metrics.coins, metrics.points], [coins, points]);
        await world.platform.idle();
      }
    }
    await expectMetrics(0, 0);
    await fan.act("cheer");
    await expectMetrics(0, 1);
    await fan.act("prediction");
    await expectMetrics(0, 1);
    world.clock.advance(10 * minuteMs - 1);
    await expectMetrics(0, 1);
    world.clock.advance(1);
    await expectMetrics(5, 1);
    await fan.act("cheer");
    await expectMetrics(5, 2);
    world.clock.advance(20 * minuteMs - 1);
    await expectMetrics(5, 2);
    world.clock.advance(1);
    await expectMetrics(0, 2);
  });
});
