/** Rewards whose points count from a time and until a time that the back end says. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { type Answer, ids, loyalty, openPlatform, seed, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { backEnd } from "./_back_end.ts";

/** Ten years. */
const aheadMsMax = 3_653 * 86_400_000;

const path = "/v1/api/audience/internal/rewards/bulk";
const hourMs = 3_600_000;
const document = {
  ...loyalty,
  metrics: [
    ...loyalty.metrics,
    { id: "coins", title: "", lots: { activatesAfter: { hours: 1 }, expires: { after: { hours: 10 } } } },
  ],
};

function openPurse(open: OpenStore): Promise<TestPlatform> {
  return openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
}

describeOnStores("rewards with dates", open => {
  it("count from availableAt until expiresAt, whatever the policy of the metric", async t => {
    const world = await openPurse(open);
    t.after(() => world.dispose());
    const call = await backEnd(world);
    const fan = await world.fan("Sam");
    const start = world.clock.now();
    const at = (hours: number): string => new Date(start + hours * hourMs).toISOString();
    const dates = [
      { availableAt: at(3), expiresAt: at(5) },
      { availableAt: at(-1) },
      { expiresAt: at(4) },
      {},
      { availableAt: at(3), expiresAt: at(5) },
    ];
    const rewards = dates.map((more, index) => ({
      userId: fan.userId,
      rewardId: `${index}`,
      type: "metric",
      currency: "coins",
      amount: 10 ** index,
      ...more,
    }));
    const { json } = await call(path, { body: { rewards } });
    assert.equal(json.data.summary.succeeded, dates.length);

    const ownHeaders = { token: fan.token, headers: { "x-platform-org-id": ids.organisation } };
    const { json: listed } = await world.call("/v1/api/audience/transactions", ownHeaders);
    assert.deepEqual(
      listed.data.map(({ amount, status, availableAt, expiresAt }: Answer["json"]) => [
        amount,
        status,
        availableAt,
        expiresAt,
      ]),
      [
        [10_000, "pending", at(3), at(5)],
        [1_000, "pending", at(1), at(11)],
        [100, "pending", at(1), at(4)],
        [10, "completed", null, at(10)],
        [1, "pending", at(3), at(5)],
      ],
    );
    const member = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: fan.userId,
      projectId: null,
    };
    const coins: unknown[] = [];
    for (let hour = 0; hour <= 11; hour++) {
      coins.push((await world.platform.loyalty.profile(member)).metrics.coins);
      world.clock.advance(hourMs);
    }
    assert.deepEqual(coins, [10, 1_110, 1_110, 11_111, 11_011, 1_010, 1_010, 1_010, 1_010, 1_010, 1_000, 0]);
    assert.deepEqual((await world.platform.loyalty.replay(member)).differences, []);
    assert.deepEqual((await world.platform.loyalty.reconcile(member)).faults, []);
  });

  it("are refused as a whole if a date is impossible, with its pointer", async t => {
    const world = await openPurse(open);
    t.after(() => world.dispose());
    const call = await backEnd(world);
    const fan = await world.fan("Sam");
    const at = (ms: number): string => new Date(world.clock.now() + ms).toISOString();
    const wrong = [
      [{ expiresAt: at(0) }, "expiresAt"],
      [{ expiresAt: "2030-02-31T00:00:00Z" }, "expiresAt"],
      [{ expiresAt: "2030-02-01" }, "expiresAt"],
      [{ expiresAt: null }, "expiresAt"],
      [{ availableAt: at(hourMs), expiresAt: at(hourMs) }, "expiresAt"],
      [{ expiresAt: at(aheadMsMax + 1) }, "expiresAt"],
      [{ availableAt: at(aheadMsMax + 1) }, "availableAt"],
      [{ availableAt: 1 }, "availableAt"],
      [{ currency: "points", availableAt: at(1) }, "availableAt"],
      [
        { type: "coupon", couponId: "drink", currency: undefined, amount: undefined, expiresAt: at(1) },
        "expiresAt",
      ],
    ] as const;
    const validReward = {
      userId: fan.userId,
      type: "metric",
      currency: "coins",
      amount: 1,
      availableAt: at(0),
    };
    const rewards = [
      ...wrong.map(([more]) => ({ ...validReward, availableAt: undefined, ...more })),
      validReward,
    ];
    const { status, json } = await call(path, { body: { rewards } });
    assert.equal(status, 400);
    assert.deepEqual(
      json.errors.map(({ pointer }: { pointer: string }) => pointer),
      wrong.map(([, name], index) => `/rewards/${index}/${name}`),
    );
    assert.equal((await fan.profile()).metrics.coins ?? 0, 0);

    const member = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: fan.userId,
      projectId: null,
    };
    for (const [metricId, expiresAt] of [
      ["coins", world.clock.now()],
      ["coins", world.clock.now() + aheadMsMax + 1],
      ["points", world.clock.now() + hourMs],
    ] as const) {
      const given = [{ type: "metric", metricId, metricQuantity: 1, expiresAt }] as const;
      await assert.rejects(world.platform.loyalty.grant(member, { rewards: given, reason: "" }), {
        code: "validation_failed",
      });
    }
    const last = { type: "metric", metricId: "coins", metricQuantity: 1, availableAt: 0 } as const;
    const lastAccepted = { ...last, expiresAt: world.clock.now() + aheadMsMax };
    assert.notEqual(
      await world.platform.loyalty.grant(member, { rewards: [lastAccepted], reason: "" }),
      null,
    );
  });

  it("fail if the policy of the metric lets them count only after they expire", async t => {
    const world = await openPurse(open);
    t.after(() => world.dispose());
    const call = await backEnd(world);
    const { userId } = await world.fan("Sam");
    const at = (ms: number): string => new Date(world.clock.now() + ms).toISOString();
    const coins = { userId, type: "metric", currency: "coins", amount: 1 };
    const rewards = [
      { ...coins, expiresAt: at(hourMs) },
      { ...coins, expiresAt: at(hourMs + 1) },
      { ...coins, availableAt: at(0), expiresAt: at(1) },
    ];
    const { json } = await call(path, { body: { rewards } });
    assert.deepEqual(
      json.data.results.map(({ status, error }: Answer["json"]) => [status, error?.code]),
      [
        ["failed", "validation_failed"],
        ["succeeded", undefined],
        ["succeeded", undefined],
      ],
    );
  });

  it("may count and expire up to ten years ahead", async t => {
    const world = await openPurse(open);
    t.after(() => world.dispose());
    const call = await backEnd(world);
    const { userId } = await world.fan("Sam");
    const at = (ms: number): string => new Date(world.clock.now() + ms).toISOString();
    const coins = { userId, type: "metric", currency: "coins", amount: 1 };
    const dates = { availableAt: at(aheadMsMax - 1), expiresAt: at(aheadMsMax) };
    const { status, json } = await call(path, { body: { rewards: [{ ...coins, ...dates }] } });
    assert.deepEqual([status, json.data.errors], [200, false]);
  });
});
