/** Reconnection of the adapter's own clients to a server that was down. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reconnectMsMax } from "../../../adapters/redis/bounds.ts";
import { createClient, isCluster } from "../../../adapters/redis/client.ts";

describe("a client of the adapter's own", () => {
  const node = "redis://127.0.0.1:1";
  for (const [kind, url] of [
    ["one server", node],
    ["a Cluster", `${node},${node}`],
  ] as const) {
    it(`of ${kind} tries again later each time, after ${reconnectMsMax} ms at the latest`, context => {
      const client = createClient(url);
      context.after(() => client.disconnect());
      const pause = isCluster(client) ? client.options.clusterRetryStrategy : client.options.retryStrategy;
      assert.ok(typeof pause === "function");
      const pauses = Array.from({ length: 100 }, (_, attempt) => Number(pause(attempt + 1)));
      assert.deepEqual(
        pauses,
        pauses.toSorted((one, other) => one - other),
      );
      assert.ok(Number(pauses[0]) < reconnectMsMax);
      assert.equal(pauses.at(-1), reconnectMsMax);
    });
  }
});
