/** Reconnection of the adapter's own clients to a server that was down. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Cluster, Redis } from "ioredis";
import { createClient, isCluster } from "../../../adapters/redis/connection.ts";
import { reconnectMsMax } from "../../../adapters/redis/keys.ts";
import { createRedisStore } from "../../../adapters/redis/mod.ts";
import { redisAvailable, sharedRedis } from "../../support/redis.ts";
import { freshPrefix } from "./fixture.ts";

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

describe("an address of Redis", () => {
  const refused: readonly (readonly [address: string, message: RegExp])[] = [
    ["http://127.0.0.1", /must begin with redis:\/\//],
    ["redis://127.0.0.1/abc", /the database in the URL must be a number/],
    ["redis://127.0.0.1/1/2", /the database in the URL must be a number/],
    ["redis://127.0.0.1/-1", /the database in the URL must be a number/],
    ["unix:///run/redis.sock?db=one", /the database in the URL must be a number/],
    ["redis://127.0.0.1?keyPrefix=app:", /the URL has the parameter keyPrefix/],
    ["redis://127.0.0.1?family=5", /family in the URL must be 4, 6 or 0/],
    ["redis://user:100%@127.0.0.1", /a percent sign in the URL must be written as %25/],
    ["redis://127.0.0.1/1, redis://127.0.0.2/1", /a Cluster has no database but 0/],
    ["redis://127.0.0.1, unix:///run/redis.sock", /a Cluster is reached by redis:\/\//],
  ];
  for (const [address, message] of refused) {
    it(`is refused with the reason where it is ${address}`, () => {
      assert.throws(() => createRedisStore({ server: address }), { name: "TypeError", message });
    });
  }

  it("names host, port, database, credentials and family", () => {
    const client = createClient("rediss://sam:p%40ss@[::1]:6380/2?family=6");
    assert.ok(client instanceof Redis);
    const { host, port, db, username, password, family, tls } = client.options;
    assert.deepEqual(
      { host, port, db, username, password, family, tls },
      { host: "::1", port: 6380, db: 2, username: "sam", password: "p@ss", family: 6, tls: {} },
    );
    client.disconnect();
  });

  it("names a socket and a database", () => {
    for (const address of ["unix:///run/my%20redis.sock?db=3", "/run/my redis.sock?db=3"]) {
      const client = createClient(address);
      assert.ok(client instanceof Redis);
      assert.deepEqual([client.options.path, client.options.db], ["/run/my redis.sock", 3]);
      client.disconnect();
    }
  });
});

describe("a database that does not exist", { skip: redisAvailable() }, () => {
  it("is refused by every call, and no other one is used in its place", async () => {
    const { url } = await sharedRedis();
    const prefix = freshPrefix();
    await using store = createRedisStore({ server: `${url}/99`, prefix });
    for (let call = 0; call < 3; call++) {
      await assert.rejects(
        store.commit("p", { writes: [{ type: "put", key: "k", value: "v" }] }),
        ({ cause }: Error) => /database 99 cannot be selected/.test(String(cause)),
      );
    }
    await using other = createRedisStore({ server: url, prefix });
    assert.deepEqual(await other.read("p", [{ type: "record", key: "k" }]), [null]);
  });
});

describe("an ioredis client that is passed", () => {
  it("is refused where it has a prefix of keys, as the adapter has one of its own", () => {
    const lazyConnect = true;
    const nodes = [{ host: "127.0.0.1", port: 1 }];
    for (const server of [
      new Redis({ keyPrefix: "app:", lazyConnect }),
      new Cluster(nodes, { keyPrefix: "app:", lazyConnect }),
      new Cluster(nodes, { redisOptions: { keyPrefix: "app:" }, lazyConnect }),
    ]) {
      assert.throws(() => createRedisStore({ server }), { name: "TypeError", message: /option prefix/ });
      server.disconnect();
    }
  });
});
