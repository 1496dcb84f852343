import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { recordKey, verifyRecord } from "../../../lib/auth/mod.ts";
import { Users } from "../../../lib/fans/identity/mod.ts";
import { externalIds, ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { deviceId, Pool, pool as selector } from "./_pool.ts";

const email = "ann@example.com";

describeOnStores("the profile of a user with a password", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
  });
  afterEach(() => pool.dispose());

  it("has exactly the fields and types of the specification, fetched or checked", async () => {
    const terms = { "custom:terms_optin1": "true", "custom:terms_optin2": "false" };
    const record = await pool.member(email, { nickname: "Ann", ...terms });
    const { userId, accessToken, externalId } = record;
    const answers = [
      await pool.profile(accessToken),
      await pool.check(accessToken),
      await pool.check(accessToken, randomUUID()),
    ];
    for (const { status, json } of answers) {
      assert.equal(status, 200);
      const { devices, ...data } = json.data;
      assert.deepEqual(json, { result: 1, message: "OK", data: json.data });
      assert.deepEqual(data, {
        data: { username: "Ann", email, ...terms, nickname: "Ann", userId, loginHistory: [1_750_000_000] },
        ...terms,
        updatedAt: "1750000000",
        nickname: "Ann",
        email,
        emailVerified: false,
      });
      const [{ signature, ...device }] = devices;
      const times = { lastLogin: 1_750_000_000, signUp: 1_750_000_000, timeStamp: 1_750_000_000 };
      assert.deepEqual([devices.length, device], [1, { deviceId, userId, ...times }]);
      const key = recordKey(testSecret, ids.project);
      const proof = { ...times, deviceId, userId, externalId, signature, projectId: ids.project };
      assert.equal(verifyRecord(key, proof), true);
    }
  });

  it("is refused without a good token, each time for its reason", async () => {
    const { accessToken, userId } = await pool.member(email);
    const path = `/v1/user?${new URLSearchParams(selector)}`;
    const missing = await pool.world.call(path);
    assert.deepEqual(
      [missing.status, missing.json.data.code, missing.json.data.action],
      [401, "missing_token", "login"],
    );
    assert.equal(missing.headers.get("www-authenticate")?.startsWith("Bearer"), true);
    assert.equal((await pool.profile(pool.clientToken)).json.data.code, "invalid_token");
    const other = new URLSearchParams({ ...selector, projectId: ids.otherProject });
    const foreign = await pool.world.call(`/v1/user?${other}`, { token: accessToken });
    assert.equal(foreign.json.data.code, "invalid_token");
    await new Users(pool.world.store, testSecret).update(ids.project, userId, user => ({
      ...user,
      ban: { reason: "spam", until: null },
    }));
    assert.deepEqual(
      [(await pool.profile(accessToken)).status, (await pool.check(accessToken)).json.data.code],
      [403, "account_banned"],
    );
  });

  it("is refused to users of other providers", async () => {
    const users = new Users(pool.world.store, testSecret);
    const project = await pool.world.platform.directory.project(ids.project);
    assert.ok(project !== null);
    const user = await users.create(ids.project, {
      ...externalIds.seal(randomUUID(), "external-hosted"),
      provider: "hostedIdp",
      username: "Hosted",
      signUp: 1,
      loginHistory: [],
      devices: [],
      appProfile: {},
    });
    const { tokens } = await pool.world.platform.sessions.open(project, user, { deviceId });
    assert.equal((await pool.profile(tokens.accessToken)).json.data.code, "invalid_token");
    assert.equal((await pool.update(tokens.accessToken, { nickname: "X" })).json.data.code, "invalid_token");
  });

  it("needs a device id for checks, by a setting that of the session", async () => {
    const { accessToken } = await pool.member(email);
    for (const query of [selector, { ...selector, deviceId: "no uuid" }]) {
      const answer = await pool.world.call(`/v1/user/check?${new URLSearchParams(query)}`, {
        token: accessToken,
      });
      assert.deepEqual([answer.status, answer.json.data.code], [400, "validation_failed"]);
      assert.equal(answer.json.data.fields[0].pointer, "deviceId");
    }
    const strict = await Pool.open(open, { identity: { deviceCheck: "session" } });
    try {
      const member = await strict.member(email);
      assert.equal((await strict.check(member.accessToken)).status, 200);
      assert.equal((await strict.check(member.accessToken, deviceId.toUpperCase())).status, 200);
      const { status, json } = await strict.check(member.accessToken, randomUUID());
      assert.deepEqual([status, json.data.code, json.data.action], [403, "device_mismatch", "login"]);
    } finally {
      await strict.dispose();
    }
  });

  it("is bounded per user", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      const { accessToken } = await limited.member(email);
      const statuses = new Set<number>();
      for (let attempt = 0; attempt < 120; attempt++) {
        statuses.add((await limited.check(accessToken)).status);
      }
      assert.deepEqual([...statuses], [200]);
      const { status, headers } = await limited.profile(accessToken);
      assert.deepEqual([status, headers.get("retry-after")], [429, "61"]);
    } finally {
      await limited.dispose();
    }
  });

  it("is refused while its setting is invalid, without showing the setting", async () => {
    const broken = await Pool.open(open, { identity: { deviceCheck: "sometimes" } });
    try {
      const { accessToken } = await broken.member(email);
      const { status, json } = await broken.check(accessToken);
      assert.deepEqual([status, json.data.code], [503, "provider_unavailable"]);
      assert.equal(json.message.includes("sometimes"), false);
    } finally {
      await broken.dispose();
    }
  });
});
