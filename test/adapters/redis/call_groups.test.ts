import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRedisStore } from "../../../adapters/redis/mod.ts";
import { shapeUsesMin } from "../../../adapters/redis/script_cache.ts";
import type { Commit, Store, Write } from "../../../lib/storage/contract.ts";
import { redisAvailable, sharedRedis, startCluster } from "../../support/redis.ts";
import { calls } from "./calls.ts";
import { freshPrefix } from "./fixture.ts";

const partitions = Array.from({ length: 100 }, (_, index) => `p${index}`);

function writes(partition: string): Write[] {
  return [
    { type: "put", key: "r", value: `of ${partition}` },
    { type: "add", key: "t", field: "f", by: 1, max: 1 },
  ];
}

function commitAll(store: Store): Promise<Commit[]> {
  return Promise.all(partitions.map(partition => store.commit(partition, { writes: writes(partition) })));
}

async function readAll(store: Store): Promise<(string | undefined)[]> {
  const results = await Promise.all(
    partitions.map(partition =>
      store.read(partition, [
        { type: "record", key: "r" },
        { type: "tally", key: "t", fields: ["f"] },
      ]),
    ),
  );
  return results.map(([record, tally]) => `${record?.value} ${tally.get("f")}`);
}

const expected = partitions.map(partition => `of ${partition} 1`);

describe("batches and reads that come at the same time", { skip: redisAvailable() }, () => {
  it("share a few calls, whatever their partitions", async () => {
    const server = await sharedRedis();
    await using store = createRedisStore({ server: server.url, prefix: freshPrefix() });
    // Shapes that keep coming up share calls.
    for (let use = 0; use < shapeUsesMin; use++) {
      await store.commit(`first ${use}`, { writes: writes("first") });
    }
    await readAll(store);
    const counted = await calls(server, () => commitAll(store));
    assert.ok((counted.evalsha ?? 0) <= 3, `${counted.evalsha} calls for ${partitions.length} batches`);
    let seen: unknown;
    const reading = await calls(server, async () => {
      seen = await readAll(store);
    });
    assert.deepEqual(seen, expected);
    assert.ok((reading.evalsha ?? 0) <= 5, `${reading.evalsha} calls for ${partitions.length} reads`);
    const records = await calls(server, () =>
      Promise.all(partitions.map(partition => store.read(partition, [{ type: "record", key: "r" }]))),
    );
    assert.ok((records.mget ?? 0) <= 5, `${records.mget} calls for ${partitions.length} records`);
  });

  it("are refused and accepted each on its own", async () => {
    const server = await sharedRedis();
    await using store = createRedisStore({ server: server.url, prefix: freshPrefix() });
    const taken = partitions.filter((_, index) => index % 3 === 0);
    for (const partition of taken) await store.commit(partition, { writes: writes(partition) });
    const commits = await commitAll(store);
    for (const [index, partition] of partitions.entries()) {
      const commit = commits[index];
      if (taken.includes(partition)) assert.deepEqual(commit, { ok: false, because: "guard", key: "t" });
      else assert.ok(commit?.ok);
    }
    assert.deepEqual(await readAll(store), expected);
  });

  it("go alone on a node of a Cluster that was given as a server, and none is lost", async () => {
    const cluster = await startCluster();
    const [node] = cluster.nodes;
    assert.ok(node !== undefined);
    await using store = createRedisStore({ server: node.url });
    const commits = await Promise.allSettled(
      partitions.map(partition => store.commit(partition, { writes: writes(partition) })),
    );
    await using whole = createRedisStore({ server: cluster.url });
    const seen = await readAll(whole);
    let applied = 0;
    for (const [index, commit] of commits.entries()) {
      // The node answers for its own slots alone.
      if (commit.status === "fulfilled") applied += 1;
      else assert.equal(commit.reason.code, "storage_unavailable");
      const expectation = commit.status === "fulfilled" ? expected[index] : "undefined undefined";
      assert.equal(seen[index], expectation);
    }
    assert.ok(applied > 0 && applied < partitions.length, `${applied} of ${partitions.length} applied`);
    await cluster.stop();
  });
});
