import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeCommitScript } from "../../../adapters/redis/commit_script.ts";
import { commitArguments, commitShape, preparedWritesMax } from "../../../adapters/redis/prepared_commit.ts";
import {
  preparedFieldsMax,
  preparedReadsMax,
  readShape,
  writeReadScript,
} from "../../../adapters/redis/read_script.ts";
import {
  ScriptCache,
  shapesCountedMax,
  shapesMax,
  shapeUsesMin,
} from "../../../adapters/redis/script_cache.ts";
import { openRedisStore } from "../../../adapters/redis/store.ts";
import type { Add, Put, Score } from "../../../lib/storage/contract.ts";
import { type Batch, storageLimits, type Write } from "../../../lib/storage/mod.ts";
import { redisAvailable, sharedRedis } from "../../support/redis.ts";
import { calls } from "./calls.ts";
import { freshPrefix } from "./fixture.ts";

const put: Put = { type: "put", key: "r", value: "secret ]] value" };
const score: Score = { type: "score", op: "set", key: "b", member: "m", score: 1 };
const add: Add = { type: "add", key: "t", field: "f", by: 1 };

describe("the shape of a batch", () => {
  it("contains checks, kinds of writes and bounds, and none of their values", () => {
    const batch: Batch = {
      checks: [
        { key: "a", version: null },
        { key: "b", version: "1" },
        { key: "t", absent: "secret" },
      ],
      writes: [
        put,
        { ...put, expireAt: 20 },
        { ...put, expireAt: 10 },
        add,
        { ...add, key: "u", min: 0 },
        { ...add, key: "v", max: 0 },
        { ...add, key: "w", min: 0, max: 0 },
        { type: "append", key: "l", value: "1", at: 1, maxLength: 5 },
        { type: "delete", shape: "log", key: "l" },
        { type: "delete", shape: "board", key: "b" },
        { type: "score", op: "set", key: "b", member: "secret", score: 1 },
      ],
    };
    const shape = commitShape(batch, 10);
    assert.equal(shape, "ncf|pPdamxrldD=");
    const mark: Add = { type: "add", key: "t", field: "secret", by: 1 };
    assert.equal(commitShape({ ...batch, writes: [mark] }, 10), "ncf|M");
    assert.equal(commitShape({ ...batch, writes: [{ ...mark, max: 1 }] }, 10), "ncf|x");
    assert.equal(commitShape({ ...batch, writes: [{ ...mark, key: "u" }] }, 10), "ncf|a");
    assert.equal(commitShape({ ...batch, writes: [mark, add] }, 10), "ncf|aA");
    assert.equal(commitShape({ ...batch, writes: [{ ...mark, by: 2 }] }, 10), "ncf|a");
    assert.equal(commitShape({ ...batch, writes: [mark, { ...add, key: "u" }] }, 10), "ncf|Ma");
    assert.equal(commitShape({ ...batch, writes: [{ ...add, key: "u" }, mark] }, 10), "ncf|aa");
    const emptied = { type: "delete", shape: "tally", key: "t" } as const;
    assert.equal(commitShape({ ...batch, writes: [emptied, mark] }, 10), undefined);
    assert.doesNotMatch(writeCommitScript(shape), /secret/);
  });

  it("does not repeat names", () => {
    const checks = [
      { key: "r", version: "1" },
      { key: "t", absent: "f" },
      { key: "u", absent: "f" },
    ];
    const batch: Batch = { checks, writes: [put, { ...add, key: "u" }] };
    assert.equal(commitShape(batch, 10), "cfg|qM");
    assert.deepEqual(commitArguments(batch, { root: "", now: 10, version: "2" }), [
      ["rr", "tt", "tu"],
      ["10", "-", "f", `2${"0".repeat(16)}secret ]] value`],
    ]);
    assert.equal(commitShape({ checks, writes: [{ ...put, expireAt: 20 }] }, 10), "cfg|P");
    assert.equal(commitShape({ checks: checks.slice(1), writes: [put] }, 10), "fg|p");
  });

  it("is undefined if guards depend on earlier writes, or the batch is large", () => {
    const others: readonly (readonly Write[])[] = [
      [add, add],
      [add, { ...add, field: "g", min: 0 }],
      [add, { ...add, key: "u" }, { ...add, field: "g" }],
      [{ type: "delete", shape: "tally", key: "t" }, add],
      [{ ...score, op: "add" }],
      [score, { ...score, member: "n" }],
      [{ type: "unscore", key: "b", member: "m" }],
      Array.from({ length: preparedWritesMax + 1 }, () => put),
    ];
    for (const writes of others) assert.equal(commitShape({ writes }, 0), undefined);
    for (const [op, sign] of [
      ["set", "|="],
      ["min", "|<"],
      ["max", "|>"],
    ] as const) {
      assert.equal(commitShape({ writes: [{ ...score, op }] }, 0), sign);
    }
    assert.equal(commitShape({ writes: [add, { type: "delete", shape: "tally", key: "t" }] }, 0), "|ad");
    const fields = [
      { ...add, max: 9 },
      { ...add, field: "g", max: 9 },
      { ...add, field: "h" },
    ];
    assert.equal(commitShape({ writes: fields }, 0), "|xXA");
    assert.equal(
      commitShape({ writes: Array.from({ length: preparedWritesMax }, () => put) }, 0)?.length,
      17,
    );
  });
});

