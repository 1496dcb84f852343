import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import type { Permission } from "../../lib/auth/mod.ts";
import { onceGenerationMs } from "../../lib/fans/loyalty/user/stored_state.ts";
import { createPlatform } from "../../lib/mod.ts";
import { ids, openPlatform, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

const overall = `/projects/${ids.project}/leaderboards/overall`;
const round = `/projects/${ids.project}/events/${ids.event}/leaderboards/round_1`;
const exact = { action: "prediction", data: { outcome: "exact", eventId: ids.event } };

describeOnStores("a back end that acts for users", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  async function serviceToken(...permissions: Permission[]): Promise<string> {
    const owner = { organisationId: ids.organisation, name: "Back end" };
    const { key, secret } = await world.platform.apiKeys.create({ ...owner, permissions });
    const issued = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
    return issued.json.data.accessToken;
  }

  async function scores(path: string): Promise<number[]> {
    await world.platform.idle();
    const { json } = await world.call(path);
    return json.data.map((entry: { score: number }) => entry.score);
  }

  it("needs one permission to report and one to read", async () => {
    const [writer, reader] = [await serviceToken("actions:write"), await serviceToken("users:read")];
    const { userId } = await world.fan("Sam");
    const path = `/api/loyalty/action?user_id=${userId}`;
    assertProblem(await world.call(path, { token: reader, body: exact }), 403, "insufficient_scope");
    for (const read of ["profile", "notifications", "history"]) {
      const answer = await world.call(`/api/loyalty/${read}?user_id=${userId}`, { token: writer });
      assertProblem(answer, 403, "insufficient_scope");
      assert.equal(
        (await world.call(`/api/loyalty/${read}?user_id=${userId}`, { token: reader })).status,
        200,
      );
    }
    assert.equal((await world.call(path, { token: writer, body: exact })).status, 200);
  });

  it("feeds the boards of the user's project", async () => {
    const token = await serviceToken("actions:write");
    const fan = await world.fan("Sam");
    await fan.profile();
    await world.call(`/api/loyalty/action?user_id=${fan.userId}`, { token, body: exact });
    assert.deepEqual([await scores(overall), await scores(round)], [[3], [3]]);
  });

  it("feeds the boards of the project that it names for a new user", async () => {
    const token = await serviceToken("actions:write");
    const { userId } = await world.fan("Sam");
    const query = `user_id=${userId}&project_id=${ids.project.toUpperCase()}`;
    assert.equal((await world.call(`/api/loyalty/action?${query}`, { token, body: exact })).status, 200);
    assert.deepEqual([await scores(overall), await scores(round)], [[3], [3]]);
    const other = `/api/loyalty/action?user_id=${userId}&project_id=${ids.otherProject}`;
    assertProblem(await world.call(other, { token, body: exact }), 400, "validation_failed");
  });

  it("reaches the boards of a user who signed up and has done nothing else, without naming the project", async () => {
    const token = await serviceToken("actions:write");
    const { userId } = await world.fan("Sam");
    await world.call(`/api/loyalty/action?user_id=${userId}`, { token, body: exact });
    assert.deepEqual([await scores(overall), await scores(round)], [[3], [3]]);
  });

  it("finds a once mark that a process with a fast clock wrote in the next generation", async () => {
    const start = world.clock.now();
    world.clock.advance(onceGenerationMs - (start % onceGenerationMs) - 59_999);
    const ahead = await createPlatform({
      store: world.store,
      secret: testSecret,
      clock: () => world.clock.now() + 59_999,
      defaultSpaceId: ids.space,
    });
    const fan = await world.fan("Sam");
    const member = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: fan.userId,
      projectId: ids.project,
    };
    const report = { ...exact, action: "prediction", actionId: "once", isClientReport: true };
    await ahead.loyalty.report(member, report);
    await world.platform.loyalty.report(member, report);
    assert.equal((await fan.profile()).metrics.points, 3);
    await ahead.close();
  });
});
