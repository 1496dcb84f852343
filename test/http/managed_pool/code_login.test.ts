/** Logins with a mailed code, without a password. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { codeAgeMsMax, codeTriesMax } from "../../../lib/fans/identity/codes/codes.ts";
import { Users } from "../../../lib/fans/identity/mod.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import { createDyingStore } from "../../support/dying_store.ts";
import { ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { openCli } from "../_cli.ts";
import { deviceId, newPassword, Pool, pool as selector, visible } from "./_pool.ts";

const email = "Ann@example.com";
/** Time for which a registration that broke off holds its address, and a bit. */
const registrationMs = 61_000;
const moved = "ann.new@example.com";
const codeLoginLink = "https://club.example/enter?lang=en";
const italian = {
  ...{ code: "Il tuo codice è", life: "Vale 10 minuti.", link: "Apri la pagina" },
  loginCode: { subject: "Il <b>tuo</b> codice", lines: ["Solo & sempre per te."] },
};
const mails = { sender: "FC <i>Prova</i>", texts: { it: italian } };
const offered = { identity: { codeLogin: "on", codeLoginLink, mails } };
const codeOf = (answer: { readonly json: { readonly data: { readonly code: string } } }) =>
  answer.json.data.code;

describeOnStores("a login with a mailed code", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open, offered);
  });
  afterEach(() => pool.dispose());

  it("opens an account for a new address, and the same account again", async () => {
    const code = await pool.loginCode(email);
    const [mail] = pool.mails;
    assert.deepEqual([mail?.kind, mail?.to, mail?.code], ["loginCode", email, code]);
    const link = new URL(mail?.link ?? "");
    assert.equal(link.href.split("#")[0], codeLoginLink);
    assert.deepEqual(
      [...new URLSearchParams(link.hash.slice(1))],
      [
        ["email", email],
        ["code", code],
      ],
    );
    assert.ok(mail?.text.includes(link.href));
    const first = await pool.logInByCode(email, code, { nickname: "Ann", deviceId });
    assert.equal(first.status, 200);
    const { data } = first.json;
    const profile = (await pool.profile(data.accessToken)).json.data;
    assert.deepEqual([profile.nickname, profile.emailVerified, data.deviceId], ["Ann", true, deviceId]);
    assert.equal((await pool.refresh(data)).status, 200);
    assert.equal(codeOf(await pool.logInByCode(email, code)), "invalid_code", "a code works once");
    const again = await pool.logInByCode("ann@example.com", await pool.loginCode("ann@EXAMPLE.com"));
    assert.equal(again.json.data.userId, data.userId);
    assert.equal((await pool.check(data.accessToken)).status, 200, "the first session stays");
  });

  it("mails in the words of the project, which the command line shows before", async () => {
    const headers = { "accept-language": "it-CH, de;q=0.5" };
    const body = { ...selector, data: { email } };
    const token = pool.clientToken;
    await pool.world.call("/v1/user/login-code", { method: "PUT", body, token, headers });
    await pool.world.platform.idle();
    const { subject, text = "", html = "", sender, code = "" } = pool.mails[0] ?? {};
    assert.deepEqual([subject, sender], [italian.loginCode.subject, mails.sender]);
    for (const part of [`Il tuo codice è ${code}. Vale 10 minuti.`, "Solo & sempre per te.", mails.sender])
      assert.ok(text.includes(part), text);
    for (const part of ['lang="it"', "Il &#60;b&#62;tuo&#60;/b&#62; codice", "Solo &#38; sempre per te."])
      assert.ok(html.includes(part), html);
    assert.ok(!html.includes("<b>") && !html.includes("<i>"), html);
    const cli = await openCli(pool.world);
    const shown = await cli(`mails preview loginCode --project ${ids.project} --language it`);
    const link = /https:\S+/;
    const expected = `${subject}\n\n${text}`.replace(code, "12345678").replace(link, "");
    assert.equal(shown.stdout.replace(link, "").trim(), expected.trim());
  });

  it("lets exactly one of racers in, and makes one account", async () => {
    const code = await pool.loginCode(email);
    const racers = await Promise.all([1, 2, 3, 4].map(() => pool.logInByCode(email, code)));
    assert.deepEqual(racers.map(({ status }) => status).toSorted(), [200, 400, 400, 400]);
  });

  it("takes no code that is old, replaced, of another address or purpose, or guessed at too often", async () => {
    await pool.register(email);
    for (const other of [await pool.code(email), "nonsense"]) {
      assert.equal(codeOf(await pool.logInByCode(email, other)), "invalid_code");
    }
    const code = await pool.loginCode(email);
    assert.equal(codeOf(await pool.logInByCode(moved, code)), "invalid_code");
    assert.equal(codeOf(await pool.confirm(email, code)), "invalid_code");
    for (let attempt = 0; attempt < codeTriesMax; attempt++) await pool.logInByCode(email, "nonsense");
    assert.equal(codeOf(await pool.logInByCode(email, code)), "invalid_code");
    const late = await pool.loginCode(email);
    pool.world.clock.advance(codeAgeMsMax);
    assert.equal(codeOf(await pool.logInByCode(email, late)), "invalid_code");
  });

  it("ends what a stranger set before the owner proved the address, and nothing afterwards", async () => {
    const { accessToken } = await pool.member(email);
    const owner = (await pool.logInByCode(email, await pool.loginCode(email))).json.data;
    assert.equal(codeOf(await pool.profile(accessToken)), "session_revoked");
    assert.equal(codeOf(await pool.login(email)), "invalid_credentials");
    await pool.confirm(email, await pool.code(email), { password: "a password of Ann's" });
    const kept = (await pool.login(email, { password: "a password of Ann's" })).json.data;
    assert.equal(kept.userId, owner.userId);
    assert.equal((await pool.logInByCode(email, await pool.loginCode(email))).status, 200);
    assert.equal((await pool.profile(kept.accessToken)).status, 200);
    assert.equal((await pool.login(email, { password: "a password of Ann's" })).status, 200);
  });

  it("makes the anonymous user of the device the account, or merges it into one that exists", async () => {
    const anonymous = await pool.anonymous();
    const { externalId } = anonymous;
    const code = await pool.loginCode(email);
    const { data } = (await pool.logInByCode(email, code, { externalId, deviceId })).json;
    assert.equal(data.userId, anonymous.userId);
    const next = await pool.anonymous("0123abcd-0000-4000-8000-0000000000d2");
    const pair = { externalId: next.externalId, deviceId: next.deviceId };
    const merged = (await pool.logInByCode(email, await pool.loginCode(email), pair)).json.data;
    assert.equal(merged.userId, data.userId);
    await pool.world.platform.idle();
    assert.deepEqual(
      pool.merges.map(({ from, into }) => [from, into]),
      [[next.userId, data.userId]],
    );
  });

  it("answers alike, for one derivation, whoever has the address", async () => {
    await pool.register(email);
    const asks = [email, "nobody@example.com"];
    const begun = await Promise.all(asks.map(one => pool.mailLoginCode(one)));
    const tried = await Promise.all(asks.map(one => pool.logInByCode(one, "00000000")));
    for (const [known, unknown] of [begun, tried])
      assert.deepEqual(known && visible(known), unknown && visible(unknown));
    for (const one of asks) {
      assert.equal((await pool.costOf(() => pool.mailLoginCode(one)))[1], 1);
      assert.equal((await pool.costOf(() => pool.logInByCode(one, "00000000")))[1], 1);
    }
  });

  it("tells a banned user after the code alone, and forgets codes with the account", async () => {
    const { accessToken, userId } = (await pool.logInByCode(email, await pool.loginCode(email))).json.data;
    const pending = await pool.loginCode(email);
    const path = `/v1/user?${new URLSearchParams(selector)}`;
    assert.equal((await pool.world.call(path, { method: "DELETE", token: accessToken })).status, 200);
    assert.equal(codeOf(await pool.logInByCode(email, pending)), "invalid_code");
    const next = (await pool.logInByCode(email, await pool.loginCode(email))).json.data;
    assert.notEqual(next.userId, userId);
    const ban = { reason: "spam", until: null };
    await new Users(pool.world.store, testSecret).update(ids.project, next.userId, old => ({ ...old, ban }));
    const refused = await pool.logInByCode(email, await pool.loginCode(email));
    assert.deepEqual([refused.status, codeOf(refused)], [403, "account_banned"]);
  });

  it("needs a client token or an access token of the project", async () => {
    for (const answer of [
      await pool.mailLoginCode(email, null),
      await pool.logInByCode(email, "12345678", {}, null),
    ]) {
      assert.deepEqual([answer.status, codeOf(answer)], [401, "missing_token"]);
    }
    assert.equal((await pool.mailLoginCode("a<b@example.com")).status, 400);
  });
});

