/** What a process with a clock far ahead has written does not date what happens to its users afterwards. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import { ids, openPlatform, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";

const aheadMs = 26 * 3_600_000;

/** Reports an action of a user through a process whose clock is ahead, as a back end. */
async function actAhead(world: TestPlatform, userId: string): Promise<void> {
  const { store, clock } = world;
  const options = { store, secret: testSecret, defaultSpaceId: ids.space, logger: silentLogger } as const;
  const ahead = await createPlatform({ ...options, clock: () => clock.now() + aheadMs });
  const { key, secret } = await ahead.apiKeys.create({
    organisationId: ids.organisation,
    name: "Back end",
    permissions: ["actions:write"],
  });
  const call = async (path: string, body: unknown, token = ""): Promise<Response> =>
    await ahead.fetch(
      new Request(`http://club.example${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      }),
    );
  const issued = await (await call("/api/auth/token", { type: "service", key, secret })).json();
  const action = { action: "prediction", data: { outcome: "right" } };
  const answer = await call(`/api/loyalty/action?user_id=${userId}`, action, issued.data.accessToken);
  assert.equal(answer.status, 200);
  await ahead.idle();
  await ahead.close();
}

describeOnEveryStore("a user of whom a process with a clock ahead has written", open => {
  it("goes on in the present", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    await actAhead(world, fan.userId);
    world.clock.advance(1_000);
    await fan.act("prediction", { outcome: "right" });
    const { data } = (await world.call("/api/loyalty/history", { token: fan.token })).json;
    const times = data.map(({ timestamp }: { timestamp: number }) => timestamp * 1_000 - world.clock.now());
    assert.deepEqual(times, [aheadMs - 1_000, 0]);
    assert.equal((await fan.profile()).metrics.points, 2);
  });
});
