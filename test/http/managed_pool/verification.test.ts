/** Addresses that their users prove with a mailed code. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { createSmtpMailer } from "../../../adapters/mail/mod.ts";
import { codeAgeMsMax, codeTriesMax } from "../../../lib/fans/identity/codes/codes.ts";
import { ids } from "../../support/platform.ts";
import { TestSmtpServer } from "../../support/smtp.ts";
import { describeOnStores } from "../../support/stores.ts";
import { deviceId, Pool, pool as selector } from "./_pool.ts";

const email = "Ann@example.com";
const moved = "ann.new@example.com";
const required = { identity: { emailVerification: "required" } };

describeOnStores("a project that demands verified addresses", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open, required);
    await pool.register(email);
  });
  afterEach(() => pool.dispose());

  it("lets a user in after the mailed code, and not before", async () => {
    const refused = await pool.login(email);
    assert.deepEqual(
      [refused.status, refused.json.data.code, refused.json.data.action],
      [403, "email_not_verified", "none"],
    );
    const code = await pool.emailCode("ann@EXAMPLE.com");
    assert.match(code, /^\d{8}$/);
    assert.deepEqual(
      [pool.mails[0]?.to, pool.mails[0]?.kind, pool.mails[0]?.code],
      [email, "emailCode", code],
    );
    const { status, json } = await pool.confirmEmail("ann@example.com", code);
    assert.deepEqual([status, json], [200, { result: 1, message: "OK", data: {} }]);
    const { accessToken } = (await pool.login(email)).json.data;
    for (const profile of [await pool.profile(accessToken), await pool.check(accessToken)]) {
      assert.equal(profile.json.data.emailVerified, true);
    }
    assert.equal((await pool.confirmEmail(email, code)).json.data.code, "invalid_code");
  });

  it("tells only those who know the password that an address is not verified, for one derivation", async () => {
    for (const [login, code] of [
      [() => pool.login(email), "email_not_verified"],
      [() => pool.login(email, { password: "wrong password" }), "invalid_credentials"],
      [() => pool.login("nobody@example.com"), "invalid_credentials"],
    ] as const) {
      const [answer, cost] = await pool.costOf(login);
      assert.deepEqual([answer.json.data.code, cost], [code, 1]);
    }
  });

  it("takes no code that is old, replaced, spent, of another address or for a new password", async () => {
    const first = await pool.emailCode(email);
    const second = await pool.emailCode(email);
    if (first !== second) assert.equal((await pool.confirmEmail(email, first)).status, 400);
    assert.equal((await pool.confirmEmail("b@example.com", second)).json.data.code, "invalid_code");
    assert.equal((await pool.confirm(email, second)).json.data.code, "invalid_code");
    assert.equal((await pool.confirmEmail(email, await pool.code(email))).json.data.code, "invalid_code");
    for (let attempt = 0; attempt < codeTriesMax; attempt++) await pool.confirmEmail(email, "nonsense");
    assert.equal((await pool.confirmEmail(email, second)).json.data.code, "invalid_code");
    const third = await pool.emailCode(email);
    pool.world.clock.advance(codeAgeMsMax);
    assert.equal((await pool.confirmEmail(email, third)).json.data.code, "invalid_code");
    assert.equal((await pool.login(email)).json.data.code, "email_not_verified");
  });

  it("asks again after a change of the address, and takes no code of the old one", async () => {
    await pool.confirmEmail(email, await pool.emailCode(email));
    const { accessToken } = (await pool.login(email)).json.data;
    const first = "ann.first@example.com";
    await pool.update(accessToken, { email: first });
    const stale = await pool.emailCode(first);
    await pool.update(accessToken, { email: moved });
    assert.equal((await pool.profile(accessToken)).json.data.emailVerified, false);
    assert.equal((await pool.login(moved)).json.data.code, "email_not_verified");
    for (const one of [first, moved]) {
      assert.equal((await pool.confirmEmail(one, stale)).json.data.code, "invalid_code");
    }
    assert.equal((await pool.confirmEmail(moved, await pool.emailCode(moved))).status, 200);
    assert.equal((await pool.login(moved)).status, 200);
  });

  it("takes a new password by mail for a verification", async () => {
    assert.equal(
      (await pool.confirm(email, await pool.code(email), { password: "correct horse battery" })).status,
      200,
    );
    assert.equal((await pool.login(email)).status, 200);
    pool.mails.length = 0;
    assert.equal(await pool.emailCode(email), "", "nothing is left to verify");
  });

  it("forgets the codes of a deleted account", async () => {
    const code = await pool.emailCode(email);
    await pool.confirmEmail(email, code);
    const { accessToken } = (await pool.login(email)).json.data;
    await pool.update(accessToken, { email: moved });
    const pending = await pool.emailCode(moved);
    const path = `/v1/user?${new URLSearchParams({ ...selector })}`;
    assert.equal((await pool.world.call(path, { method: "DELETE", token: accessToken })).status, 200);
    await pool.register(moved);
    assert.equal((await pool.confirmEmail(moved, pending)).json.data.code, "invalid_code");
  });

  it("needs a client token or an access token of the project", async () => {
    const other = await pool.world.platform.clientTokens.issue(ids.otherProject);
    for (const [token, code] of [
      [null, "missing_token"],
      [other, "invalid_token"],
    ] as const) {
      for (const answer of [
        await pool.verifyEmail(email, token),
        await pool.confirmEmail(email, "1", token),
      ]) {
        assert.deepEqual([answer.status, answer.json.data.code], [401, code]);
      }
    }
  });

  it("mails once a minute, answers alike, and lets a venue of 60 in within that minute", async () => {
    const limited = await Pool.open(open, { ...required, isLimited: true });
    try {
      await limited.register(email);
      const answers = [];
      for (let attempt = 0; attempt < 3; attempt++) answers.push((await limited.verifyEmail(email)).text);
      assert.equal(new Set(answers).size, 1);
      await limited.world.platform.idle();
      assert.equal(limited.mails.length, 1);
      const statuses = [];
      for (let fan = 3; fan < 61; fan++)
        statuses.push((await limited.verifyEmail(`fan${fan}@example.com`)).status);
      assert.deepEqual([new Set(statuses.slice(0, -1)), statuses.at(-1)], [new Set([200]), 429]);
    } finally {
      await limited.dispose();
    }
  });

  it("lets a user in who failed too often before the code came", async () => {
    const limited = await Pool.open(open, { ...required, isLimited: true });
    try {
      await limited.register(email);
      for (let attempt = 0; attempt < 6; attempt++) await limited.login(email);
      assert.equal((await limited.login(email)).json.data.code, "too_many_attempts");
      assert.equal((await limited.confirmEmail(email, await limited.emailCode(email))).status, 200);
      assert.equal((await limited.login(email)).status, 200);
    } finally {
      await limited.dispose();
    }
  });

  it("mails the code over SMTP", async () => {
    await using server = await TestSmtpServer.start();
    await using mailer = createSmtpMailer({
      url: server.url(),
      from: "Club <club@example.org>",
      ca: server.ca,
    });
    const real = await Pool.open(open, { ...required, mailer });
    try {
      await real.register(email);
      assert.equal((await real.verifyEmail(email)).status, 200);
      await real.world.platform.idle();
      const [mail] = server.mails;
      assert.deepEqual(mail?.to, [email]);
      assert.match(mail?.headers.subject ?? "", /Your code to confirm your e-mail address/);
      const code = /\b\d{8}\b/.exec(mail?.body ?? "")?.[0] ?? "";
      assert.equal((await real.confirmEmail(email, code)).status, 200);
      assert.equal((await real.login(email)).status, 200);
    } finally {
      await real.dispose();
    }
  });
});

describeOnStores("the account of an address that a stranger registered", open => {
  const strangers = { password: "the stranger's password" };
  const victims = { password: "the victim's own password" };
  let pool: Pool;
  async function openPool(emailVerification: string): Promise<void> {
    pool = await Pool.open(open, { identity: { emailVerification } });
    await pool.register(email, strangers);
  }
  afterEach(() => pool.dispose());
  const codeOf = (answer: { readonly json: { readonly data: { readonly code: string } } }) =>
    answer.json.data.code;

  it("goes to the one who confirms the address, with the password that is sent along", async () => {
    await openPool("required");
    assert.equal((await pool.register("ann@EXAMPLE.com", victims)).status, 201);
    assert.equal((await pool.register(email, strangers)).status, 201, "the stranger tries again");
    const code = await pool.emailCode(email);
    assert.equal((await pool.confirmEmail(email, code, undefined, victims)).status, 200);
    assert.equal((await pool.login(email, victims)).status, 200);
    assert.equal(codeOf(await pool.login(email, strangers)), "invalid_credentials");
  });

  it("loses every password if both registered it and none is sent along, until one is set by mail", async () => {
    await openPool("required");
    await pool.register(email, victims);
    assert.equal((await pool.confirmEmail(email, await pool.emailCode(email))).status, 200);
    for (const each of [strangers, victims]) {
      assert.equal(codeOf(await pool.login(email, each)), "invalid_credentials");
    }
    assert.equal((await pool.confirm(email, await pool.code(email), victims)).status, 200);
    assert.equal((await pool.login(email, victims)).status, 200);
    assert.equal(codeOf(await pool.login(email, strangers)), "invalid_credentials");
  });

  it("loses the stranger's sessions, which can move it no more", async () => {
    for (const more of [{}, victims]) {
      await openPool("optional");
      const { accessToken, ...session } = (await pool.login(email, strangers)).json.data;
      await pool.register(email, victims);
      const code = await pool.emailCode(email);
      assert.equal((await pool.confirmEmail(email, code, undefined, more)).status, 200);
      assert.equal(codeOf(await pool.update(accessToken, { email: moved })), "session_revoked");
      assert.equal((await pool.refresh({ accessToken, ...session })).status, 401);
      assert.equal((await pool.login(email, strangers)).status, 401);
      if (more === victims) break;
      await pool.dispose();
    }
  });

  it("stays with a registered person who confirms it within a session, whoever else registers it", async () => {
    await openPool("optional");
    const { accessToken } = (await pool.login(email, { ...strangers, deviceId })).json.data;
    const other = (await pool.login(email, strangers)).json.data;
    await pool.register(email, victims);
    assert.equal((await pool.confirmEmail(email, await pool.emailCode(email), accessToken)).status, 200);
    for (const token of [accessToken, other.accessToken]) {
      assert.equal((await pool.profile(token)).json.data.emailVerified, true);
    }
    assert.equal((await pool.login(email, strangers)).status, 200);
  });

  it("keeps the session that sends a new password along, and no other", async () => {
    await openPool("optional");
    const { accessToken } = (await pool.login(email, { ...strangers, deviceId })).json.data;
    const other = (await pool.login(email, strangers)).json.data;
    const code = await pool.emailCode(email);
    assert.equal((await pool.confirmEmail(email, code, accessToken, victims)).status, 200);
    assert.equal((await pool.profile(accessToken)).json.data.emailVerified, true);
    assert.equal(codeOf(await pool.profile(other.accessToken)), "session_revoked");
  });

  it("is not taken from its owner by an address that somebody else moved to", async () => {
    await openPool("optional");
    const { accessToken } = (await pool.login(email, strangers)).json.data;
    await pool.register(email, victims);
    await pool.update(accessToken, { email: moved });
    assert.equal((await pool.confirmEmail(moved, await pool.emailCode(moved))).status, 200);
    assert.equal((await pool.login(moved, strangers)).status, 200, "nobody else registered this address");
  });

  it("takes no weak password, which spends no code", async () => {
    await openPool("required");
    const code = await pool.emailCode(email);
    assert.equal(
      codeOf(await pool.confirmEmail(email, code, undefined, { password: "short" })),
      "weak_password",
    );
    assert.equal((await pool.confirmEmail(email, code, undefined, victims)).status, 200);
  });
});

describeOnStores("a project that does not demand verified addresses", open => {
  it("lets users in before, and verifies them if they ask", async () => {
    const pool = await Pool.open(open, { identity: { emailVerification: "optional" } });
    try {
      const { accessToken } = await pool.member(email);
      assert.equal((await pool.profile(accessToken)).json.data.emailVerified, false);
      assert.equal((await pool.confirmEmail(email, await pool.emailCode(email))).status, 200);
      assert.equal((await pool.profile(accessToken)).json.data.emailVerified, true);
    } finally {
      await pool.dispose();
    }
  });

  it("mails nothing unless it verifies addresses", async () => {
    const pool = await Pool.open(open, { identity: {} });
    try {
      assert.equal((await pool.member(email)).userId.length, 36);
      for (const answer of [await pool.verifyEmail(email), await pool.confirmEmail(email, "12345678")]) {
        assert.deepEqual([answer.status, answer.json.data.code], [400, "not_available"]);
      }
      assert.deepEqual(pool.mails, []);
    } finally {
      await pool.dispose();
    }
  });
});
