/** A replica is promoted and the address leads to it, while connections to the former primary stay open. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createRedisBlobs,
  createRedisLimiter,
  createRedisQueue,
  createRedisStore,
} from "../../../adapters/redis/mod.ts";
import { type RedisProcess, redisAvailable, startRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { MovingAddress, recovers } from "../moving_address.ts";

/** Everything of the adapter that has a connection of its own, each with a call that writes. */
const kinds: Readonly<Record<string, (server: string) => Opened>> = {
  store(server) {
    const store = createRedisStore({ server });
    const write = (): Promise<unknown> =>
      store.commit("p", { writes: [{ type: "put", key: "k", value: "1" }] });
    return { write, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  },
  "queue that is filled"(server) {
    const queue = createRedisQueue({ server });
    return {
      write: () => queue.push("t", ["body"]),
      [Symbol.asyncDispose]: () => queue[Symbol.asyncDispose](),
    };
  },
  "queue that is emptied"(server) {
    const queue = createRedisQueue({ server });
    const lease = { consumer: "c", limit: 10, leaseMs: 1_000 };
    const write = (): Promise<unknown> => queue.take("t", lease);
    return { write, [Symbol.asyncDispose]: () => queue[Symbol.asyncDispose]() };
  },
  limiter(server) {
    const limiter = createRedisLimiter({ server });
    const rule = { name: "r", limit: 1_000, windowMs: 60_000 };
    return {
      write: async () => await limiter.take("s", [rule]),
      [Symbol.asyncDispose]: () => limiter[Symbol.asyncDispose](),
    };
  },
  "store of blobs"(server) {
    const blobs = createRedisBlobs({ server });
    const write = (): Promise<unknown> => blobs.put("b", new Blob(["bytes"]).stream());
    return { write, [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose]() };
  },
};

interface Opened extends AsyncDisposable {
  write(): Promise<unknown>;
}

/** Answers of a server that is not, or not yet, the one to ask. Those of 6.2 hold what a script met inside a sentence. */
const refusals: Readonly<Record<string, string>> = {
  "READONLY of Redis 7": "READONLY You can't write against a read only replica.",
  "READONLY that a script of Redis 7 passed on":
    "ERR READONLY You can't write against a read only replica. script: 1a2b, on @user_script:54.",
  "READONLY that a script of Redis 6.2 met":
    "ERR Error running script (call to f_1a2b): @user_script:9: @user_script: 9: -READONLY You can't write against a read only replica.",
  "LOADING of Redis 6.2": "LOADING Redis is loading the dataset in memory",
  "LOADING that a script met":
    "ERR Error running script (call to f_1a2b): @user_script:9: @user_script: 9: -LOADING Redis is loading the dataset in memory",
  "MASTERDOWN of Redis 6.2":
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "MASTERDOWN that a script met":
    "ERR Error running script (call to f_1a2b): @user_script:9: @user_script: 9: -MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
};

for (const [kind, open] of Object.entries(kinds)) {
  describe(`a ${kind} on Redis whose address moves to a promoted replica`, { skip: redisAvailable() }, () => {
    it("works on with the new primary, although the former one still answers", async () => {
      await using former = await startRedis({ args: ["--repl-diskless-sync-delay", "0"] });
      await using promoted = await startRedis();
      await using address = await MovingAddress.to(former.port);
      await replicate(former, promoted);
      await using opened = open(address.url);
      await opened.write();
      await promoted.command("REPLICAOF", "NO", "ONE");
      await former.command("REPLICAOF", "127.0.0.1", promoted.port);
      address.moveTo(promoted.port);
      await assert.rejects(opened.write(), { code: "storage_unavailable", message: /READONLY/ });
      await recovers(() => opened.write());
    });

    for (const [name, text] of Object.entries(refusals)) {
      it(`connects anew after ${name}`, async () => {
        await using server = await startRedis();
        await using address = await MovingAddress.to(server.port);
        await using opened = open(address.url);
        await opened.write();
        address.refuseOpen(text);
        await assert.rejects(opened.write(), { code: "storage_unavailable" });
        await recovers(() => opened.write());
      });
    }
  });
}

async function replicate(primary: RedisProcess, replica: RedisProcess): Promise<void> {
  await replica.command("REPLICAOF", "127.0.0.1", primary.port);
  await until("the replica is in step", async () =>
    `${await replica.command("INFO", "replication")}`.includes("master_link_status:up"),
  );
}
