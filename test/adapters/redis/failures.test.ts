import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Redis } from "ioredis";
import { Load } from "../../../adapters/conformance/load.ts";
import { failuresConformance } from "../../../adapters/conformance/mod.ts";
import { answerMsMax, pendingCallsMax } from "../../../adapters/redis/keys.ts";
import { createRedisStore } from "../../../adapters/redis/mod.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";
import type { Read, Store } from "../../../lib/storage/mod.ts";
import { type RedisProcess, redisAvailable, sharedRedis, startRedis } from "../../support/redis.ts";
import { assertInTime, until } from "../../support/until.ts";
import { freshPrefix } from "./fixture.ts";

const unavailable = { name: "AppError", code: "storage_unavailable" };

function put(store: Store): Promise<unknown> {
  return store.commit("p", { writes: [{ type: "put", key: "k", value: "1" }] });
}

function fails(action: Promise<unknown>, message: RegExp): Promise<boolean> {
  return action.then(
    () => false,
    error => message.test(`${error}`),
  );
}

/** Retries until the store works again, without anything being restarted. */
function recovers(store: Store): Promise<void> {
  return until("the store works again", () =>
    put(store).then(
      () => true,
      () => false,
    ),
  );
}

describe("the storage contract on Redis where it fails", { skip: redisAvailable() }, () => {
  failuresConformance({
    describe,
    it,
    async factory() {
      const server = await startRedis({ durable: true });
      const store = createRedisStore({ server: server.url });
      return {
        store,
        async cut() {
          await server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        },
        stop: () => server.kill(),
        start: () => server.launch(),
        hang: async () => server.freeze(),
        resume: async () => server.thaw(),
        async refuseWrites(isRefused) {
          await server.command("CONFIG", "SET", "maxmemory", isRefused ? "1" : "0");
        },
        async dispose() {
          await store[Symbol.asyncDispose]();
          await server.kill();
        },
      };
    },
  });
});

