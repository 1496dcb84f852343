/** What time alone does to a user is told by every list as soon as it shows in the balances. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";

/** A notification or a transaction as the loyalty API shows it. */
interface Shown {
  readonly type: string;
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
  ],
};

function openPurse(open: OpenStore): Promise<TestPlatform> {
  return openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
}

describeOnStores("points that become usable and lapse", open => {
  it("are in history, notifications and transactions of the instant at which the balance shows it", async t => {
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
});
