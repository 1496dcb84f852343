import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../../../support/platform.ts";
import { ProbeStore } from "../../../support/probe_store.ts";

const overall = `/projects/${ids.project}/leaderboards/overall`;
const round = `/projects/${ids.project}/events/${ids.event}/leaderboards/round_1`;
const exact = { eventId: ids.event, outcome: "exact" };

async function withProbe(body: (world: TestPlatform, probe: ProbeStore) => Promise<void>): Promise<void> {
  const probes: ProbeStore[] = [];
  const world = await openPlatform(async clock => {
    const probe = new ProbeStore(clock);
    probes.push(probe);
    return probe;
  });
  const [probe] = probes;
  assert.ok(probe);
  await body(world, probe);
  await world.dispose();
}

const refuseBoards: ProbeStore["always"] = async (batch, pass) => {
  if (batch.writes.every(({ key }) => key !== "board")) return await pass();
  throw new AppError("storage_unavailable", "Cannot reach the store");
};

async function scoreOn(world: TestPlatform, board: string, userId: string): Promise<number | null> {
  await world.platform.idle();
  const answer = await world.call(`${board}/users/${userId}`);
  return answer.status === 404 ? null : answer.json.data.score;
}

describe("board scores of a reported action", () => {
  it("arrive although the store's answer to the commit was lost", () =>
    withProbe(async (world, probe) => {
      const fan = await world.fan("Sam");
      let isLost = false;
      probe.always = async (batch, pass) => {
        const result = await pass();
        if (isLost || !batch.writes.some(({ key }) => key === "loyalty")) return result;
        isLost = true;
        throw new AppError("outcome_unknown", "Cannot tell whether the commit was applied");
      };
      assert.equal((await fan.act("prediction", exact, "match-1")).status, 200);
      assert.equal((await fan.profile()).metrics.points, 3);
      assert.equal(await scoreOn(world, overall, fan.userId), 3);
      assert.equal(await scoreOn(world, round, fan.userId), 3);
    }));

  it("arrive with the next work of the process once the store is back", () =>
    withProbe(async (world, probe) => {
      const fan = await world.fan("Sam");
      probe.always = refuseBoards;
      assert.equal((await fan.act("prediction", exact, "match-1")).status, 200);
      await world.platform.idle();
      await world.platform.work();
      assert.equal(await scoreOn(world, overall, fan.userId), null);
      probe.always = null;
      await world.platform.work();
      assert.equal(await scoreOn(world, overall, fan.userId), 3);
      assert.equal(await scoreOn(world, round, fan.userId), 3);
    }));

  it("arrive when the report is repeated after their delivery was given up", () =>
    withProbe(async (world, probe) => {
      const fan = await world.fan("Sam");
      probe.always = refuseBoards;
      assert.equal((await fan.act("prediction", exact, "match-1")).status, 200);
      assert.equal(await scoreOn(world, overall, fan.userId), null);
      probe.always = null;
      assert.equal((await fan.act("prediction", exact, "match-1")).status, 200);
      assert.equal(await scoreOn(world, overall, fan.userId), 3);
      assert.equal(await scoreOn(world, round, fan.userId), 3);
      assert.equal((await fan.profile()).metrics.points, 3);
    }));
});
