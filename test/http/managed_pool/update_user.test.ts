import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { Users } from "../../../lib/fans/identity/mod.ts";
import { ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { failingOnce } from "./_failing_store.ts";
import { Pool } from "./_pool.ts";

const emailClaimMsMax = 60_000;
const reauthenticationMsMax = 900_000;

const email = "ann@example.com";
const moved = "Ann.New@example.com";

describeOnStores("changing one's own data", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
  });
  afterEach(() => pool.dispose());

  it("changes nickname and terms, and answers exactly the fields of the specification", async () => {
    const { accessToken, externalId } = await pool.member(email);
    pool.world.clock.advance(1_000);
    const { status, json } = await pool.update(accessToken, { nickname: "Ann", "custom:terms_optin2": "no" });
    const data = { email, username: "Ann", externalId, projectId: ids.project };
    assert.deepEqual([status, json], [200, { result: 1, message: "OK", data }]);
    const profile = (await pool.profile(accessToken)).json.data;
    assert.deepEqual(
      [profile.nickname, profile.updatedAt, profile["custom:terms_optin1"], profile["custom:terms_optin2"]],
      ["Ann", "1750000001", "", "no"],
    );
  });

  it("moves the account to another address at once, and mails the old one", async () => {
    const { accessToken } = await pool.member(email);
    const code = await pool.code(email);
    const { json } = await pool.update(accessToken, { email: moved });
    assert.equal(json.data.email, moved);
    assert.equal((await pool.login("ann.new@example.com")).status, 200);
    assert.equal((await pool.login(email)).status, 401);
    assert.equal((await pool.confirm(email, code)).json.data.code, "invalid_code");
    await pool.world.platform.idle();
    assert.deepEqual([pool.mails.at(-1)?.kind, pool.mails.at(-1)?.to], ["emailChanged", email]);
    assert.equal((await pool.register(email)).status, 201);
    const [old, current] = [await pool.login(email), await pool.login(moved)];
    assert.notEqual(old.json.data.userId, current.json.data.userId);
  });

  it("marks the new address as unverified", async () => {
    await pool.register(email);
    await pool.confirm(email, await pool.code(email), { password: "correct horse battery" });
    const { accessToken, userId } = (await pool.login(email)).json.data;
    const users = new Users(pool.world.store, testSecret);
    assert.equal((await users.findById(ids.project, userId))?.account?.isEmailVerified, true);
    await pool.update(accessToken, { nickname: "Ann" });
    assert.equal((await users.findById(ids.project, userId))?.account?.isEmailVerified, true);
    await pool.update(accessToken, { email: moved });
    assert.equal((await users.findById(ids.project, userId))?.account?.isEmailVerified, false);
  });

  it("refuses an address that is in use, and changes neither account", async () => {
    await pool.register("b@example.com");
    const { accessToken } = await pool.member(email);
    const { status, json } = await pool.update(accessToken, { email: "B@example.com", nickname: "Thief" });
    assert.deepEqual([status, json.data.code, json.data.action], [409, "email_unavailable", "none"]);
    const { data } = (await pool.profile(accessToken)).json;
    assert.deepEqual([data.email, data.nickname], [email, ""]);
    assert.equal((await pool.login("b@example.com")).status, 200);
  });

  it("needs a login of the last quarter of an hour for the address, and for nothing else", async () => {
    const record = await pool.member(email);
    pool.world.clock.advance(reauthenticationMsMax - 1);
    const { accessToken } = (await pool.refresh(record)).json.data;
    assert.equal((await pool.update(accessToken, { email: moved })).status, 200);
    pool.world.clock.advance(1);
    const { status, json } = await pool.update(accessToken, { email });
    assert.deepEqual([status, json.data.code, json.data.action], [403, "reauth_required", "login"]);
    assert.equal((await pool.update(accessToken, { email: moved, nickname: "Ann" })).status, 200);
    const again = (await pool.login(moved)).json.data;
    assert.equal((await pool.update(again.accessToken, { email })).status, 200);
  });

  it("is bounded per account for changes of the address", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      const { accessToken } = await limited.member(email);
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 6; attempt++) {
        statuses.push((await limited.update(accessToken, { email: `ann${attempt}@example.com` })).status);
      }
      assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
    } finally {
      await limited.dispose();
    }
  });

  it("leaves one e-mail key of the user after a race, and all other addresses free", async () => {
    const { accessToken, userId } = await pool.member(email);
    const addresses = Array.from({ length: 6 }, (_, index) => `ann${index}@example.com`);
    await Promise.all(addresses.map(one => pool.update(accessToken, { email: one })));
    const users = new Users(pool.world.store, testSecret);
    const current = (await users.findById(ids.project, userId))?.account?.email ?? "";
    pool.world.clock.advance(emailClaimMsMax);
    for (const one of [email, ...addresses]) {
      const user = await users.findByKey(ids.project, { kind: "email", email: one });
      assert.equal(user?.userId, one === current ? userId : undefined, one);
    }
  });

  it("gives an address to one of many users who race for it", async () => {
    const members = await Promise.all(
      Array.from({ length: 6 }, (_, index) => pool.member(`fan${index}@example.com`)),
    );
    const answers = await Promise.all(members.map(one => pool.update(one.accessToken, { email: moved })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409]);
    const winner = answers.findIndex(({ status }) => status === 200);
    assert.equal((await pool.login(moved)).json.data.userId, members[winner].userId);
    for (let index = 0; index < 6; index++) {
      assert.equal((await pool.login(`fan${index}@example.com`)).status, index === winner ? 401 : 200);
    }
  });

  it("never leaves a user unreachable, at whatever step the store fails", async () => {
    for (let failAt = 0; failAt < 12; failAt++) {
      const store = failingOnce(open);
      const broken = await Pool.open(store.open);
      try {
        const { accessToken } = await broken.member(email);
        await broken.world.platform.idle();
        store.failAfter(failAt);
        const { status } = await broken.update(accessToken, { email: moved });
        store.failAfter(Number.POSITIVE_INFINITY);
        broken.world.clock.advance(emailClaimMsMax);
        const statuses = [(await broken.login(email)).status, (await broken.login(moved)).status];
        assert.ok(statuses.includes(200), `failed at ${failAt}: ${status}, then ${statuses}`);
        await broken.world.platform.idle();
        const { account } =
          (await new Users(broken.world.store, testSecret).findById(ids.project, await userId(broken))) ?? {};
        assert.equal((await broken.login(account?.email ?? "")).status, 200, `failed at ${failAt}`);
      } finally {
        await broken.dispose();
      }
    }
  });

  async function userId(of: Pool): Promise<string> {
    const answers = [await of.login(email), await of.login(moved)];
    return answers.find(({ status }) => status === 200)?.json.data.userId;
  }
});
