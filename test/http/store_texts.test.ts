/** What Redis says when it is out of memory, in the log and in no answer. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { createJsonLogger } from "../../lib/http/mod.ts";
import { openPlatform } from "../support/platform.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { backEnd } from "./audience/_back_end.ts";

describe("a store that is out of memory", { skip: redisAvailable() }, () => {
  it("is named to clients without its own words, also in the items of a bulk request", async t => {
    const server = await startRedis();
    t.after(() => server.kill());
    const lines: string[] = [];
    const logger = createJsonLogger({ write: line => lines.push(line) });
    const world = await openPlatform(async clock => createRedisStore({ server: server.url, clock }), {
      logger,
    });
    t.after(() => world.dispose());
    const crm = await backEnd(world);
    const fan = await world.fan("Sam");
    const rewards = [{ userId: "one" }, { userId: "two" }].map(user => ({
      ...user,
      reason: "Thanks",
      type: "metric",
      metricId: "points",
      amount: 1,
    }));
    const grant = () => crm("/v1/api/audience/internal/rewards/bulk", { body: { rewards } });
    assert.equal((await grant()).json.data.errors, false);

    await server.command("CONFIG", "SET", "maxmemory", "1");
    const action = await fan.act("prediction", { outcome: "exact" });
    const items = await grant();
    await server.command("CONFIG", "SET", "maxmemory", "0");
    assert.deepEqual([action.status, action.json.code], [503, "storage_unavailable"]);
    assert.equal(items.status, 200);
    assert.deepEqual(
      items.json.data.results.map(({ error }: { error: { code: string } }) => error.code),
      ["storage_unavailable", "storage_unavailable"],
    );
    assert.doesNotMatch(action.text + items.text, /OOM|Redis|script|maxmemory/);
    const log = lines.map(line => JSON.parse(line));
    for (const event of ["request_failed", "item_failed"]) {
      const failures = log.filter(line => line.event === event);
      assert.equal(failures.length, 1, event);
      assert.match(failures[0].error, /OOM command not allowed/);
    }
  });
});
