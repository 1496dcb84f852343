import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { Users } from "../../../lib/fans/identity/mod.ts";
import { externalIds, ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { Pool, password } from "./_pool.ts";

const emailBytesMax = 254;
const emailClaimMsMax = 60_000;
const nicknameCharactersMax = 100;
const termsCharactersMax = 256;

const email = "ann@example.com";

describeOnStores("registration with a password", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
  });
  afterEach(() => pool.dispose());

  it("makes one user of 64 that race for an address, and only the winner's password fits", async () => {
    const passwords = Array.from({ length: 64 }, (_, index) => `a password of racer ${index}`);
    const answers = await Promise.all(passwords.map(one => pool.register(email, { password: one })));
    assert.deepEqual([...new Set(answers.map(({ status, text }) => `${status} ${text}`))].length, 1);
    const fits: string[] = [];
    for (const one of passwords) {
      const { status, json } = await pool.login(email, { password: one });
      if (status === 200) fits.push(json.data.userId);
    }
    assert.equal(fits.length, 1);
    await pool.world.platform.idle();
    assert.equal(pool.mails.filter(({ kind }) => kind === "alreadyRegistered").length, 63);
  });

  it("accepts addresses as written and distinguishes them as mail servers may", async () => {
    for (const one of ["Zoë@example.com", "a+b@example.com", "%{}@x", "o'k@ex.co", "\u212Aim@example.com"]) {
      assert.equal((await pool.register(one)).status, 201, one);
      assert.equal((await pool.login(one)).status, 200, one);
    }
    assert.equal((await pool.login("kim@example.com")).status, 401);
    assert.equal((await pool.login("A+B@EXAMPLE.com")).status, 200);
  });

  it("refuses an invalid address at once, however long it is", async () => {
    const long = `${"x".repeat(emailBytesMax - 4)}@x.y`;
    assert.equal((await pool.register(long)).status, 201);
    const wrong = [
      "",
      "a",
      "@",
      "a@",
      "@b",
      "a@b@c",
      "a\u0000@b.c",
      "a\u200B@b.c",
      `x${long}`,
      `${"é".repeat(126)}@x.y`,
      `${"a@".repeat(10_000)}`,
    ];
    for (const one of wrong) {
      const { status, json } = await pool.register(one);
      assert.deepEqual([status, json.data.code], [400, "validation_failed"], one.slice(0, 40));
      assert.equal(json.data.fields[0].pointer, "/data/email");
    }
  });

  it("stores nickname and terms, and refuses values longer than their bound", async () => {
    const terms = { "custom:terms_optin1": "yes", "custom:terms_optin2": "x".repeat(termsCharactersMax) };
    const nickname = "😀".repeat(nicknameCharactersMax / 2);
    const { accessToken } = await pool.member(email, { nickname, ...terms });
    const { data } = (await pool.profile(accessToken)).json;
    assert.deepEqual(
      [data.nickname, data.data.username, data["custom:terms_optin1"], data.data["custom:terms_optin2"]],
      [nickname, nickname, "yes", terms["custom:terms_optin2"]],
    );
    for (const more of [
      { nickname: "x".repeat(nicknameCharactersMax + 1) },
      { "custom:terms_optin1": "x".repeat(termsCharactersMax + 1) },
      { nickname: 7 },
    ]) {
      assert.equal((await pool.register("b@example.com", more)).json.data.code, "validation_failed");
    }
  });

  it("refuses addresses that programs read as names, lists or quotes, and still logs users in who have one", async () => {
    const odd = ["a<b@example.com", "a;b@example.com", "a,b@example.com", '"a"@example.com', "a@[192.0.2.1]"];
    for (const address of odd) {
      const { status, json } = await pool.register(address);
      assert.deepEqual([status, json.data.code], [400, "validation_failed"], address);
      assert.equal((await pool.login(address)).json.data.code, "invalid_credentials");
    }
  });

  it("refuses weak passwords with the reason", async () => {
    const cases = [
      ["1234567", "too_short"],
      ["x".repeat(1_025), "too_long"],
      ["password123", "common"],
      ["aaaaaaaaaaaa", "repeated"],
      [email.toUpperCase(), "same_as_email"],
    ] as const;
    for (const [weak, reason] of cases) {
      const { status, json } = await pool.register(email, { password: weak });
      assert.deepEqual([status, json.data.code], [400, "weak_password"]);
      assert.deepEqual([json.data.fields[0].pointer, json.data.fields[0].reason], ["/data/password", reason]);
    }
    assert.equal((await pool.login(email)).status, 401);
  });

  it("heals an address that was claimed by a process that died, at once", async () => {
    const users = new Users(pool.world.store, testSecret);
    const dead = externalIds.seal("0f000000-0000-4000-8000-0000000000d1", "external-dead");
    const until = pool.world.clock.now() + emailClaimMsMax;
    await users.claim(ids.project, { kind: "email", email }, dead, { until });
    await pool.register(email);
    assert.equal((await pool.login(email)).json.data.userId, dead.userId);
    pool.world.clock.advance(emailClaimMsMax + 1);
    assert.equal((await pool.login(email)).status, 200);
  });

  it("can be closed by the project, for every address alike", async () => {
    const closed = await Pool.open(open, { identity: { registration: "closed" } });
    try {
      const { status, json } = await closed.register(email);
      assert.deepEqual([status, json.data.code], [403, "registration_disabled"]);
      assert.equal(closed.kernels.asked.length, 0);
    } finally {
      await closed.dispose();
    }
  });

  it("mails the holder of the address once an hour at most", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      for (let attempt = 0; attempt < 4; attempt++) await limited.register(email);
      await limited.world.platform.idle();
      assert.equal(limited.mails.length, 1);
      limited.world.clock.advance(3_636_000);
      await limited.register("ANN@example.com");
      await limited.world.platform.idle();
      assert.equal(limited.mails.length, 2);
    } finally {
      await limited.dispose();
    }
  });

  it("is bounded per network of clients", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 61; attempt++) {
        const body = {
          projectId: ids.project,
          strategy: "email",
          provider: "managedPool",
          data: { email: `fan${attempt}@example.com`, password },
        };
        statuses.push((await limited.world.call("/v1/user", { body, address: "192.0.2.9" })).status);
      }
      assert.deepEqual(statuses, [...Array(60).fill(201), 429]);
    } finally {
      await limited.dispose();
    }
  });
});
