/** Answers after failures of the platform itself, which leave nothing half done. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { concurrentHashesDefault } from "../../../lib/auth/passwords/mod.ts";
import type { Answer } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { failingOnce } from "./_failing_store.ts";
import { newPassword, Pool, password } from "./_pool.ts";

const hashesWaitingMax = 64;

const email = "ann@example.com";
/** Logins beyond those that run and wait. */
const surplus = 5;

describeOnStores("a platform in trouble", open => {
  it("refuses hashes beyond the queue at once, and spends no code on that", async () => {
    const pool = await Pool.open(open);
    try {
      await pool.register(email);
      const code = await pool.code(email);
      let release = (): void => {};
      const held = new Promise<void>(resolve => {
        release = resolve;
      });
      let isFull = (): void => {};
      const full = new Promise<void>(resolve => {
        isFull = resolve;
      });
      pool.hooks.beforeDerive = () => held;
      const places = concurrentHashesDefault + hashesWaitingMax;
      const answers: Answer[] = [];
      const logins = Array.from({ length: places + surplus }, async () => {
        answers.push(await pool.login(email));
        if (answers.length === surplus) isFull();
      });
      await full;
      const refused = await pool.confirm(email, code);
      const { data } = refused.json;
      assert.deepEqual(
        [refused.status, data.code, data.action, data.retryable],
        [503, "busy", "retry", true],
      );
      assert.ok(Number(refused.headers.get("retry-after")) >= 1);
      release();
      await Promise.all(logins);
      const statuses = answers.map(({ status }) => status);
      assert.deepEqual(statuses, [...Array(surplus).fill(503), ...Array(places).fill(200)]);
      assert.equal((await pool.confirm(email, code)).status, 200);
    } finally {
      await pool.dispose();
    }
  });

  it("neither logs in nor half-registers a user while the store is down", async () => {
    for (let failAt = 0; failAt < 6; failAt++) {
      const store = failingOnce(open);
      const pool = await Pool.open(store.open);
      try {
        store.failAfter(failAt);
        const { status, json, headers } = await pool.register(email);
        if (status !== 201) {
          assert.deepEqual([status, json.data.code], [503, "storage_unavailable"]);
          assert.ok(headers.get("retry-after"));
        }
        store.failAfter(Number.POSITIVE_INFINITY);
        // The same request again ends it, whatever the first one got done.
        assert.equal((await pool.register(email)).status, 201);
        assert.equal((await pool.login(email)).status, 200, `failed at ${failAt}`);
        await pool.world.platform.idle();
        store.failAfter(failAt);
        const login = await pool.login(email);
        store.failAfter(Number.POSITIVE_INFINITY);
        assert.ok([200, 503].includes(login.status));
        assert.equal((await pool.login(email)).status, 200);
      } finally {
        await pool.dispose();
      }
    }
  });

  it("keeps the old password until the new one is written, wherever a change fails", async () => {
    for (let failAt = 0; failAt < 8; failAt++) {
      const store = failingOnce(open);
      const pool = await Pool.open(store.open);
      try {
        const { accessToken } = await pool.member(email);
        await pool.check(accessToken);
        await pool.world.platform.idle();
        store.failAfter(failAt);
        const { status } = await pool.changePassword(accessToken, {
          password: newPassword,
          previousPassword: password,
        });
        store.failAfter(Number.POSITIVE_INFINITY);
        const [old, fresh] = [await pool.login(email), await pool.login(email, { password: newPassword })];
        assert.equal([old.status, fresh.status].filter(one => one === 200).length, 1);
        if (status === 200) assert.equal(fresh.status, 200);
      } finally {
        await pool.dispose();
      }
    }
  });

  it("offers passwords only if the project does", async () => {
    const pool = await Pool.open(open, { identity: { providers: ["anonymous"] } });
    try {
      for (const { status, json } of [
        await pool.register(email),
        await pool.login(email),
        await pool.forgot(email),
      ]) {
        assert.deepEqual([status, json.data.code], [400, "unsupported_provider"]);
      }
    } finally {
      await pool.dispose();
    }
  });
});
