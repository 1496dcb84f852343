/** What goes over when a user is merged into another: dates of points, milestones, coupons, and nothing twice. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { ids, loyalty, openPlatform, seed, type TestPlatform } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";

const hourMs = 3_600_000;
const common = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
const account = { ...common, userId: "11111111-1111-4111-8111-111111111111" };
const merged = { ...common, userId: "22222222-2222-4222-8222-222222222222" };
const source = { type: "metric", metricId: "coins" };

const point = { type: "metric", metricId: "points", metricQuantity: 1 };

const document = {
  ...loyalty,
  metrics: [...loyalty.metrics, { id: "coins", title: "", lots: { expires: { after: { hours: 48 } } } }],
  milestones: [
    {
      id: "level",
      title: "Level",
      metricId: "coins",
      milestones: [
        { id: "bronze", title: "", threshold: 10, rewards: [point] },
        { id: "silver", title: "", threshold: 25, rewards: [point] },
      ],
    },
  ],
  rules: [
    {
      id: "coins",
      trigger: { action: "prediction" },
      effects: [{ type: "metric", metricId: "coins", metricQuantity: { var: "data.coins" } }],
    },
    ...loyalty.rules.filter(({ id }) => id === "cheer"),
  ],
};

function withBoards(): typeof seed {
  const leaderboards = [{ id: "weekly", source, seasons: { type: "weekly" } }];
  const projects = (seed.projects ?? []).map(project =>
    project.id === ids.project ? { ...project, settings: { ...project.settings, leaderboards } } : project,
  );
  return { ...seed, projects, loyalty: { [ids.space]: document } };
}

describeOnStores("a user who is merged into another", open => {
  async function openClub(): Promise<TestPlatform> {
    return await openPlatform(open, { seed: withBoards(), startAt: Date.parse("2027-01-25T20:00:00Z") });
  }
  const earn = ({ platform }: TestPlatform, user: typeof account, coins: number) =>
    platform.loyalty.report(user, { action: "prediction", data: { coins }, isClientReport: false });
  const metrics = async ({ platform }: TestPlatform, user: typeof account) =>
    (await platform.loyalty.profile(user)).metrics;

  it("leaves points with their own expiry", async () => {
    await using club = await disposable(openClub());
    await earn(club.world, merged, 7);
    club.world.clock.advance(24 * hourMs);
    await earn(club.world, account, 2);
    await club.world.platform.loyalty.merge(merged, account);
    assert.equal((await metrics(club.world, account)).coins, 9);
    club.world.clock.advance(24 * hourMs);
    await club.world.platform.loyalty.processDueUser(account);
    assert.equal((await metrics(club.world, account)).coins, 2);
  });

  it("brings no reward of a milestone twice, and those that both reach together", async () => {
    await using club = await disposable(openClub());
    await earn(club.world, merged, 12);
    await earn(club.world, account, 14);
    assert.equal((await metrics(club.world, account)).points, 1);
    await club.world.platform.loyalty.merge(merged, account);
    // Each had one for bronze, and together they reach silver.
    assert.deepEqual(pick(await metrics(club.world, account)), { coins: 26, points: 3 });
    await using other = await disposable(openClub());
    await earn(other.world, merged, 12);
    await other.world.platform.loyalty.merge(merged, account);
    assert.deepEqual(pick(await metrics(other.world, account)), { coins: 12, points: 1 });
  });

  it("brings coupons with their codes", async () => {
    await using club = await disposable(openClub());
    const { platform } = club.world;
    await platform.loyalty.codePools.add({ ...common, poolId: "drinks" }, ["DRINK-1", "DRINK-2"]);
    await platform.loyalty.report(merged, { action: "cheer", data: {}, isClientReport: false });
    await platform.idle();
    const { coupon_code: code } = await platform.loyalty.coupon(merged, "drink");
    await platform.loyalty.merge(merged, account);
    assert.equal((await platform.loyalty.coupon(account, "drink")).coupon_code, code);
  });

  it("leaves scores of the season in which they were earned, and none of the merge", async () => {
    await using club = await disposable(openClub());
    await earn(club.world, merged, 5);
    club.world.clock.advance(7 * 24 * hourMs);
    await earn(club.world, merged, 3);
    await club.world.platform.loyalty.merge(merged, account);
    await club.world.platform.leaderboards.removeUser(ids.project, merged.userId);
    await club.world.platform.idle();
    const { json } = await club.world.call(`/projects/${ids.project}/leaderboards/weekly`);
    assert.deepEqual(
      json.data.map(({ userId, score }: { userId: string; score: number }) => [userId, score]),
      [[account.userId, 3]],
    );
  });

  it("is merged into one user only, and nothing more happens to it", async () => {
    await using club = await disposable(openClub());
    const { loyalty: service } = club.world.platform;
    const third = { ...common, userId: "33333333-3333-4333-8333-333333333333" };
    await earn(club.world, merged, 5);
    await service.merge(merged, account);
    await service.merge(merged, third);
    assert.deepEqual(
      [(await metrics(club.world, account)).coins, (await metrics(club.world, third)).coins],
      [5, 0],
    );
    const rewards = [{ type: "metric", metricId: "coins", metricQuantity: 1 }] as const;
    const order = { key: "k", productId: "poster", quantity: 1 };
    for (const refused of [
      () => earn(club.world, merged, 1),
      () => service.grant(merged, { rewards, reason: "" }),
      () => service.adjust(merged, { changes: [{ metricId: "coins", op: "incr", value: 1 }], reason: "" }),
      () => service.products.redeem(merged, order),
    ]) {
      await assert.rejects(refused, error => error instanceof AppError && error.code === "forbidden");
    }
  });
});

function pick({ coins, points }: Readonly<Record<string, number>>): object {
  return { coins, points };
}

async function disposable(
  opening: Promise<TestPlatform>,
): Promise<AsyncDisposable & { readonly world: TestPlatform }> {
  const world = await opening;
  return { world, [Symbol.asyncDispose]: () => world.dispose() };
}
