import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { ids } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { deviceId, newPassword, Pool, password, pool as selector } from "./_pool.ts";

const email = "ann@example.com";

describeOnStores("changing the password", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
  });
  afterEach(() => pool.dispose());

  const change = { password: newPassword, previousPassword: password };

  it("answers a new session record, ends every other session, and mails the user", async () => {
    const here = await pool.member(email);
    const there = (await pool.login(email)).json.data;
    const { status, json } = await pool.changePassword(here.accessToken, change);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json.data).sort(), Object.keys(here).sort());
    assert.equal(json.data.deviceId, deviceId);
    assert.notEqual(json.data.accessToken, here.accessToken);
    for (const old of [here, there]) {
      assert.equal((await pool.check(old.accessToken)).json.data.code, "session_revoked");
      assert.equal((await pool.refresh(old)).status, 401);
    }
    assert.equal((await pool.check(json.data.accessToken)).status, 200);
    assert.equal((await pool.refresh(json.data)).status, 200);
    assert.equal((await pool.login(email)).status, 401);
    assert.equal((await pool.login(email, { password: newPassword })).status, 200);
    await pool.world.platform.idle();
    assert.deepEqual(
      pool.mails.map(({ kind, to }) => [kind, to]),
      [["passwordChanged", email]],
    );
  });

  it("refuses a wrong previous password, the same one again, and a weak one", async () => {
    const { accessToken } = await pool.member(email);
    const cases = [
      [{ ...change, previousPassword: "wrong password" }, 401, "invalid_credentials", "none", 1],
      [{ password, previousPassword: password }, 400, "same_password", "none", 1],
      [{ ...change, password: "short" }, 400, "weak_password", "none", 0],
      [{ ...change, password: "password123" }, 400, "weak_password", "none", 0],
    ] as const;
    for (const [data, status, code, action, cost] of cases) {
      const [answer, count] = await pool.costOf(() => pool.changePassword(accessToken, data));
      const { data: told } = answer.json;
      assert.deepEqual([answer.status, told.code, told.action, count], [status, code, action, cost]);
    }
    assert.equal((await pool.check(accessToken)).status, 200);
    assert.equal((await pool.login(email)).status, 200);
  });

  it("counts wrong previous passwords against the session", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      const { accessToken } = await limited.member(email);
      const wrong = { ...change, previousPassword: "wrong password" };
      const codes: string[] = [];
      for (let attempt = 0; attempt < 7; attempt++) {
        codes.push((await limited.changePassword(accessToken, wrong)).json.data.code);
      }
      assert.ok(codes.filter(code => code === "invalid_credentials").length <= 5, codes.join());
      assert.equal(codes.at(-1), "too_many_attempts");
      assert.equal((await limited.changePassword(accessToken, change)).status, 429);
      const { accessToken: other } = (await limited.login(email)).json.data;
      assert.equal((await limited.changePassword(other, change)).status, 200);
    } finally {
      await limited.dispose();
    }
  });

  it("lets one of many that race win, and leaves one session", async () => {
    const { accessToken, userId } = await pool.member(email);
    const passwords = Array.from({ length: 8 }, (_, index) => `a new password ${index}`);
    const answers = await Promise.all(
      passwords.map(one => pool.changePassword(accessToken, { ...change, password: one })),
    );
    const winners = answers.filter(({ status }) => status === 200);
    assert.equal(winners.length, 1);
    for (const { status, json } of answers.filter(answer => answer.status !== 200)) {
      assert.ok(
        (status === 409 && json.data.code === "conflict") || status === 401,
        `${status} ${json.data.code}`,
      );
    }
    assert.equal((await pool.check(winners[0]?.json.data.accessToken)).status, 200);
    assert.equal((await pool.world.platform.sessions.list(ids.project, userId)).length, 1);
  });

  it("beats a refresh that races with it: no session of before is left", async () => {
    for (let round = 0; round < 8; round++) {
      const address = `fan${round}@example.com`;
      const here = await pool.member(address);
      const there = (await pool.login(address)).json.data;
      const [changed, refreshed] = await Promise.all([
        pool.changePassword(here.accessToken, change),
        pool.refresh(there),
      ]);
      assert.equal(changed.status, 200);
      if (refreshed.status === 200) {
        assert.equal((await pool.check(refreshed.json.data.accessToken)).status, 401);
        assert.equal((await pool.refresh(refreshed.json.data)).status, 401);
      }
      assert.equal((await pool.check(changed.json.data.accessToken)).status, 200);
      assert.equal((await pool.world.platform.sessions.list(ids.project, here.userId)).length, 1);
    }
  });

  it("ends the code that was mailed before", async () => {
    const { accessToken } = await pool.member(email);
    const code = await pool.code(email);
    assert.equal((await pool.changePassword(accessToken, change)).status, 200);
    assert.equal((await pool.confirm(email, code)).json.data.code, "invalid_code");
  });

  it("needs a live access token of a user with a password, of the same project", async () => {
    const { accessToken, profileToken } = await pool.member(email);
    const missing = await pool.world.call("/v1/user/change-password", {
      method: "PUT",
      body: { ...selector, data: change },
    });
    assert.deepEqual([missing.status, missing.json.data.code], [401, "missing_token"]);
    assert.equal((await pool.changePassword(profileToken, change)).json.data.code, "invalid_token");
    assert.equal((await pool.changePassword(pool.clientToken, change)).json.data.code, "invalid_token");
    const elsewhere = await pool.world.call("/v1/user/change-password", {
      method: "PUT",
      token: accessToken,
      body: { ...selector, projectId: ids.otherProject, data: change },
    });
    assert.equal(elsewhere.json.data.code, "invalid_token");
    pool.world.clock.advance(600_000);
    const { json } = await pool.changePassword(accessToken, change);
    assert.deepEqual([json.data.code, json.data.action], ["token_expired", "refresh"]);
  });
});