describeOnStores("a project with logins by code", open => {
  it("mails once a minute, and lets a venue of 60 in within that minute", async () => {
    const pool = await Pool.open(open, { ...offered, isLimited: true });
    try {
      for (let attempt = 0; attempt < 3; attempt++)
        assert.equal((await pool.mailLoginCode(email)).status, 200);
      await pool.world.platform.idle();
      assert.equal(pool.mails.length, 1);
      const mails: number[] = [];
      for (let fan = 3; fan < 61; fan++)
        mails.push((await pool.mailLoginCode(`fan${fan}@example.com`)).status);
      assert.deepEqual([new Set(mails.slice(0, -1)), mails.at(-1)], [new Set([200]), 429]);
      const tries: number[] = [];
      for (let fan = 0; fan < 61; fan++)
        tries.push((await pool.logInByCode(`fan${fan}@example.com`, "1")).status);
      assert.deepEqual([new Set(tries.slice(0, -1)), tries.at(-1)], [new Set([400]), 429]);
    } finally {
      await pool.dispose();
    }
  });

  it("mails nobody new while registration is closed, and offers nothing unless the project does", async () => {
    const closed = await Pool.open(open, { identity: { ...offered.identity, registration: "closed" } });
    const without = await Pool.open(open, { identity: {} });
    try {
      assert.equal(await closed.loginCode(email), "");
      for (const answer of [await without.mailLoginCode(email), await without.logInByCode(email, "1")])
        assert.deepEqual([answer.status, codeOf(answer)], [400, "not_available"]);
    } finally {
      await closed.dispose();
      await without.dispose();
    }
  });
});

