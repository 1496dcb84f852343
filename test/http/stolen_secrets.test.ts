/** The ends of stolen secrets, as the table of lib/auth/README.md promises them. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };

describeOnStores("a stolen space token", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  async function issue(proof: object): Promise<string> {
    return (await world.call("/api/auth/token", { body: proof })).json.data.accessToken;
  }

  it("of a user without sessions ends with a ban, the end of all sessions and the removal", async () => {
    const issued = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Operators",
      permissions: ["users:write"],
    });
    const headers = { "x-api-key": issued.key, "x-api-secret": issued.secret };
    const ends = [
      ["PUT", "/ban", { reason: "stolen phone" }],
      ["DELETE", "/sessions", undefined],
      ["DELETE", "", undefined],
    ] as const;
    for (const [method, action, body] of ends) {
      const created = await world.call("/v1/user", { body: { ...noLogin, data: { username: "Sam" } } });
      const record = created.json.data;
      const token = await issue({ type: "sessionRecord", projectId: ids.project, record });
      assert.equal((await world.call("/api/loyalty/profile", { token })).status, 200);
      // The second of the token itself counts as before, or whoever gets one each second would keep one.
      const path = `/internal/identity/projects/${ids.project}/users/${record.userId}${action}`;
      const sent = { method, headers, ...(body === undefined ? {} : { body }) };
      assert.equal((await world.call(path, sent)).status, 200);
      world.clock.advance(5_000);
      for (const path of ["/api/loyalty/profile", "/api/loyalty/history"]) {
        assertProblem(await world.call(path, { token }), 401, "session_revoked");
      }
      const report = { method: "POST", token, body: { action: "share", data: {} } };
      assertProblem(await world.call("/api/loyalty/action", report), 401, "session_revoked");
    }
  });

  it("of a back end ends with the secret that it was issued for", async () => {
    const { organisation: organisationId } = ids;
    const permissions = ["users:read"] as const;
    const { key, secret } = await world.platform.apiKeys.create({ organisationId, name: "CRM", permissions });
    const serviceToken = (current: string): Promise<string> =>
      issue({ type: "service", key, secret: current });
    const read = (token: string): Promise<Answer> =>
      world.call("/api/loyalty/profile?user_id=somebody", { token });
    const first = await serviceToken(secret);
    world.clock.advance(1_000);
    const reference = { organisationId, keyId: key };
    const second = await world.platform.apiKeys.rotate(reference, { graceMs: 60_000 });
    world.clock.advance(1_000);
    const during = await serviceToken(second.secret);
    world.clock.advance(57_000);
    assert.equal((await read(first)).status, 200);
    world.clock.advance(2_000);
    assertProblem(await read(first), 401, "session_revoked");
    assert.equal((await read(during)).status, 200);
    const third = await world.platform.apiKeys.rotate(reference, { graceMs: 0 });
    world.clock.advance(5_000);
    assertProblem(await read(during), 401, "session_revoked");
    assert.equal((await read(await serviceToken(third.secret))).status, 200);
  });
});
