import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { groupUnitsMax } from "../../../adapters/redis/call_groups.ts";
import { createRedisStore } from "../../../adapters/redis/mod.ts";
import { shapeUsesMin } from "../../../adapters/redis/script_cache.ts";
import type { Commit, Store, Write } from "../../../lib/storage/mod.ts";
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

  it("share a few calls if they write scores and read boards", async () => {
    const server = await sharedRedis();
    await using store = createRedisStore({ server: server.url, prefix: freshPrefix() });
    const put = (partition: string): Promise<Commit> => {
      const score = Number(partition.slice(1));
      return store.commit(partition, {
        writes: [{ type: "score", op: "set", key: "b", member: partition, score, tie: 5 }],
      });
    };
    for (let use = 0; use < shapeUsesMin; use++) await put("p0");
    const written = await calls(server, () => Promise.all(partitions.map(put)));
    assert.ok((written.evalsha ?? 0) <= 3, `${written.evalsha} calls for ${partitions.length} scores`);
    let seen: unknown;
    const read = await calls(server, async () => {
      seen = await Promise.all(
        partitions.map(partition =>
          store.read(partition, [
            { type: "around", key: "b", member: partition, limit: 3 },
            { type: "board", key: "b", limit: 1, min: 50 },
            { type: "record", key: "none" },
          ]),
        ),
      );
    });
    assert.deepEqual(
      seen,
      partitions.map((member, score) => {
        const all = { entries: [{ member, score, tie: 5 }], size: 1 };
        return [{ ...all, offset: 0, below: 0 }, score < 50 ? { ...all, entries: [] } : all, null];
      }),
    );
    assert.ok((read.evalsha ?? 0) <= 6, `${read.evalsha} calls for ${partitions.length} reads`);
  });

  it(`share a call up to ${groupUnitsMax} units, so that no call holds up the server`, async () => {
    const server = await sharedRedis();
    await using store = createRedisStore({ server: server.url, prefix: freshPrefix() });
    const callsFor = async (count: number, units: number): Promise<number> => {
      const value = "v".repeat(units);
      const { evalsha = 0 } = await calls(server, () =>
        Promise.all(
          partitions
            .slice(0, count)
            .map(partition => store.commit(partition, { writes: [{ type: "put", key: "r", value }] })),
        ),
      );
      return evalsha;
    };
    for (let use = 0; use < shapeUsesMin; use++) await callsFor(1, 1);
    // The first batch of a turn may go alone.
    assert.ok((await callsFor(8, groupUnitsMax / 16)) <= 2);
    const large = await callsFor(8, groupUnitsMax / 2);
    assert.ok(large >= 4, `${large} calls`);
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

  it("reach all nodes of a Cluster of which one was given as a server, and none is lost", async () => {
    const cluster = await startCluster();
    const [node] = cluster.nodes;
    assert.ok(node !== undefined);
    await using store = createRedisStore({ server: node.url });
    const commits = await commitAll(store);
    assert.ok(commits.every(({ ok }) => ok));
    await using whole = createRedisStore({ server: cluster.url });
    assert.deepEqual(await readAll(whole), expected);
    await cluster.stop();
  });
});
