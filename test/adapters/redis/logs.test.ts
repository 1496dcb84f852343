import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRedisStore } from "../../../adapters/redis/mod.ts";
import type { LogEntry, ReadLog, Store, Write } from "../../../lib/storage/mod.ts";
import { storageLimits } from "../../../lib/storage/mod.ts";
import { type RedisProcess, redisAvailable, sharedRedis } from "../../support/redis.ts";
import { calls } from "./calls.ts";
import { freshPrefix } from "./fixture.ts";

const t0 = 1_700_000_000_000;
/** Most bytes that Redis may spend on a log beyond what is in it. */
const logOverheadBytesMax = 200;
/** Binary search over the longest log takes this many looks for each end. */
const looksMax = Math.ceil(Math.log2(storageLimits.logLengthMax)) + 1;

interface Opened extends AsyncDisposable {
  readonly store: Store;
  readonly server: RedisProcess;
  /** The key of the log `l` of the partition `p`. */
  readonly key: string;
}

async function open(): Promise<Opened> {
  const server = await sharedRedis();
  const prefix = freshPrefix();
  const store = createRedisStore({ server: server.url, prefix });
  return { store, server, key: `${prefix}{p}ll`, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

function append(value: string, at: number, maxLength: number = storageLimits.logLengthMax): Write {
  return { type: "append", key: "l", value, at, maxLength };
}

async function read(store: Store, options: Partial<ReadLog>): Promise<readonly LogEntry[]> {
  const [entries] = await store.read("p", [{ type: "log", key: "l", limit: 5, ...options }]);
  return entries;
}

describe("a log on Redis", { skip: redisAvailable() }, () => {
  it("costs little more than what is in it", async () => {
    await using opened = await open();
    const { store, server, key } = opened;
    const value = "x".repeat(200);
    await store.commit("p", { writes: [append(value, t0)] });
    const one = Number(await server.command("MEMORY", "USAGE", key));
    assert.ok(one < value.length + logOverheadBytesMax, `${one} bytes for the first entry`);
    const count = 1_000;
    await store.commit("p", {
      writes: Array.from({ length: count }, (_, index) => append(value, t0 + index)),
    });
    const each = (Number(await server.command("MEMORY", "USAGE", key, "SAMPLES", "0")) - one) / count;
    assert.ok(each < value.length * 1.25, `${each} bytes for a further entry`);
  });

  it("of the greatest length is read from its middle in few calls, in both directions", async () => {
    await using opened = await open();
    const { store, server, key } = opened;
    for (let start = 0; start < storageLimits.logLengthMax; start += 1_000) {
      await store.commit("p", {
        writes: Array.from({ length: 1_000 }, (_, index) => append(`v${start + index}`, t0 + start + index)),
      });
    }
    assert.equal(await server.command("LLEN", key), storageLimits.logLengthMax);
    const middle = storageLimits.logLengthMax / 2;
    const at = t0 + middle;
    const queries: readonly [query: Partial<ReadLog>, first: number, step: number][] = [
      [{ from: at }, middle, 1],
      [{ to: at, reverse: true }, middle, -1],
      [{ cursor: `${at}-1` }, middle + 1, 1],
      [{ cursor: `${at}-1`, reverse: true }, middle - 1, -1],
      [{ from: at - 10, to: at + 10, cursor: `${at}-1` }, middle + 1, 1],
    ];
    for (const [query, first, step] of queries) {
      let entries: readonly LogEntry[] = [];
      const counted = await calls(server, async () => {
        entries = await read(store, query);
      });
      assert.deepEqual(
        entries.map(({ value }) => value),
        Array.from({ length: 5 }, (_, index) => `v${first + index * step}`),
      );
      assert.ok((counted.lindex ?? 0) <= 2 * looksMax, `${counted.lindex} looks`);
      assert.equal(counted.lrange, 1, "entries are read once");
    }
  });

  it("needs no search where a limit alone bounds the query", async () => {
    await using opened = await open();
    const { store, server } = opened;
    await store.commit("p", { writes: ["a", "b", "c"].map((value, index) => append(value, t0 + index)) });
    for (const [reverse, expected] of [
      [false, ["a", "b"]],
      [true, ["c", "b"]],
    ] as const) {
      const counted = await calls(server, async () => {
        const entries = await read(store, { limit: 2, reverse });
        assert.deepEqual(
          entries.map(({ value }) => value),
          expected,
        );
      });
      assert.deepEqual([counted.lrange, counted.lindex, counted.evalsha], [1, undefined, undefined]);
    }
  });

  it("keeps its length and its time while appended to at the end", async () => {
    await using opened = await open();
    const { store, server, key } = opened;
    const length = 100;
    const ids: unknown[] = [];
    for (let index = 0; index < 3 * length; index++) {
      const commit = await store.commit("p", { writes: [append(`v${index}`, t0 - index, length)] });
      ids.push(commit.ok && commit.results[0]);
    }
    assert.equal(await server.command("LLEN", key), length);
    assert.deepEqual(
      ids,
      ids.map((_, index) => `${t0}-${index + 1}`),
    );
    assert.deepEqual(
      (await read(store, { limit: length, cursor: `${t0}-${2 * length + 1}` })).map(({ id }) => id),
      ids.slice(2 * length + 1),
    );
  });
});