type Enter = (pool: Pool) => Promise<string | null>;

/** Ways to get into an account; each returns its user, or null where that is not possible. */
const byPassword: Enter = async pool => (await pool.login(email)).json.data.userId ?? null;
const otherWays: readonly Enter[] = [
  async pool => (await pool.logInByCode(email, await pool.loginCode(email))).json.data.userId,
  async pool => {
    await pool.confirm(email, await pool.code(email));
    return (await pool.login(email, { password: newPassword })).json.data.userId;
  },
  async pool => {
    await pool.confirmEmail(email, await pool.emailCode(email));
    return await byPassword(pool);
  },
];

describe("a registration that breaks off", () => {
  it("keeps the address for the first who logs in within a minute, by password or code", async () => {
    let at = 0;
    // The first step after which there is an account; it would be free again after the minute.
    while (!(await getsIn(byPassword, at))) at += 1;
    for (const enter of otherWays) assert.ok(await getsIn(enter, at));
  });

  /** Enters after a registration that died at a step, and again after the minute: as the same user. False where nobody gets in. */
  async function getsIn(enter: Enter, at: number): Promise<boolean> {
    const options = { identity: { ...offered.identity, emailVerification: "optional" } };
    let lasting: Store | undefined;
    const pool = await Pool.open(async clock => {
      lasting = createMemoryStore({ clock });
      return lasting;
    }, options);
    assert.ok(lasting !== undefined);
    const dying = createDyingStore(lasting);
    const mortal = await Pool.open(async () => dying, options);
    dying.dieAt({ at, when: "after" });
    assert.equal((await mortal.register(email)).status, 503);
    const userId = await enter(pool);
    if (userId === null) return false;
    pool.world.clock.advance(registrationMs);
    const next = await pool.logInByCode(email, await pool.loginCode(email));
    assert.equal(next.json.data.userId, userId);
    return true;
  }
});
