import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { type Fan, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const hourMs = 60 * 60 * 1_000;
const give = (metricQuantity: number): unknown[] => [{ type: "metric", metricId: "points", metricQuantity }];

/** The first five a day get 100 points, at most twelve for good; whoever comes later gets one. */
const limited = {
  ...seed,
  loyalty: {
    [ids.space]: {
      ...loyalty,
      actions: [...loyalty.actions, { name: "enter", clientReportable: true }],
      rules: [
        ...loyalty.rules,
        {
          id: "early-bird",
          group: "entry",
          priority: 1,
          trigger: { action: "enter" },
          effects: give(100),
          limits: [
            { per: "global", max: 5, window: { calendar: "day" } },
            { per: "global", max: 12 },
            { per: "user", max: 1 },
          ],
        },
        { id: "late", group: "entry", priority: 2, trigger: { action: "enter" }, effects: give(1) },
        {
          id: "rich",
          trigger: { metric: "points" },
          when: { gte: [{ var: "user.metrics.points" }, 1_000] },
          effects: [{ type: "metric", metricId: "energy", metricQuantity: 1 }],
          limits: [{ per: "global", max: 2 }],
        },
      ],
    },
  },
};

describeOnStores("a rule with a limit for all users", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: limited });
  });
  afterEach(() => world?.dispose());

  const memberOf = ({ userId }: Pick<Fan, "userId">) => ({
    organisationId: ids.organisation,
    spaceId: ids.space,
    userId,
    projectId: ids.project,
  });

  async function enter(count: number, day: string): Promise<number> {
    const fans = await Promise.all(Array.from({ length: count }, (_, n) => world.fan(`${day} ${n}`)));
    await Promise.all(fans.map(fan => fan.act("enter")));
    const points = await Promise.all(fans.map(async fan => (await fan.profile()).metrics.points));
    assert.ok(points.every(value => value === 100 || value === 1));
    return points.filter(value => value === 100).length;
  }

  it("fires as often as its limits say, each day and for good, and leaves the rest to the next of its group", async () => {
    const counts: number[] = [];
    for (const day of ["first", "second", "third", "fourth"]) {
      counts.push(await enter(20, day));
      world.clock.advance(24 * hourMs);
    }
    assert.deepEqual(counts, [5, 5, 2, 0]);
  });

  it("is used once by an action that is reported many times, and not by one that it does not fire for", async () => {
    const fan = await world.fan("Sam");
    await Promise.all(Array.from({ length: 10 }, () => fan.act("enter", {}, "gate-1")));
    // The user's own limit keeps the rule from firing again.
    await fan.act("enter", {}, "gate-2");
    assert.equal((await fan.profile()).metrics.points, 101);
    assert.equal(await enter(10, "others"), 4);
  });

  it("keeps what it held back in the history, so that a replay gives the same", async () => {
    await enter(5, "first");
    const fan = await world.fan("Late");
    await fan.act("enter");
    assert.equal((await fan.profile()).metrics.points, 1);
    const { differences } = await world.platform.loyalty.replay(memberOf(fan));
    assert.deepEqual(differences, []);
  });

  it("reports a reached limit to a dry run, which uses nothing", async () => {
    const fan = await world.fan("Sam");
    const report = { action: "enter", data: {}, isClientReport: false };
    const { dryRun } = world.platform.loyalty;
    const early = (await dryRun(memberOf(fan), report)).rules.find(({ ruleId }) => ruleId === "early-bird");
    assert.deepEqual(early, { ruleId: "early-bird", fired: true, failures: [] });
    assert.equal(await enter(9, "first"), 5);
    const late = (await dryRun(memberOf(fan), report)).rules.find(({ ruleId }) => ruleId === "early-bird");
    assert.equal(late?.fired, false);
    assert.deepEqual(late?.failures, [
      {
        path: `/rules/${loyalty.rules.length}/limits/0`,
        expected: "fired fewer than 5 times for all users",
        actual: 5,
      },
    ]);
  });

  it("counts for what back ends give too, and a replay of that gives the same", async () => {
    const rewards = [{ type: "metric", metricId: "points", metricQuantity: 1_000 }] as const;
    const energies: number[] = [];
    for (const name of ["a", "b", "c"]) {
      const fan = await world.fan(name);
      await world.platform.loyalty.grant(memberOf(fan), { rewards, reason: "Prize" });
      energies.push((await fan.profile()).metrics.energy);
      assert.deepEqual((await world.platform.loyalty.replay(memberOf(fan))).differences, []);
    }
    assert.deepEqual(energies, [6, 6, 5]);
  });
});
