/** A flood of logins costs those who log in, and nobody else. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { describeOnStores } from "../../support/stores.ts";
import { createManualTimer } from "../../support/timer.ts";
import { until } from "../../support/until.ts";
import { Pool } from "./_pool.ts";

const atOnce = 2;
const waiting = 64;

describeOnStores("a flood of logins", open => {
  it("is refused as busy beyond the gate's queue, while other requests are answered", async () => {
    const { timer } = createManualTimer();
    const pool = await Pool.open(open, { platform: { timer } });
    const { accessToken } = await pool.member("fan@example.org");
    let begun = 0;
    let release = (): void => {};
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    pool.hooks.beforeDerive = () => {
      begun++;
      return held;
    };
    const answers: number[] = [];
    const flood = Array.from({ length: atOnce + waiting + 10 }, async (_, index) => {
      const answer = await pool.login(`somebody${index}@example.org`);
      answers.push(answer.status);
      return answer;
    });
    await until("the surplus is refused", () => answers.length >= 10);
    assert.equal(begun, atOnce);
    assert.equal((await pool.profile(accessToken)).status, 200);

    release();
    const all = await Promise.all(flood);
    const refused = all.filter(({ status }) => status === 503);
    assert.equal(refused.length, 10);
    for (const { headers, json } of refused) {
      assert.equal(headers.get("retry-after"), "2");
      assert.deepEqual(json.data, { code: "busy", retryable: true, action: "retry", retryAfter: 2 });
    }
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([401, 503]));
    assert.equal((await pool.login("fan@example.org")).status, 200);
    await pool.dispose();
  });
});