describe("a Redis store whose server fails", { skip: redisAvailable() }, () => {
  it("never sends a commit twice, whatever the settings of a given client", async () => {
    await using server = await startRedis();
    const given = new Redis(server.url, { autoResendUnfulfilledCommands: true, lazyConnect: true });
    await using store = createRedisStore({ server: given });
    await using load = new Load(store);
    await load.more("ok", 200);
    await server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await load.more("ok", 200);
    await load.stop();
    await load.verify();
    given.disconnect();
  });

  it("reloads its scripts when the server has forgotten them", async () => {
    await using server = await startRedis();
    await using store = createRedisStore({ server: server.url });
    await using load = new Load(store);
    for (let round = 0; round < 5; round++) {
      await load.more("ok", 200);
      await server.command("SCRIPT", "FLUSH");
    }
    await load.more("ok", 200);
    await load.stop();
    assert.equal(load.count("ok"), load.outcomes.length);
    await load.verify();
  });

  it("reloads its scripts when the process was too busy to read in time that the server lacks them", async () => {
    await using server = await startRedis();
    await using store = createRedisStore({ server: server.url });
    await put(store);
    const wait = new Int32Array(new SharedArrayBuffer(4));
    const reads: Read[] = [
      { type: "record", key: "k" },
      { type: "board", key: "b", limit: 1 },
    ];
    for (const ask of [() => put(store), () => store.read("p", reads)]) {
      await server.command("SCRIPT", "FLUSH");
      const answer = ask();
      // The command is on its way, and no reply can be read before the process is free again.
      for (let tick = 0; tick < 10; tick++) await new Promise<void>(resolve => process.nextTick(resolve));
      Atomics.wait(wait, 0, 0, answerMsMax + 100);
      await answer;
    }
  });

  it("answers reads that wait for others when the process was too busy to read the answers in time", async () => {
    await using server = await startRedis();
    await using store = createRedisStore({ server: server.url });
    await put(store);
    // Each is a call of its own, of which two are on their way at a time.
    const large = Array.from({ length: 300 }, (_, n): Read => ({ type: "record", key: `k${n}` }));
    const answers = Array.from({ length: 6 }, () => store.read("p", large));
    for (let tick = 0; tick < 10; tick++) await new Promise<void>(resolve => process.nextTick(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, answerMsMax + 100);
    for (const found of await Promise.all(answers)) assert.equal(found.length, large.length);
  });

  it("says that the connection was lost where it was, in words of its own", async () => {
    await using server = await startRedis();
    await using store = createRedisStore({ server: server.url });
    await put(store);
    server.freeze();
    const lost = assert.rejects(put(store), {
      code: "outcome_unknown",
      message: "Cannot tell if Redis applied the change: the connection was lost",
    });
    // The commit is sent in this turn of the event loop or the next.
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    await server.kill();
    await lost;
  });

  it("fails in time where there is no server, and works as soon as there is one", async () => {
    await using server = await startRedis();
    await server.kill();
    await using store = createRedisStore({ server: server.url });
    const start = performance.now();
    await assert.rejects(put(store), { ...unavailable, retryAfterMs: 1_000 });
    await assert.rejects(store.read("p", [{ type: "record", key: "k" }]), unavailable);
    await assert.rejects(store.read("p", [{ type: "standing", key: "k", member: "m" }]), unavailable);
    await assert.rejects(store.ping(), {
      ...unavailable,
      message: /cannot be reached \(connect E\w+ \S+\)$/,
    });
    assertInTime(start, 4 * answerMsMax);
    await server.launch();
    await recovers(store);
    await store.ping();
  });

  it("says where to look if the server hangs up at once", async t => {
    await using server = await startRedis();
    const holder = new Redis(server.url);
    t.after(() => holder.disconnect());
    await holder.config("SET", "maxclients", "1");
    await using store = createRedisStore({ server: server.url });
    const message = /protected-mode and maxclients|max number of clients/;
    await assert.rejects(store.ping(), { ...unavailable, message });
    await holder.config("SET", "maxclients", "100");
    await recovers(store);
  });

  it("accepts no more calls than it can keep in mind while the server hangs", async () => {
    await using server = await startRedis();
    await using store = createRedisStore({ server: server.url });
    await put(store);
    server.freeze();
    const calls = Array.from({ length: pendingCallsMax + 1 }, () =>
      put(store).catch((error: unknown) => error),
    );
    const last = await calls.at(-1);
    assert.ok(last instanceof AppError && last.code === "storage_unavailable", String(last));
    server.thaw();
    await Promise.all(calls);
    await recovers(store);
  });

  it("is not closed before the commits under way are answered, and afterwards refuses", async () => {
    const server = await sharedRedis();
    const store = createRedisStore({ server: server.url, prefix: freshPrefix() });
    const commits = Array.from({ length: 50 }, () => put(store));
    await commits[0];
    await Promise.all([store[Symbol.asyncDispose](), ...commits]);
    await assert.rejects(put(store), unavailable);
    await createRedisStore({ server: server.url })[Symbol.asyncDispose]();
  });
});

describe("a Redis store whose server refuses", { skip: redisAvailable() }, () => {
  const refusals: readonly [name: string, cause: Action, cure: Action][] = [
    [
      "has too few replicas",
      server => server.command("CONFIG", "SET", "min-replicas-to-write", "1"),
      server => server.command("CONFIG", "SET", "min-replicas-to-write", "0"),
    ],
    [
      "is a replica",
      server => server.command("REPLICAOF", "127.0.0.1", "1"),
      server => server.command("REPLICAOF", "NO", "ONE"),
    ],
  ];
  for (const [name, cause, cure] of refusals) {
    it(`reports that nothing was applied where the server ${name}, and recovers`, async () => {
      await using server = await startRedis();
      await using store = createRedisStore({ server: server.url });
      await put(store);
      await cause(server);
      const batch = {
        writes: [
          { type: "append", key: "l", value: "1", at: 1, maxLength: 5 },
          { type: "put", key: "new", value: "1" },
        ],
      } as const;
      await assert.rejects(store.commit("p", batch), unavailable);
      await cure(server);
      await recovers(store);
      assert.deepEqual(
        await store.read("p", [
          { type: "log", key: "l", limit: 5 },
          { type: "record", key: "new" },
        ]),
        [[], null],
      );
      await server.kill();
    });
  }

  it("reports that nothing was applied while another script keeps the server busy", async () => {
    const server = await startRedis({ args: ["--lua-time-limit", "50"] });
    await using store = createRedisStore({ server: server.url });
    await put(store);
    const endless = server.command("EVAL", "while true do end", 0).catch((error: unknown) => error);
    await until("the server is busy", () => fails(server.command("PING"), /BUSY/));
    await assert.rejects(put(store), unavailable);
    await server.command("SCRIPT", "KILL");
    await endless;
    await recovers(store);
  });

  it("reports that nothing was applied while the server loads its data, and then finds it", async () => {
    const server = await startRedis({ durable: true, args: ["--key-load-delay", "300"] });
    await using store = createRedisStore({ server: server.url });
    // A loading server listens only after every 1,024 commands.
    for (let batch = 0; batch < 8; batch++) {
      const keys = Array.from({ length: 1_000 }, (_, index) => `k${batch * 1_000 + index}`);
      await store.commit("p", { writes: keys.map(key => ({ type: "put", key, value: "1" })) });
    }
    await server.kill();
    const launched = server.launch();
    await until("the server loads", () => fails(server.command("PING"), /LOADING/));
    await assert.rejects(put(store), unavailable);
    await launched;
    await recovers(store);
    assert.equal((await store.read("p", [{ type: "record", key: "k7999" }]))[0]?.value, "1");
  });

  it("reports an unknown outcome, and an internal error of a read, where a key is not of its making", async () => {
    const server = await sharedRedis();
    const prefix = freshPrefix();
    await using store = createRedisStore({ server: server.url, prefix });
    await server.command("SET", `${prefix}{p}bb`, "no board");
    const score = { type: "score", op: "set", key: "b", member: "m", score: 1 } as const;
    await assert.rejects(store.commit("p", { writes: [score] }), { code: "outcome_unknown" });
    await assert.rejects(store.read("p", [{ type: "board", key: "b", limit: 1 }]), {
      code: "internal_error",
    });
  });
});

type Action = (server: RedisProcess) => Promise<unknown>;
