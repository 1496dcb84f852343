/** Deletion of users whom only a back end reports. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ids, openPlatform, seed } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { backEnd } from "./_back_end.ts";

const audience = "/v1/api/audience/internal";
const inProject = (project: string, userId: string): string =>
  `/internal/identity/projects/${project}/users/${userId}`;

describeOnStores("users who never sign up", open => {
  it("are deleted by operators, with loyalty, profile, scores and place in searches", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const call = await backEnd(world, ["rewards:write", "users:read", "users:write"]);
    const reward = { type: "metric", currency: "points", amount: 7 };
    const rewards = [
      { userId: "till-1", rewardId: "a", projectId: ids.project, ...reward },
      { userId: "till-2", rewardId: "b", ...reward },
    ];
    assert.equal((await call(`${audience}/rewards/bulk`, { body: { rewards } })).status, 200);
    const updates = [{ userId: "till-3", displayName: "Till" }];
    assert.equal((await call(`${audience}/profiles/update-batch`, { body: { updates } })).status, 200);
    const fan = await world.fan("Sam");
    await fan.act("prediction", { outcome: "exact" });
    await world.platform.idle();
    const found = async (): Promise<string[]> =>
      (await call(`${audience}/users/search`, { body: { fields: ["userId"] } })).json.data
        .map(({ userId }: { userId: string }) => userId)
        .toSorted();
    const ranked = async (): Promise<string[]> =>
      (await call(`/projects/${ids.project}/leaderboards/overall`)).json.data.map(
        ({ userId }: { userId: string }) => userId,
      );
    const everybody = [fan.userId, "till-1", "till-2", "till-3"].toSorted();
    assert.deepEqual(await found(), everybody);
    assert.deepEqual(await ranked(), ["till-1", fan.userId]);

    const remove = async (project: string, userId: string): Promise<number> =>
      (await call(inProject(project, userId), { method: "DELETE" })).status;
    assert.equal(await remove(ids.project, "nobody"), 404);
    assert.equal(await remove(ids.otherProject, "till-2"), 404, "of another organisation");
    const rival = await backEnd(world, ["users:write"], ids.otherOrganisation);
    const foreign = await rival(inProject(ids.otherProject, "till-1"), { method: "DELETE" });
    assert.equal(foreign.status, 404, "known to this organisation alone");
    assert.deepEqual(await found(), everybody);

    for (const userId of ["till-1", "till-2", "till-3"]) {
      assert.equal(await remove(ids.project, userId), 200, userId);
      assert.equal(await remove(ids.project, userId), 404, "done already");
    }
    assert.deepEqual(await found(), [fan.userId]);
    assert.deepEqual(await ranked(), [fan.userId]);
    const profiles = await call(`${audience}/profiles?user_ids=till-1,till-2,till-3,${fan.userId}`);
    assert.deepEqual(
      profiles.json.users.map(({ data }: { data: unknown }) => data !== null),
      [false, false, false, true],
    );
  });

  it("are not deleted under another project than their own", async t => {
    const sibling = "0c000000-0000-4000-8000-00000000000b";
    const [project] = seed.projects;
    assert.ok(project !== undefined);
    const projects = [...seed.projects, { ...project, id: sibling, name: "Sibling" }];
    const world = await openPlatform(open, { seed: { ...seed, projects } });
    t.after(() => world.dispose());
    const call = await backEnd(world, ["users:read", "users:write"]);
    const fan = await world.fan("Sam");
    await fan.act("prediction", { outcome: "exact" });
    assert.equal((await call(inProject(sibling, fan.userId), { method: "DELETE" })).status, 404);
    const profile = await call(`${audience}/profiles?user_ids=${fan.userId}`);
    assert.equal(profile.json.users[0].data.loyalty.metrics.points, 3);
  });
});
