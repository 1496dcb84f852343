import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Load } from "../../../adapters/conformance/load.ts";
import {
  createRedisLimiter,
  createRedisQueue,
  createRedisStore,
  inspectRedis,
} from "../../../adapters/redis/mod.ts";
import type { Partition } from "../../../lib/storage/mod.ts";
import type { RedisCluster } from "../../support/redis.ts";
import { type RedisProcess, redisAvailable, startCluster, startRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { MovingAddress } from "../moving_address.ts";

describe("a Redis store on a Cluster", { skip: redisAvailable() }, () => {
  it("reports every commit truthfully when a master is killed and started again", async () => {
    const cluster = await startCluster({ durable: true });
    await using store = createRedisStore({ server: cluster.url });
    await using load = new Load(store);
    await load.more("ok", 500);
    const [first] = cluster.nodes;
    await first?.kill();
    await load.more("storage_unavailable", 200);
    await first?.launch();
    await cluster.healthy();
    await load.more("ok", 500);
    await load.stop();
    await cluster.healthy();
    await load.verify();
    assert.ok(
      load.count("outcome_unknown") <= 64,
      "only commits that were under way when the master died may have an unknown outcome",
    );
    await cluster.stop();
  });

  it("never sends a commit twice when its connections are killed again and again", async () => {
    const cluster = await startCluster();
    await using store = createRedisStore({ server: cluster.url });
    await using load = new Load(store);
    for (let round = 0; round < 10; round++) {
      await load.more("ok", 200);
      for (const node of cluster.nodes) {
        await node.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      }
    }
    await load.more("ok", 200);
    await load.stop();
    assert.ok(load.count("outcome_unknown") > 0, "the kills met no commit under way");
    await load.verify();
    await cluster.stop();
  });

  it("follows a slot that moves to another node under load", async () => {
    const cluster = await startCluster();
    await using store = createRedisStore({ server: cluster.url });
    await using load = new Load(store);
    await load.more("ok", 500);
    await moveSlot(cluster, "gs:{p1}");
    await load.more("ok", 500);
    await load.stop();
    assert.equal(load.count("outcome_unknown"), load.late, "the move left an outcome unknown");
    await load.verify();
    await cluster.stop();
  });

  it("is found out from the address of one node, and works like a list of them", async () => {
    const cluster = await startCluster();
    const server = cluster.nodes[1]?.url ?? "";
    await using store = createRedisStore({ server });
    await using queue = createRedisQueue({ server });
    await using limiter = createRedisLimiter({ server });
    const partitions = ["a", "b", "c", "d", "e", "f"];
    const writes = [{ type: "put", key: "k", value: "1" }] as const;
    // At once, before it is known where the keys are.
    await Promise.all(partitions.map(partition => store.commit(partition, { writes })));
    await Promise.all(partitions.map(topic => queue.push(topic, ["body"])));
    const rules = [{ name: "r", limit: 1, windowMs: 60_000 }];
    await Promise.all(partitions.map(subject => limiter.take(subject, rules)));
    await using fresh = createRedisStore({ server });
    const found: Partition[] = [];
    for await (const some of fresh.partitions({ prefix: "", record: "k" })) found.push(...some);
    assert.deepEqual(found.sort(), partitions);
    assert.equal((await inspectRedis(server)).slotsServed, 16_384);
    await cluster.stop();
  });

  it("is found out from a server that becomes a node of one", async () => {
    const cluster = await startCluster();
    await using single = await startRedis();
    await using address = await MovingAddress.to(single.port);
    await using store = createRedisStore({ server: address.url });
    const writes = [{ type: "put", key: "k", value: "1" }] as const;
    await store.commit("a", { writes });
    address.moveTo(cluster.nodes[0]?.port ?? 0);
    await single.kill();
    const partitions = ["a", "b", "c", "d", "e", "f"];
    await until("the store works again", () =>
      Promise.all(partitions.map(partition => store.commit(partition, { writes }))).then(
        () => true,
        () => false,
      ),
    );
    await cluster.stop();
  });

  it("finds the nodes from a single one of the list", async () => {
    const cluster = await startCluster();
    const url = cluster.nodes[1]?.url ?? "";
    await using store = createRedisStore({ server: `redis://127.0.0.1:1, ${url}` });
    for (const partition of ["a", "b", "c", "d", "e", "f"]) {
      const commit = await store.commit(partition, { writes: [{ type: "put", key: "k", value: partition }] });
      assert.equal(commit.ok, true);
    }
    await cluster.stop();
  });
});

/** Moves the slot of the tag from its owner to the next node, key by key, as `redis-cli --cluster reshard` does. */
async function moveSlot(cluster: RedisCluster, tag: string): Promise<void> {
  const [any] = cluster.nodes;
  const slot = Number(await any?.command("CLUSTER", "KEYSLOT", tag));
  const counts = await Promise.all(cluster.nodes.map(node => keysIn(node, slot)));
  const index = counts.findIndex(keys => keys.length > 0);
  const owner = cluster.nodes[index];
  const target = cluster.nodes[(index + 1) % cluster.nodes.length];
  assert.ok(owner !== undefined && target !== undefined, "the tag has no keys");
  const [from, to] = await Promise.all([owner, target].map(node => node.command("CLUSTER", "MYID")));
  await target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", `${from}`);
  await owner.command("CLUSTER", "SETSLOT", slot, "MIGRATING", `${to}`);
  for (;;) {
    const keys = await keysIn(owner, slot);
    if (keys.length === 0) break;
    await owner.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5_000, "KEYS", ...keys);
  }
  for (const node of [target, owner, ...cluster.nodes]) {
    await node.command("CLUSTER", "SETSLOT", slot, "NODE", `${to}`);
  }
}

async function keysIn(node: RedisProcess, slot: number): Promise<string[]> {
  return (await node.command("CLUSTER", "GETKEYSINSLOT", slot, 20)) as string[];
}
