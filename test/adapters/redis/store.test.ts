import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Redis } from "ioredis";
import { answerMsMax, expirySlackMs } from "../../../adapters/redis/keys.ts";
import { createRedisStore } from "../../../adapters/redis/mod.ts";
import type { Store, Write } from "../../../lib/storage/mod.ts";
import { VersionSource } from "../../../lib/storage/versions.ts";
import { type RedisProcess, redisAvailable, sharedRedis, startRedis } from "../../support/redis.ts";
import { assertInTime } from "../../support/until.ts";
import { calls } from "./calls.ts";
import { freshPrefix, testClock } from "./fixture.ts";

const stamped: Write = { type: "score", op: "set", key: "b", member: "m", score: 1, tie: 5, asOf: 3 };

interface Opened extends AsyncDisposable {
  readonly store: Store;
  readonly server: RedisProcess;
  readonly prefix: string;
}

async function open(clock: () => number = Date.now): Promise<Opened> {
  const server = await sharedRedis();
  const prefix = freshPrefix();
  const store = createRedisStore({ server: server.url, prefix, clock });
  return { store, server, prefix, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

async function keysOf({ server, prefix }: Opened): Promise<string[]> {
  return ((await server.command("KEYS", `${prefix}*`)) as string[]).sort();
}

describe("a Redis store", { skip: redisAvailable() }, () => {
  it("commits in one round trip: a single EVALSHA", async () => {
    await using opened = await open();
    const { store, server } = opened;
    const writes: Write[] = [
      { type: "put", key: "r", value: "1" },
      { type: "add", key: "t", field: "f", by: 1 },
      stamped,
      { type: "append", key: "l", value: "1", at: 1, maxLength: 5 },
    ];
    await store.commit("p", { writes });
    const counted = await calls(server, () =>
      store.commit("p", { checks: [{ key: "none", version: null }], writes }),
    );
    assert.equal(counted.evalsha, 1);
    assert.equal(counted.eval, undefined);
  });

  it("reads in one round trip: a single command where there is one, else a script", async () => {
    await using opened = await open();
    const { store, server } = opened;
    const singles = [
      [[{ type: "record", key: "a" }], "mget"],
      [
        [
          { type: "record", key: "a" },
          { type: "record", key: "b" },
        ],
        "mget",
      ],
      [[{ type: "tally", key: "a" }], "hgetall"],
      [[{ type: "tally", key: "a", fields: ["f"] }], "hmget"],
      [[{ type: "log", key: "a", limit: 1 }], "lrange"],
      [[{ type: "log", key: "a", limit: 1, reverse: true }], "lrange"],
      [[{ type: "log", key: "a", limit: 1, from: 1 }], "evalsha"],
      [[{ type: "board", key: "a", limit: 1 }], "evalsha"],
      [[{ type: "around", key: "a", member: "m", limit: 3 }], "evalsha"],
      [[{ type: "standing", key: "a", member: "m" }], "evalsha"],
      [[{ type: "standing", key: "a", member: "m", position: true }], "evalsha"],
      [[{ type: "before", key: "a", score: 1 }], "zcount"],
      [[{ type: "before", key: "a", score: 1, tie: 1 }], "evalsha"],
      [
        [
          { type: "record", key: "a" },
          { type: "tally", key: "a" },
        ],
        "evalsha",
      ],
    ] as const;
    for (const [queries, command] of singles) {
      await store.read("p", queries);
      const counted = await calls(server, () => store.read("p", queries));
      assert.equal(counted[command], 1, command);
      assert.equal(counted.evalsha ?? 0, command === "evalsha" ? 1 : 0, command);
    }
  });

  it("answers many standings of one board in few calls, each with its own", async () => {
    await using opened = await open();
    const { store, server } = opened;
    const members = Array.from({ length: 500 }, (_, index) => `m${index}`);
    await store.commit("p", {
      writes: members.map((member, index) => ({
        type: "score",
        op: "set",
        key: "b",
        member,
        score: index,
        tie: index % 2,
      })),
    });
    await store.read("p", [{ type: "standing", key: "b", member: "none" }]);
    const counted = await calls(server, async () => {
      const all = await Promise.all(
        [...members, "none"].map(member => store.read("p", [{ type: "standing", key: "b", member }])),
      );
      assert.deepEqual(
        all.map(([standing]) => standing),
        [...members.map((_, index) => ({ score: index, tie: index % 2, below: index })), null],
      );
    });
    assert.ok((counted.evalsha ?? 0) <= 5, `${counted.evalsha} calls`);
  });

  it("fails every waiting standing in time where the server is gone", async () => {
    const server = await startRedis();
    await using store = createRedisStore({ server: server.url });
    const query = { type: "standing", key: "b", member: "m" } as const;
    await store.read("p", [query]);
    server.freeze();
    const start = performance.now();
    const all = Array.from({ length: 1_000 }, () => store.read("p", [query]));
    const results = await Promise.allSettled(all);
    assert.ok(
      results.every(result => result.status === "rejected" && result.reason.code === "storage_unavailable"),
    );
    assertInTime(start, answerMsMax);
    await server.kill();
  });

  it("keeps rows only for members with a tie or a version, and leaves no key behind", async () => {
    await using opened = await open();
    const { store, server, prefix } = opened;
    await store.commit("p", {
      writes: [{ type: "score", op: "set", key: "b", member: "plain", score: 1 }, stamped],
    });
    assert.deepEqual(await server.command("HKEYS", `${prefix}{p}mb`), ["m"]);
    await store.commit("p", { writes: [{ type: "unscore", key: "b", member: "m" }] });
    assert.deepEqual(await keysOf(opened), [`${prefix}{p}bb`]);
    await store.commit("p", { writes: [stamped] });
    await store.commit("p", { writes: [{ type: "delete", shape: "board", key: "b" }] });
    assert.deepEqual(await keysOf(opened), []);
  });

  it("lets Redis clear expired records away a minute later, by the injected clock", async () => {
    const clock = testClock();
    await using opened = await open(clock.now);
    const { store, server, prefix } = opened;
    await store.commit("p", {
      writes: [
        { type: "put", key: "short", value: "1", expireAt: clock.now() + 5_000 },
        { type: "put", key: "kept", value: "1" },
        { type: "put", key: "never", value: "1", expireAt: clock.now() },
      ],
    });
    const ttl = Number(await server.command("PTTL", `${prefix}{p}rshort`));
    assert.ok(ttl > expirySlackMs && ttl <= expirySlackMs + 5_000, `${ttl}`);
    assert.equal(await server.command("PTTL", `${prefix}{p}rkept`), -1);
    assert.deepEqual(await keysOf(opened), [`${prefix}{p}rkept`, `${prefix}{p}rshort`]);
  });

  it("takes a batch of as many writes, reads and fields as the contract allows", async () => {
    await using opened = await open();
    const { store } = opened;
    const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    for (let batch = 0; batch < 10; batch++) {
      const writes = names.map(
        name => ({ type: "add", key: "t", field: `${batch}.${name}`, by: batch }) as const,
      );
      await store.commit("p", { writes });
    }
    const fields = names.flatMap(name => Array.from({ length: 10 }, (_, batch) => `${batch}.${name}`));
    const [some, all] = await store.read("p", [
      { type: "tally", key: "t", fields },
      { type: "tally", key: "t" },
    ]);
    assert.equal(some.size, 10_000);
    assert.deepEqual(new Map([...some].sort()), new Map([...all].sort()));
    await store.commit("p", { writes: names.map(member => ({ ...stamped, member })) });
    const queries = names.slice(0, 512).map(member => ({ type: "standing", key: "b", member }) as const);
    assert.ok((await store.read("p", queries)).every(standing => standing?.tie === 5));
  });

  it("works over a unix socket and with the settings of a given client, which it leaves alone", async () => {
    const server = await sharedRedis();
    const given = new Redis({ path: server.socket, db: 3, lazyConnect: true });
    const prefix = freshPrefix();
    await using first = createRedisStore({ server: given, prefix });
    await first.commit("p", { writes: [{ type: "put", key: "k", value: "1" }] });
    assert.equal(given.status, "wait");
    await using second = createRedisStore({ server: `unix://${server.socket}`, prefix });
    assert.deepEqual(await second.read("p", [{ type: "record", key: "k" }]), [null], "another database");
    given.disconnect();
  });
});

describe("the versions of a Redis store", () => {
  it("never repeat, in one process or across processes", () => {
    const sources = Array.from({ length: 20 }, () => new VersionSource());
    const made = sources.flatMap(source => Array.from({ length: 500 }, () => source.next()));
    assert.equal(new Set(made).size, made.length);
    assert.ok(made.every(version => version.length === 16));
  });
});
