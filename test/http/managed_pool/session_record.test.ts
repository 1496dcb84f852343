/** A session record proves its user while the session that it was issued in lives, and no longer. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { sessionStalenessMsMax } from "../../../lib/fans/identity/sessions/sessions.ts";
import { type Answer, ids } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { assertProblem } from "../_problem.ts";
import { deviceId, newPassword, Pool, password, pool as selector } from "./_pool.ts";

const email = "ann@example.com";
const refreshRetryMs = 24 * 3_600_000;

describeOnStores("the session record of a user with sessions", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
  });
  afterEach(() => pool.dispose());

  /** Exchanges the record of an answer, which may carry tokens as well. */
  function exchange(answer: Answer["json"]): Promise<Answer> {
    const { accessToken: _, profileToken: __, refreshToken: ___, lastLogin: ____, ...record } = answer;
    const body = { type: "sessionRecord", projectId: ids.project, record };
    return pool.world.call("/api/auth/token", { body });
  }
  function logOut(token: string): Promise<Answer> {
    return pool.world.call("/v1/user/logout", { token, body: selector });
  }
  async function deviceItem(record: Answer["json"]): Promise<Answer["json"]> {
    const [item] = (await pool.profile(record.accessToken)).json.data.devices;
    return { ...item, externalId: record.externalId };
  }
  const read = (token: string): Promise<Answer> => pool.world.call("/api/loyalty/profile", { token });

  it("opens the space while its session lives, also as a device of the profile and after a refresh", async () => {
    const record = await pool.member(email);
    pool.world.clock.advance(60_000);
    const refreshed = (await pool.refresh(record)).json.data;
    for (const proof of [record, refreshed, await deviceItem(refreshed)]) {
      const { status, json } = await exchange(proof);
      assert.equal(status, 200);
      assert.equal((await read(json.data.accessToken)).status, 200);
    }
  });

  it("is refused after logout, in every form, and the space tokens for it end too", async () => {
    const record = await pool.member(email);
    const item = await deviceItem(record);
    const token = (await exchange(item)).json.data.accessToken;
    await logOut(record.accessToken);
    assertProblem(await exchange(record), 401, "session_revoked");
    assertProblem(await exchange(item), 401, "session_revoked");
    pool.world.clock.advance(sessionStalenessMsMax);
    assertProblem(await read(token), 401, "session_revoked");
  });

  it("is refused after a refresh token was used again", async () => {
    const record = await pool.member(email);
    const refreshed = (await pool.refresh(record)).json.data;
    pool.world.clock.advance(refreshRetryMs + 1);
    assert.equal((await pool.refresh(record)).json.data.code, "refresh_token_reused");
    for (const proof of [record, refreshed]) assertProblem(await exchange(proof), 401, "session_revoked");
  });

  it("is refused after a password change, whose answer has a new one", async () => {
    const record = await pool.member(email);
    pool.world.clock.advance(1_000);
    const change = { password: newPassword, previousPassword: password };
    const changed = await pool.changePassword(record.accessToken, change);
    assertProblem(await exchange(record), 401, "session_revoked");
    assert.equal((await exchange(changed.json.data)).status, 200);
  });

  it("is refused after a ban that was lifted", async () => {
    const record = await pool.member(email);
    const { key, secret } = await pool.world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Moderator",
      permissions: ["users:write"],
    });
    const headers = { "x-api-key": key, "x-api-secret": secret };
    const path = `/internal/identity/projects/${ids.project}/users/${record.userId}/ban`;
    await pool.world.call(path, { method: "PUT", headers, body: { reason: "abuse" } });
    assertProblem(await exchange(record), 403, "account_banned");
    await pool.world.call(path, { method: "DELETE", headers });
    assertProblem(await exchange(record), 401, "session_revoked");
  });

  it("is not revived by a later login on the device", async () => {
    const record = await pool.member(email);
    await logOut(record.accessToken);
    pool.world.clock.advance(1_000);
    const later = (await pool.login(email, { deviceId })).json.data;
    assertProblem(await exchange(record), 401, "session_revoked");
    assert.equal((await exchange(later)).status, 200);
  });
});
