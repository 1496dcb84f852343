/** From an anonymous user to an account: in place, or by a merge. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { Users } from "../../../lib/fans/identity/mod.ts";
import { type Answer, ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { anonymous, deviceId, Pool, visible } from "./_pool.ts";

const email = "ann@example.com";

describeOnStores("an anonymous user who registers", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
  });
  afterEach(() => pool.dispose());

  function pairOf(record: Answer["json"]): { externalId: string; deviceId: string } {
    return { externalId: record.externalId, deviceId: record.deviceId };
  }

  function loginAnonymous(record: Answer["json"]): Promise<Answer> {
    const body = { ...anonymous, data: pairOf(record) };
    return pool.world.call("/v1/user/login", { method: "PUT", body });
  }

  async function spaceToken(record: Answer["json"]): Promise<Answer> {
    const { isNew: _, accessToken: __, refreshToken: ___, profileToken: ____, ...signed } = record;
    const body = { type: "sessionRecord", projectId: ids.project, record: signed };
    return await pool.world.call("/api/auth/token", { body });
  }

  async function points(record: Answer["json"]): Promise<number> {
    const token = (await spaceToken(record)).json.data.accessToken;
    return (await pool.world.call("/api/loyalty/profile", { token })).json.data.metrics.points;
  }

  it("stays the same user, with points and rank", async () => {
    const record = await pool.anonymous();
    const token = (await spaceToken(record)).json.data.accessToken;
    const action = { action: "prediction", data: { outcome: "exact" } };
    await pool.world.call("/api/loyalty/action", { token, body: action });
    await pool.world.platform.idle();
    const fresh = await pool.register("fresh@example.com");
    const upgraded = await pool.register(email, { ...pairOf(record), nickname: "Ann" });
    assert.deepEqual(visible(upgraded), visible(fresh));
    const login = (await pool.login(email)).json.data;
    assert.deepEqual(
      [login.userId, login.externalId, login.signUp],
      [record.userId, record.externalId, record.signUp],
    );
    assert.equal(await points(login), 3);
    const { json } = await pool.world.call(
      `/projects/${ids.project}/leaderboards/overall/users/${record.userId}`,
    );
    assert.deepEqual([json.data.score, json.data.publicProfile.username], [3, "Ann"]);
  });

  it("is led to by the password alone from then on: neither by its ids nor by its device", async () => {
    const record = await pool.anonymous();
    await pool.register(email, pairOf(record));
    assert.equal((await loginAnonymous(record)).json.data.code, "invalid_credentials");
    const again = await pool.anonymous();
    assert.notEqual(again.userId, record.userId);
    assert.equal(again.isNew, true);
    assert.equal((await pool.anonymous()).userId, again.userId);
    assert.equal((await pool.login(email)).json.data.userId, record.userId);
  });

  it("is unchanged by an address in use, with the same answer", async () => {
    await pool.register(email);
    const record = await pool.anonymous();
    const [taken, free] = [
      await pool.register(email, pairOf(record)),
      await pool.register("free@example.com"),
    ];
    assert.deepEqual(visible(taken), visible(free));
    assert.equal((await loginAnonymous(record)).status, 200);
    assert.notEqual((await pool.login(email)).json.data.userId, record.userId);
    await pool.world.platform.idle();
    assert.deepEqual(
      pool.mails.map(({ kind }) => kind),
      ["alreadyRegistered"],
    );
  });

  it("is answered alike when the request is repeated", async () => {
    const record = await pool.anonymous();
    const [first, second] = [
      await pool.register(email, pairOf(record)),
      await pool.register(email, pairOf(record)),
    ];
    assert.deepEqual(visible(first), visible(second));
    assert.equal((await pool.login(email)).json.data.userId, record.userId);
  });

  it("becomes one user of many that race with different addresses, and each address gets an account", async () => {
    const record = await pool.anonymous();
    const addresses = Array.from({ length: 6 }, (_, index) => `ann${index}@example.com`);
    await Promise.all(addresses.map(one => pool.register(one, pairOf(record))));
    const found: string[] = [];
    for (const one of addresses) found.push((await pool.login(one)).json.data.userId);
    assert.equal(new Set(found).size, addresses.length);
    assert.equal(found.filter(userId => userId === record.userId).length, 1);
  });

  it("must prove to be the one", async () => {
    const record = await pool.anonymous();
    const wrong = [
      { ...pairOf(record), deviceId: randomUUID() },
      { ...pairOf(record), externalId: "a".repeat(32) },
    ];
    for (const pair of wrong) {
      const { status, json } = await pool.register(email, pair);
      assert.deepEqual([status, json.data.code], [401, "invalid_credentials"]);
    }
    assert.equal((await pool.login(email)).status, 401);
    assert.equal((await loginAnonymous(record)).status, 200);
  });

  it("needs the signed record if the project demands it", async () => {
    const strict = await Pool.open(open, { identity: { requireSignature: true } });
    try {
      const record = await strict.anonymous();
      const { timeStamp, signature } = record;
      assert.equal((await strict.register(email, pairOf(record))).json.data.code, "validation_failed");
      const forged = { ...pairOf(record), timeStamp, signature: "0".repeat(64) };
      assert.equal((await strict.register(email, forged)).json.data.code, "invalid_credentials");
      await strict.register(email, { ...pairOf(record), timeStamp, signature });
      assert.equal((await strict.login(email)).json.data.userId, record.userId);
    } finally {
      await strict.dispose();
    }
  });

  it("is merged once into the account that it logs in to", async () => {
    const account = await pool.member(email);
    const record = await pool.anonymous();
    pool.world.clock.advance(1_000);
    await Promise.all(Array.from({ length: 8 }, () => pool.login(email, pairOf(record))));
    await pool.login(email, pairOf(record));
    await pool.world.platform.idle();
    assert.deepEqual(pool.merges, [{ projectId: ids.project, from: record.userId, into: account.userId }]);
    const from = await new Users(pool.world.store, testSecret).findById(ids.project, record.userId);
    assert.equal(from?.mergedInto, account.userId);
    assert.equal((await loginAnonymous(record)).json.data.code, "invalid_credentials");
    pool.world.clock.advance(6_000);
    assert.notEqual((await spaceToken(record)).status, 200);
    assert.equal((await pool.anonymous()).isNew, true);
  });

  it("is not merged by a login that fails, by a wrong pair, or by an account of its own", async () => {
    const own = await pool.anonymous();
    await pool.register(email, pairOf(own));
    await pool.login(email, pairOf(own));
    const record = await pool.anonymous();
    await pool.login(email, { ...pairOf(record), password: "wrong password" });
    assert.equal((await pool.login(email, { ...pairOf(record), deviceId })).status, 200);
    await pool.world.platform.idle();
    assert.deepEqual(
      pool.merges.map(({ from }) => from),
      [record.userId],
    );
    const other = await pool.anonymous(randomUUID());
    assert.equal((await pool.login(email, { ...pairOf(other), deviceId: randomUUID() })).status, 200);
    await pool.world.platform.idle();
    assert.equal(pool.merges.length, 1);
  });

  it("is logged in although the hook of the merge fails", async () => {
    const failing = await Pool.open(open, {
      platform: {
        identity: {
          onMerge: () => {
            throw new Error("no such table");
          },
        },
      },
    });
    try {
      await failing.register(email);
      const record = await failing.anonymous();
      assert.equal((await failing.login(email, pairOf(record))).status, 200);
      await failing.world.platform.idle();
      assert.ok(failing.logged.includes("background_work_failed"));
    } finally {
      await failing.dispose();
    }
  });
});