describe("the shape of a read", () => {
  it("contains records and fields of tallies, and is undefined with other queries", () => {
    const record = { type: "record", key: "r" } as const;
    const tally = { type: "tally", key: "t" } as const;
    const fields = Array.from({ length: preparedFieldsMax }, (_, index) => `f${index}`);
    assert.equal(readShape([record, tally, { ...tally, fields }, { ...tally, fields: ["a"] }]), "rt91");
    assert.equal(readShape([{ ...tally, fields: [...fields, "more"] }]), undefined);
    assert.equal(readShape([{ ...tally, fields: [] }]), undefined);
    assert.equal(readShape([record, { type: "board", key: "b", limit: 1 }]), undefined);
    assert.equal(readShape(Array.from({ length: preparedReadsMax + 1 }, () => record)), undefined);
  });

  it("makes one command of all records", () => {
    const lines = writeReadScript("r1r").split("\n");
    assert.ok(lines.includes("local records = call('MGET', keys[k + 1], keys[k + 3])"));
    assert.ok(
      lines.includes("answers[n + 1] = { records[1], call('HMGET', keys[k + 2], args[a + 1]), records[2] }"),
    );
  });
});

describe("scripts made to measure", () => {
  it("are written once for each shape that keeps coming up, and for no more than shapesMax shapes", () => {
    let written = 0;
    const cache = new ScriptCache(shape => {
      written += 1;
      return shape;
    });
    for (let index = 0; index < shapesMax; index++) {
      for (let use = 1; use < shapeUsesMin; use++) assert.equal(cache.of(`s${index}`), undefined);
      for (let use = 0; use < 2; use++) assert.equal(cache.of(`s${index}`)?.lua, `s${index}`);
    }
    for (let use = 0; use <= shapeUsesMin; use++) assert.equal(cache.of("one more"), undefined);
    assert.equal(written, shapesMax);
    assert.match(cache.of("s0")?.sha ?? "", /^[0-9a-f]{40}$/);
  });

  it("are not kept waiting by shapes that come up now and then", () => {
    const cache = new ScriptCache(shape => shape);
    for (let round = 0; round < shapeUsesMin; round++) {
      for (let index = 0; index < shapesCountedMax + 1; index++) cache.of(`${index}`);
    }
    for (let use = 1; use < shapeUsesMin; use++) cache.of("often");
    assert.equal(cache.of("often")?.lua, "often");
  });

  it("ask Redis for no more than a batch needs", { skip: redisAvailable() }, async () => {
    const server = await sharedRedis();
    await using store = openRedisStore({ server: server.url, prefix: freshPrefix() }, { uses: 1 });
    const writes: readonly Write[] = [
      put,
      { ...add, max: 9 },
      { type: "append", key: "l", value: "1", at: 1, maxLength: 5 },
    ];
    const first = await store.commit("p", { checks: [{ key: "r", version: null }], writes });
    assert.ok(first.ok);
    const batch: Batch = { checks: [{ key: "r", version: first.version }], writes };
    let second: unknown;
    // The first use of a shape takes the server its script.
    const counted = await calls(server, async () => {
      second = await store.commit("p", batch);
    });
    const { evalsha, eval: taken, getrange, hmget, hlen, set, hset, lindex, rpush } = counted;
    assert.deepEqual([evalsha, taken], [1, 1]);
    assert.deepEqual([getrange, hmget, hlen, set, hset, lindex, rpush], [1, 1, undefined, 1, 1, 1, 1]);
    assert.deepEqual((second as { results: unknown }).results, [null, 2, "1-2"]);
    assert.deepEqual(await store.commit("p", batch), { ok: false, because: "check", key: "r" });
  });

  it("add to several fields of a tally as far as it has room", { skip: redisAvailable() }, async () => {
    const server = await sharedRedis();
    await using store = openRedisStore({ server: server.url, prefix: freshPrefix() }, { uses: 1 });
    for (let from = 0; from < storageLimits.tallyFieldsMax - 2; from += storageLimits.writesMax) {
      const count = Math.min(storageLimits.writesMax, storageLimits.tallyFieldsMax - 2 - from);
      const writes = Array.from({ length: count }, (_, index) => ({ ...add, field: `${from + index}` }));
      assert.ok((await store.commit("p", { writes })).ok);
    }
    const adds = (...fields: readonly string[]): readonly Write[] =>
      fields.map((field, index) => (index === 0 ? { ...add, field, max: 1 } : { ...add, field }));
    assert.ok((await store.commit("p", { writes: [put, ...adds("0", "1").slice(1)] })).ok);
    await assert.rejects(store.commit("p", { writes: adds("a", "b", "c") }), /fields/);
    assert.ok((await store.commit("p", { writes: adds("a", "b", "2") })).ok);
    const again = await store.commit("p", { writes: adds("a", "1", "3") });
    assert.deepEqual(again, { ok: false, because: "guard", key: "t" });
    const [sums] = await store.read("p", [{ type: "tally", key: "t", fields: ["a", "b", "1", "2", "3"] }]);
    assert.deepEqual([...sums.values()], [1, 1, 2, 2, 1]);
  });

  it("mark a field and check it in one call", { skip: redisAvailable() }, async () => {
    const server = await sharedRedis();
    await using store = openRedisStore({ server: server.url, prefix: freshPrefix() }, { uses: 1 });
    const mark = (field: string): Batch => ({
      checks: [
        { key: "old", absent: field },
        { key: "t", absent: field },
      ],
      writes: [put, { ...add, field }],
    });
    assert.ok((await store.commit("p", mark("a"))).ok);
    const { hexists, hsetnx, hset } = await calls(server, () => store.commit("p", mark("b")));
    assert.deepEqual([hexists, hsetnx, hset], [1, 1, undefined]);
    assert.deepEqual(await store.commit("p", mark("a")), { ok: false, because: "check", key: "t" });
    await store.commit("p", { writes: [{ ...add, key: "old", field: "c" }] });
    assert.deepEqual(await store.commit("p", mark("c")), { ok: false, because: "check", key: "old" });
    const [marks] = await store.read("p", [{ type: "tally", key: "t" }]);
    assert.deepEqual(
      marks,
      new Map([
        ["a", 1],
        ["b", 1],
      ]),
    );
  });

  it("leave no mark where a bound refuses the batch", { skip: redisAvailable() }, async () => {
    const server = await sharedRedis();
    await using store = openRedisStore({ server: server.url, prefix: freshPrefix() }, { uses: 1 });
    const vote = (field: string): Batch => ({
      checks: [{ key: "t", absent: field }],
      writes: [
        { ...add, field },
        { ...add, key: "votes", max: 1 },
        { ...add, key: "votes", field: "g" },
      ],
    });
    const first = await store.commit("p", vote("a"));
    assert.deepEqual(first.ok && first.results, [1, 1, 1]);
    assert.deepEqual(await store.commit("p", vote("a")), { ok: false, because: "check", key: "t" });
    assert.deepEqual(await store.commit("p", vote("b")), { ok: false, because: "guard", key: "votes" });
    const [marks, votes] = await store.read("p", [
      { type: "tally", key: "t" },
      { type: "tally", key: "votes" },
    ]);
    assert.deepEqual(
      [[...marks], [...votes]],
      [
        [["a", 1]],
        [
          ["f", 1],
          ["g", 1],
        ],
      ],
    );
  });
});
