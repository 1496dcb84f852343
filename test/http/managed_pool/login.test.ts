import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { systemRandom } from "../../../lib/auth/crypto/mod.ts";
import { recordKey, verifyRecord } from "../../../lib/auth/mod.ts";
import { createPasswordHasher } from "../../../lib/auth/passwords/mod.ts";
import { type User, Users } from "../../../lib/fans/identity/mod.ts";
import { quickKernels } from "../../support/kernels.ts";
import { ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { deviceId, newPassword, Pool, password, pool as selector } from "./_pool.ts";

const loginAttemptsMax = 3;

const email = "ann@example.com";

describeOnStores("login with a password", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
    await pool.register(email);
  });
  afterEach(() => pool.dispose());

  async function stored(): Promise<User> {
    const user = await new Users(pool.world.store, testSecret).findByKey(ids.project, {
      kind: "email",
      email,
    });
    assert.ok(user !== null);
    return user;
  }

  function setHash(passwordHash: string): Promise<unknown> {
    return stored().then(({ userId }) =>
      new Users(pool.world.store, testSecret).update(ids.project, userId, old =>
        old.account === undefined ? old : { ...old, account: { ...old.account, passwordHash } },
      ),
    );
  }

  const hashOf = (text: string, logN: number): Promise<string> =>
    createPasswordHasher({
      random: systemRandom,
      kernels: quickKernels(),
      cost: { algorithm: "scrypt", logN, r: 8, p: 3 },
    }).hash(text);

  it("takes every spelling of one mailbox for one account", async () => {
    const [composed, decomposed] = ["jos\u00e9@b\u00fccher.example", "jose\u0301@bu\u0308cher.example"];
    await pool.register(` ${composed}\n`);
    for (const spelling of [decomposed, "jos\u00e9@XN--bcher-kva.example", `\u00a0${composed} `]) {
      const { status, json } = await pool.login(spelling);
      assert.deepEqual([status, json.result], [200, 1], spelling);
    }
    const { accessToken } = (await pool.login(composed)).json.data;
    assert.equal((await pool.profile(accessToken)).json.data.email, "jos\u00e9@xn--bcher-kva.example");
    await pool.register(decomposed, { password: "another password" });
    assert.equal((await pool.login(composed, { password: "another password" })).status, 401);
    assert.match(await pool.code(` ${decomposed}`), /^\d{8}$/);
    assert.equal((await pool.login("a b@example.org")).json.data.code, "validation_failed");
  });

  it("answers exactly the session record with tokens, which the project's back ends can verify", async () => {
    const { status, json, headers } = await pool.login(email, { deviceId });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json).sort(), ["data", "message", "result"]);
    const { accessToken, profileToken, refreshToken, ...record } = json.data;
    assert.deepEqual(Object.keys(record).sort(), [
      "deviceId",
      "externalId",
      "signUp",
      "signature",
      "timeStamp",
      "userId",
    ]);
    assert.equal(record.deviceId, deviceId);
    const key = recordKey(testSecret, ids.project);
    assert.equal(verifyRecord(key, { ...record, projectId: ids.project }), true);
    assert.equal(new Set([accessToken, profileToken, refreshToken]).size, 3);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal((await pool.check(accessToken)).status, 200);
    for (const other of [profileToken, refreshToken, pool.clientToken]) {
      assert.equal((await pool.check(other)).json.data.code, "invalid_token");
    }
  });

  it("creates a device if the request names none, and keeps the devices of logins", async () => {
    const first = (await pool.login(email)).json.data.deviceId;
    pool.world.clock.advance(5_000);
    await pool.login(email, { deviceId });
    pool.world.clock.advance(5_000);
    await pool.login(email, { deviceId: first });
    const { devices, loginHistory } = await stored();
    assert.deepEqual(
      devices.map(device => [device.deviceId, device.signUp, device.lastLogin]),
      [
        [deviceId, 1_750_000_005, 1_750_000_005],
        [first, 1_750_000_000, 1_750_000_010],
      ],
    );
    assert.deepEqual(loginHistory, [1_750_000_000, 1_750_000_005, 1_750_000_010]);
  });

  it("takes passwords as they were typed: spaces, case and emoji", async () => {
    const passwords = [
      " leading and trailing ",
      "\ttabs\tand such",
      "Ünïcödé 密码 😀",
      "xy".repeat(32),
      `${"y".repeat(1_023)}😀`.slice(1),
    ];
    for (const [index, one] of passwords.entries()) {
      const address = `fan${index}@example.com`;
      assert.equal((await pool.register(address, { password: one })).status, 201, one);
      assert.equal((await pool.login(address, { password: one })).status, 200, one);
      const near = [one.trim(), one.toUpperCase(), `${one} `, one.slice(0, -1)];
      for (const other of near.filter(text => text !== one && text.length <= 1_024)) {
        assert.notEqual((await pool.login(address, { password: other })).status, 200, other);
      }
    }
  });

  it("takes the spellings of a password that NFKC makes one for one", async () => {
    const typed = "Ünïcödé ① ﬁn";
    const spellings = [typed, typed.normalize("NFD"), typed.normalize("NFKC"), "Ünïcödé 1 fin"];
    await pool.register("accents@example.com", { password: typed.normalize("NFD") });
    for (const spelling of spellings) {
      assert.equal((await pool.login("accents@example.com", { password: spelling })).status, 200, spelling);
    }
  });

  it("renews a hash of another cost, once the password was right, and never waits for it", async () => {
    await setHash(await hashOf(password, 14));
    assert.equal((await pool.login(email, { password: "wrong password" })).status, 401);
    await pool.world.platform.idle();
    assert.match((await stored()).account?.passwordHash ?? "", /^\$scrypt\$ln=14,/);
    assert.equal((await pool.login(email)).status, 200);
    await pool.world.platform.idle();
    assert.match((await stored()).account?.passwordHash ?? "", /^\$scrypt\$ln=15,/);
    assert.equal((await pool.login(email)).status, 200);
  });

  it("renews no hash that changed meanwhile, and fails no login with a renewal that fails", async () => {
    const other = await Pool.open(open);
    try {
      await other.register(email);
      const users = new Users(other.world.store, testSecret);
      const user = await users.findByKey(ids.project, { kind: "email", email });
      assert.ok(user?.account !== undefined);
      const { account } = user;
      const old = await hashOf(password, 14);
      const changed = await hashOf(newPassword, 15);
      const write = (passwordHash: string): Promise<unknown> =>
        users.update(ids.project, user.userId, before => ({
          ...before,
          account: { ...account, passwordHash },
        }));
      await write(old);
      let derivations = 0;
      other.hooks.beforeDerive = async () => {
        derivations += 1;
        // The second one is a renewal, during which the password changes; the fourth is one that fails.
        if (derivations === 2) await write(changed);
        if (derivations === 4) throw new Error("no memory left");
      };
      assert.equal((await other.login(email)).status, 200);
      await other.world.platform.idle();
      assert.equal((await users.findById(ids.project, user.userId))?.account?.passwordHash, changed);
      await write(old);
      assert.equal((await other.login(email)).status, 200);
      await other.world.platform.idle();
      assert.equal(derivations, 4);
      assert.ok(other.logged.includes("background_work_failed"));
      assert.equal((await users.findById(ids.project, user.userId))?.account?.passwordHash, old);
    } finally {
      await other.dispose();
    }
  });

  it("leaves no session to a password that was changed while it was verified", async () => {
    const victim = (await pool.login(email)).json.data;
    const before = await stored();
    pool.hooks.beforeDerive = async () => {
      pool.hooks.beforeDerive = async () => {};
      const data = { password: newPassword, previousPassword: password };
      assert.equal((await pool.changePassword(victim.accessToken, data)).status, 200);
    };
    const { status, json } = await pool.login(email);
    assert.deepEqual([status, json.data.code], [401, "invalid_credentials"]);
    const sessions = await pool.world.platform.sessions.list(ids.project, before.userId);
    assert.equal(sessions.length, 1);
  });

  it("continues if the hash was renewed meanwhile, and gives up after three times", async () => {
    const { userId } = await stored();
    let changes = 0;
    async function changeUpTo(changesMax: number): Promise<void> {
      if (changes >= changesMax) return;
      changes += 1;
      await setHash(await hashOf(password, 15));
    }
    pool.hooks.beforeDerive = () => changeUpTo(loginAttemptsMax - 1);
    assert.equal((await pool.login(email)).status, 200);
    assert.equal(changes, loginAttemptsMax - 1);
    changes = 0;
    pool.hooks.beforeDerive = () => changeUpTo(loginAttemptsMax);
    const { status, json } = await pool.login(email);
    assert.deepEqual([status, json.data.code, json.data.action], [409, "conflict", "retry"]);
    assert.equal((await pool.world.platform.sessions.list(ids.project, userId)).length, 1);
  });

  it("lets a ban that ended pass", async () => {
    const { userId } = await stored();
    const until = pool.world.clock.now() / 1_000 + 60;
    await new Users(pool.world.store, testSecret).update(ids.project, userId, old => ({
      ...old,
      ban: { reason: "spam", until },
    }));
    const { status, json } = await pool.login(email);
    assert.deepEqual([status, json.data.code, json.data.until], [403, "account_banned", until]);
    pool.world.clock.advance(60_000);
    assert.equal((await pool.login(email)).status, 200);
  });

  it("refuses an invalid password or device before any derivation", async () => {
    const before = pool.kernels.asked.length;
    const wrong = [
      { password: "" },
      { password: "x".repeat(1_025) },
      { password: 7 },
      { deviceId: "no uuid" },
    ];
    for (const data of wrong) {
      assert.equal((await pool.login(email, data)).json.data.code, "validation_failed");
    }
    assert.equal(pool.kernels.asked.length, before);
  });

  it("is of its project alone", async () => {
    const body = { ...selector, projectId: ids.otherProject, data: { email, password } };
    const { status, json } = await pool.world.call("/v1/user/login", { method: "PUT", body });
    assert.deepEqual([status, json.data.code], [401, "invalid_credentials"]);
  });

  it("forgets the failures of the pair once it succeeds", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      await limited.register(email);
      for (let round = 0; round < 4; round++) {
        for (let attempt = 0; attempt < 4; attempt++) {
          assert.equal((await limited.login(email, { password: "wrong one" }, "192.0.2.1")).status, 401);
        }
        assert.equal((await limited.login(email, {}, "192.0.2.1")).status, 200);
      }
    } finally {
      await limited.dispose();
    }
  });

  it("lets the owner in on a known device and change the password while strangers guess, and limits guesses there too", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      const { accessToken } = await limited.member(email);
      for (let index = 0; index < 40; index++) {
        await limited.login(email, { password: "wrong one" }, `198.51.100.${index}`);
      }
      assert.equal((await limited.login(email)).status, 429);
      assert.equal((await limited.login(email, { deviceId })).status, 200);
      const data = { password: newPassword, previousPassword: password };
      assert.equal((await limited.changePassword(accessToken, data)).status, 200);
      for (let index = 0; index < 10; index++) {
        assert.equal((await limited.login(email, { deviceId }, `203.0.113.${index}`)).status, 401);
      }
      assert.equal((await limited.login(email, { deviceId, password: newPassword })).status, 429);
    } finally {
      await limited.dispose();
    }
  });

  it("takes no device of another account for a known one", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      await limited.register(email);
      await limited.member("attacker@example.com");
      for (let index = 0; index < 30; index++) {
        await limited.login(email, { deviceId, password: "wrong one" }, `198.51.100.${index}`);
      }
      assert.equal((await limited.login(email, { deviceId }, "203.0.113.1")).status, 429);
    } finally {
      await limited.dispose();
    }
  });
});
