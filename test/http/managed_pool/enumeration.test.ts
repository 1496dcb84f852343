/** Nothing that anybody can see, count or measure in operations tells which addresses have an account. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { type User, Users } from "../../../lib/fans/identity/mod.ts";
import { type Answer, externalIds, ids, testSecret } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { newPassword, Pool, password, visible } from "./_pool.ts";

const knownEmail = "known@example.com";
const unknown = "unknown@example.com";
const banned = "banned@example.com";
const bare = "bare@example.com";

describeOnStores("whether an address has an account", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
    for (const email of [knownEmail, banned]) await pool.register(email);
    const users = new Users(pool.world.store, testSecret);
    const user = await users.findByKey(ids.project, { kind: "email", email: banned });
    assert.ok(user !== null);
    await users.update(ids.project, user.userId, old => ({ ...old, ban: { reason: "spam", until: null } }));
    await createBareUser();
    await pool.world.platform.idle();
    pool.mails.length = 0;
  });
  afterEach(() => pool.dispose());

  /** A user of another provider to whom an address leads, and who has no password. */
  async function createBareUser(): Promise<void> {
    const users = new Users(pool.world.store, testSecret);
    const user: User = {
      ...externalIds.seal("0f000000-0000-4000-8000-0000000000e1", "external-bare"),
      provider: "hostedIdp",
      username: "Bare",
      signUp: 1,
      loginHistory: [],
      devices: [],
      appProfile: {},
    };
    await users.claim(ids.project, { kind: "email", email: bare }, user);
    await users.create(ids.project, user);
  }

  /** Asserts that all answers are the same to the byte and cost the same; answers the common one. */
  async function assertAlike(
    cost: number,
    asks: readonly (() => Promise<Answer>)[],
  ): Promise<Readonly<Answer>> {
    const answers: Answer[] = [];
    for (const ask of asks) {
      const [answer, count] = await pool.costOf(ask);
      assert.equal(count, cost, answer.text);
      answers.push(answer);
    }
    const [first, ...others] = answers;
    assert.ok(first !== undefined);
    for (const other of others) assert.deepEqual(visible(other), visible(first));
    return first;
  }

  it("is not revealed by registration: same bytes, same fields, one derivation", async () => {
    const { status, json } = await assertAlike(1, [
      () => pool.register(unknown),
      () => pool.register(knownEmail),
      () => pool.register("KNOWN@Example.com"),
      () => pool.register(banned),
      () => pool.register(bare),
    ]);
    assert.equal(status, 201);
    const message = "User is Correctly Created";
    assert.deepEqual(json, { result: 1, message, data: { data: {}, result: 1, message } });
    assert.deepEqual(
      pool.mails.map(({ kind, to }) => [kind, to]),
      [knownEmail, knownEmail, banned].map(to => ["alreadyRegistered", to]),
    );
  });

  it("is not revealed by a weak password, which is refused before any look-up", async () => {
    const { json } = await assertAlike(0, [
      () => pool.register(unknown, { password: "short" }),
      () => pool.register(knownEmail, { password: "short" }),
    ]);
    assert.equal(json.data.code, "weak_password");
    assert.deepEqual(pool.mails, []);
  });

  it("is not revealed by login: unknown, wrong, without a password or banned, one derivation each", async () => {
    const wrong = { password: "wrong password" };
    const { status, json } = await assertAlike(1, [
      () => pool.login(unknown, wrong),
      () => pool.login(knownEmail, wrong),
      () => pool.login(banned, wrong),
      () => pool.login(bare, wrong),
      () => pool.login(unknown, { password }),
    ]);
    assert.deepEqual([status, json.data.code, json.data.action], [401, "invalid_credentials", "none"]);
  });

  it("is revealed to a banned user only after the password, for one derivation as well", async () => {
    const [answer, count] = await pool.costOf(() => pool.login(banned));
    assert.deepEqual([answer.status, answer.json.data.code, count], [403, "account_banned", 1]);
    assert.equal(answer.json.data.until, null);
    const [success, cost] = await pool.costOf(() => pool.login(knownEmail));
    assert.deepEqual([success.status, cost], [200, 1]);
  });

  it("is not revealed by forgot, asked once or twice", async () => {
    for (let round = 0; round < 2; round++) {
      const { status, json } = await assertAlike(1, [
        () => pool.forgot(unknown),
        () => pool.forgot(knownEmail),
        () => pool.forgot(bare),
      ]);
      assert.deepEqual([status, json], [200, { result: 1, message: "OK", data: {} }]);
    }
    assert.deepEqual(
      pool.mails.map(({ kind, to }) => [kind, to]),
      [knownEmail, knownEmail].map(to => ["passwordCode", to]),
    );
  });

  it("is not revealed by confirm, for any fault of the code", async () => {
    await pool.forgot(unknown);
    await pool.forgot(knownEmail);
    const { status, json } = await assertAlike(2, [
      () => pool.confirm(unknown, "00000000"),
      () => pool.confirm(knownEmail, "00000000"),
      () => pool.confirm(knownEmail, "not a code"),
      () => pool.confirm(bare, "00000000"),
      () => pool.confirm("never@example.com", "00000000"),
    ]);
    assert.deepEqual([status, json.data.code, json.data.action], [400, "invalid_code", "none"]);
    assert.equal((await pool.login(knownEmail)).status, 200);
  });

  it("is not revealed by verify-email, also for addresses that are verified", async () => {
    await pool.confirmEmail(knownEmail, await pool.emailCode(knownEmail));
    pool.mails.length = 0;
    const { status, json } = await assertAlike(1, [
      () => pool.verifyEmail(unknown),
      () => pool.verifyEmail(knownEmail),
      () => pool.verifyEmail(banned),
      () => pool.verifyEmail(bare),
    ]);
    assert.deepEqual([status, json], [200, { result: 1, message: "OK", data: {} }]);
    assert.deepEqual(
      pool.mails.map(({ kind, to }) => [kind, to]),
      [["emailCode", banned]],
    );
  });

  it("is not revealed by confirm-email, for any fault of the code", async () => {
    for (const one of [unknown, banned]) await pool.verifyEmail(one);
    const { status, json } = await assertAlike(1, [
      () => pool.confirmEmail(unknown, "00000000"),
      () => pool.confirmEmail(banned, "00000000"),
      () => pool.confirmEmail(banned, "not a code"),
      () => pool.confirmEmail(bare, "00000000"),
      () => pool.confirmEmail("never@example.com", "00000000"),
    ]);
    assert.deepEqual([status, json.data.code, json.data.action], [400, "invalid_code", "none"]);
    const more = { password: newPassword };
    await assertAlike(2, [
      () => pool.confirmEmail(unknown, "00000000", undefined, more),
      () => pool.confirmEmail(banned, "00000000", undefined, more),
    ]);
  });

  it("is not revealed by a failing mailer", async () => {
    const failing = await Pool.open(open, {
      mailer: {
        async send() {
          throw new Error("The mail server is away");
        },
      },
    });
    try {
      await failing.register(knownEmail);
      const [taken, free] = [await failing.register(knownEmail), await failing.register(unknown)];
      assert.deepEqual(visible(taken), visible(free));
      const [ours, nobodys] = [await failing.forgot(knownEmail), await failing.forgot("never@example.com")];
      assert.deepEqual(visible(ours), visible(nobodys));
      await failing.world.platform.idle();
      assert.equal(failing.logged.filter(event => event === "background_work_failed").length, 2);
    } finally {
      await failing.dispose();
    }
  });

  it("is not revealed by the limits, which count unknown addresses alike", async () => {
    const limited = await Pool.open(open, { isLimited: true });
    try {
      await limited.world.call("/v1/user", { body: registration(knownEmail), address: "198.51.100.1" });
      const lock = async (email: string, address: string): Promise<unknown[]> => {
        const answers: unknown[] = [];
        for (let attempt = 0; attempt < 7; attempt++) {
          answers.push(visible(await limited.login(email, { password: "wrong password" }, address)));
        }
        return answers;
      };
      const ours = await lock(knownEmail, "192.0.2.1");
      assert.deepEqual(await lock(unknown, "192.0.2.2"), ours);
      const [locked, cost] = await limited.costOf(() => limited.login(knownEmail, { password }, "192.0.2.1"));
      assert.deepEqual([locked.status, locked.json.data.code, cost], [429, "too_many_attempts", 0]);
      assert.ok(Number(locked.headers.get("retry-after")) > 0);
      assert.equal((await limited.login(knownEmail, { password: newPassword }, "192.0.2.3")).status, 401);
      assert.equal((await limited.login(knownEmail, { password }, "192.0.2.3")).status, 200);
    } finally {
      await limited.dispose();
    }
  });

  function registration(email: string): unknown {
    return {
      projectId: ids.project,
      strategy: "email",
      provider: "managedPool",
      data: { email, password },
    };
  }
});
