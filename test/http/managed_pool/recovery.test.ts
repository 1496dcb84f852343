import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { codeAgeMsMax, codeTriesMax } from "../../../lib/fans/identity/codes/codes.ts";
import { Users } from "../../../lib/fans/identity/mod.ts";
import { ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { newPassword, Pool, password } from "./_pool.ts";

const clientTokenTtlSeconds = 31_622_400;
const codeCharactersMax = 32;

const email = "Ann@example.com";

describeOnStores("a forgotten password", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
    await pool.register(email);
  });
  afterEach(() => pool.dispose());

  it("is replaced by a mailed code, which ends every session and opens none", async () => {
    const session = (await pool.login(email)).json.data;
    const code = await pool.code("ann@EXAMPLE.com");
    assert.match(code, /^\d{8}$/);
    assert.deepEqual([pool.mails[0]?.to, pool.mails[0]?.kind], [email, "passwordCode"]);
    const { status, json } = await pool.confirm("ann@example.com", code);
    assert.deepEqual([status, json], [200, { result: 1, message: "OK", data: {} }]);
    assert.equal((await pool.check(session.accessToken)).json.data.code, "session_revoked");
    assert.equal((await pool.refresh(session)).status, 401);
    assert.equal((await pool.login(email)).status, 401);
    const { accessToken } = (await pool.login(email, { password: newPassword })).json.data;
    assert.equal((await pool.check(accessToken)).status, 200);
    await pool.world.platform.idle();
    assert.deepEqual(
      pool.mails.map(({ kind }) => kind),
      ["passwordCode", "passwordChanged"],
    );
    const user = await new Users(pool.world.store, testSecret).findByKey(ids.project, {
      kind: "email",
      email: "ann@example.com",
    });
    assert.equal(user?.account?.isEmailVerified, true);
  });

  it("takes a code once, also of many that race", async () => {
    const code = await pool.code(email);
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        pool.confirm(email, code, { password: `a new password ${index}` }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    const others = answers.filter(({ status }) => status !== 200).map(({ json }) => json.data.code);
    assert.deepEqual(new Set(others), new Set(["invalid_code"]));
    assert.equal((await pool.confirm(email, code)).json.data.code, "invalid_code");
  });

  it("takes no code that is old, replaced, spent, or of another address", async () => {
    const first = await pool.code(email);
    const second = await pool.code(email);
    if (first !== second) assert.equal((await pool.confirm(email, first)).json.data.code, "invalid_code");
    assert.equal((await pool.confirm("b@example.com", second)).json.data.code, "invalid_code");
    for (let attempt = 0; attempt < codeTriesMax; attempt++) await pool.confirm(email, "nonsense");
    assert.equal((await pool.confirm(email, second)).json.data.code, "invalid_code");
    const third = await pool.code(email);
    pool.world.clock.advance(codeAgeMsMax);
    assert.equal((await pool.confirm(email, third)).json.data.code, "invalid_code");
    assert.equal((await pool.login(email)).status, 200);
  });

  it("takes nothing for a code that is longer than any", async () => {
    assert.equal((await pool.confirm(email, "1".repeat(codeCharactersMax))).json.data.code, "invalid_code");
    const { json } = await pool.confirm(email, "1".repeat(codeCharactersMax + 1));
    assert.deepEqual(
      [json.data.code, json.data.fields[0].pointer],
      ["validation_failed", "/data/confirmationCode"],
    );
  });

  it("does not spend the code on a password that is too weak", async () => {
    const code = await pool.code(email);
    const { status, json } = await pool.confirm(email, code, { password: "short" });
    assert.deepEqual([status, json.data.code], [400, "weak_password"]);
    assert.equal((await pool.confirm(email, code)).status, 200);
  });

  it("takes the right code whoever else tried wrong ones, or asked for it", async () => {
    const stranger = "198.51.100.9";
    for (let round = 0; round < 4; round++) {
      await pool.forgot(email, undefined, stranger);
      for (let attempt = 0; attempt < 5; attempt++) {
        await pool.confirm(email, "00000000", { address: stranger });
        await pool.confirm(email, "00000000");
      }
    }
    const code = await pool.code(email);
    for (let attempt = 0; attempt < 6; attempt++) {
      assert.equal((await pool.confirm(email, "00000000", { address: stranger })).status, 400);
    }
    assert.equal((await pool.confirm(email, ` ${code.slice(0, 4)} ${code.slice(4)} `)).status, 200);
  });

  it("lets a locked account in again", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      await limited.register(email);
      for (let attempt = 0; attempt < 6; attempt++) await limited.login(email, { password: "wrong one" });
      assert.equal((await limited.login(email)).json.data.code, "too_many_attempts");
      assert.equal((await limited.confirm(email, await limited.code(email))).status, 200);
      assert.equal((await limited.login(email, { password: newPassword })).status, 200);
    } finally {
      await limited.dispose();
    }
  });

  it("is mailed about once a minute, and the others are answered alike", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      await limited.register(email);
      const answers = [];
      for (let attempt = 0; attempt < 3; attempt++) answers.push((await limited.forgot(email)).text);
      assert.equal(new Set(answers).size, 1);
      await limited.world.platform.idle();
      assert.equal(limited.mails.length, 1);
      limited.world.clock.advance(60_600);
      await limited.forgot(email);
      await limited.world.platform.idle();
      assert.equal(limited.mails.length, 2);
    } finally {
      await limited.dispose();
    }
  });

  it("needs a client token or an access token, expired or ended, of the same project", async () => {
    const { accessToken, refreshToken, profileToken } = (await pool.login(email)).json.data;
    assert.equal((await pool.forgot(email, accessToken)).status, 200);
    pool.world.clock.advance(3_600_000);
    assert.equal((await pool.check(accessToken)).json.data.code, "token_expired");
    assert.equal((await pool.forgot(email, accessToken)).status, 200);
    const code = await pool.code(email);
    assert.equal((await pool.confirm(email, code, { token: accessToken })).status, 200);
    assert.equal((await pool.forgot(email, accessToken)).status, 200);
    const other = await pool.world.platform.clientTokens.issue(ids.otherProject);
    for (const token of [refreshToken, profileToken, other, "garbage"]) {
      for (const answer of [await pool.forgot(email, token), await pool.confirm(email, "1", { token })]) {
        assert.deepEqual([answer.status, answer.json.data.code], [401, "invalid_token"]);
      }
    }
    for (const answer of [await pool.forgot(email, null), await pool.confirm(email, "1", { token: null })]) {
      assert.deepEqual([answer.status, answer.json.data.code], [401, "missing_token"]);
    }
  });

  it("outlives no client token", async () => {
    pool.world.clock.advance(clientTokenTtlSeconds * 1_000 - 1);
    assert.equal((await pool.forgot(email)).status, 200);
    pool.world.clock.advance(1);
    assert.equal((await pool.forgot(email)).json.data.code, "token_expired");
  });

  it("needs no bearer by a setting of the project", async () => {
    const lax = await Pool.open(open, { identity: { recoveryAuth: "optional" } });
    try {
      await lax.register(email);
      assert.equal((await lax.forgot(email, null)).status, 200);
      await lax.world.platform.idle();
      const code = /\b\d{8}\b/.exec(lax.mails[0]?.text ?? "")?.[0] ?? "";
      assert.equal((await lax.confirm(email, code, { token: null })).status, 200);
      assert.equal((await lax.login(email, { password })).status, 401);
    } finally {
      await lax.dispose();
    }
  });
});
