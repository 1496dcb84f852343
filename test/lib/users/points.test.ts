import assert from "node:assert/strict";
import { it } from "node:test";
import type { BoardEntry, Store } from "../../../lib/storage/mod.ts";
import { storageLimits } from "../../../lib/storage/mod.ts";
import {
  type BoardPageQuery,
  partAttemptsMax,
  readPageAfter,
  sampledShards,
  sampleRanges,
  userPartition,
  userShardOf,
  userShardPartition,
  userShards,
  usersInRange,
  type WalkDirection,
  walkNamedUsers,
  walkUsers,
} from "../../../lib/users/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { describeOnEveryStore } from "../../support/stores.ts";

const partition = "o:test:board";
const key = "board";
const organisationId = "o";

async function fill(
  store: Store,
  place: string,
  entries: readonly (readonly [member: string, score: number])[],
): Promise<void> {
  for (let from = 0; from < entries.length; from += 500) {
    const some = entries.slice(from, from + 500);
    await store.commit(place, {
      writes: some.map(([member, score]) => ({ type: "score", op: "set", key, member, score })),
    });
  }
}

async function walked(
  store: Store,
  query: Omit<BoardPageQuery, "after" | "key">,
  between: (met: readonly string[]) => Promise<void> = async () => {},
): Promise<string[]> {
  const met: string[] = [];
  for (let after: BoardEntry | null = null; ; ) {
    const part = await readPageAfter(store, partition, { ...query, key, after });
    met.push(...part.entries.map(({ member }) => member));
    after = part.entries.at(-1) ?? after;
    if (part.isEnd) return met;
    await between(met);
  }
}

describeOnEveryStore("the parts of a board", open => {
  const directions: readonly WalkDirection[] = ["asc", "desc"];

  it("go on after a point, however long the run of equal scores is", async () => {
    await using store = await open(createTestClock().now);
    const entries = Array.from({ length: 60 }, (_, n): [string, number] => [
      `u${n}`,
      n < 10 ? 1 : n < 55 ? 2 : 3,
    ]);
    await fill(store, partition, entries);
    for (const direction of directions) {
      for (const limit of [1, 3, 44, 45, 46, 100]) {
        const met = await walked(store, { direction, limit });
        assert.equal(met.length, entries.length);
        const ordered = entries
          .toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
          .map(([member]) => member);
        assert.deepEqual(met, direction === "asc" ? ordered : ordered.toReversed());
      }
    }
  });

  it("keep to scores from a lowest to a highest one", async () => {
    await using store = await open(createTestClock().now);
    await fill(
      store,
      partition,
      Array.from({ length: 30 }, (_, n): [string, number] => [`u${n}`, Math.floor(n / 10)]),
    );
    for (const direction of directions) {
      const met = await walked(store, { direction, limit: 3, min: 1, max: 1 });
      assert.deepEqual(
        met.toSorted(),
        Array.from({ length: 10 }, (_, n) => `u${n + 10}`),
      );
    }
  });

  it("meet everybody who stays exactly once while others come and go, also among equal scores", async () => {
    for (const direction of directions) {
      await using store = await open(createTestClock().now);
      const stay = Array.from({ length: 50 }, (_, n): [string, number] => [`stay-${n}`, 7]);
      const gone = Array.from({ length: 50 }, (_, n): [string, number] => [`gone-${n}`, 7]);
      await fill(store, partition, [...stay, ...gone]);
      let next = 0;
      const met = await walked(store, { direction, limit: 4 }, async () => {
        await store.commit(partition, {
          writes: [
            { type: "unscore", key, member: `gone-${next}` },
            { type: "unscore", key, member: `gone-${49 - next}` },
            { type: "score", op: "set", key, member: `a-${next}`, score: 7 },
            { type: "score", op: "set", key, member: `z-${next}`, score: 7 },
          ],
        });
        next += 1;
      });
      assert.deepEqual(
        met.filter(member => member.startsWith("stay-")).toSorted(),
        stay.map(([member]) => member).toSorted(),
      );
      assert.equal(new Set(met).size, met.length);
    }
  });

  it("give up where the board never holds still", async () => {
    await using inner = await open(createTestClock().now);
    await fill(
      inner,
      partition,
      Array.from({ length: 200 }, (_, n): [string, number] => [`u${String(n).padStart(3, "0")}`, 7]),
    );
    let reads = 0;
    const store = Object.assign(Object.create(inner) as Store, {
      async read(place: string, queries: Parameters<Store["read"]>[1]) {
        reads += 1;
        await inner.commit(place, {
          writes: [{ type: "score", op: "set", key, member: `a${reads}`, score: 7 }],
        });
        return await inner.read(place, queries);
      },
    });
    const after = { member: "u100", score: 7, tie: 0 };
    await assert.rejects(readPageAfter(store, partition, { key, direction: "asc", after, limit: 5 }), {
      code: "busy",
    });
    assert.equal(reads, 2 + partAttemptsMax);
  });
});

describeOnEveryStore("users over all shards", open => {
  it("are one order, from any point on, and named ones alone are the same order", async () => {
    await using store = await open(createTestClock().now);
    const entries = Array.from({ length: 500 }, (_, n): [string, number] => [`u${n}`, (n * 7_919) % 50]);
    for (const entry of entries) await fill(store, userPartition(organisationId, entry[0]), [entry]);
    const ordered = entries
      .map(([member, score]) => ({ member, score, tie: 0 }))
      .toSorted((a, b) => a.score - b.score || (a.member < b.member ? -1 : 1));
    for (const direction of ["asc", "desc"] as const) {
      const all = direction === "asc" ? ordered : ordered.toReversed();
      for (const from of [0, 1, 250, 499]) {
        const after = from === 0 ? null : (all[from - 1] ?? null);
        const walk = walkUsers({ store, organisationId, after }, { key, direction });
        const met = [...(await walk.next(30)), ...(await walk.next(1_000))];
        assert.deepEqual(met, all.slice(from));
        assert.deepEqual(await walk.next(10), []);
        const named = new Set(["u3", "u77", "u400", "nobody"]);
        const few = await walkNamedUsers({ store, organisationId, after }, { key, direction }, [...named]);
        assert.deepEqual(
          await few.next(10),
          all.slice(from).filter(({ member }) => named.has(member)),
        );
      }
    }
  });

  it("are found in a range of one shard at one instant, however many they are", async () => {
    await using store = await open(createTestClock().now);
    const place = userShardPartition(organisationId, 3);
    const many = Array.from({ length: 2 * storageLimits.rangeLimitMax + 10 }, (_, n): [string, number] => [
      `u${n}`,
      n,
    ]);
    await fill(store, place, many);
    const found = await usersInRange(store, place, { key, min: 5, max: Number.POSITIVE_INFINITY });
    assert.deepEqual(
      found.map(({ score }) => score),
      many.slice(5).map(([, score]) => score),
    );
    assert.deepEqual(await usersInRange(store, place, { key, min: 8, max: 7 }), []);
  });

  it("are counted in a few shards to tell how many a range has", async () => {
    await using store = await open(createTestClock().now);
    const step = userShards / sampledShards;
    for (let shard = 0; shard < userShards; shard++) {
      const entries = [0, 1, 1, 2.5].map((score, n): [string, number] => [
        `u${shard}-${n}`,
        shard % step === 0 ? score : 9,
      ]);
      await fill(store, userShardPartition(organisationId, shard), entries);
    }
    const ranges = [
      { key, min: 1, max: 1 },
      { key, min: 0, max: 0 },
      { key, min: 1, max: 2.5 },
      { key, min: 3, max: 2 },
      { key, min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY },
    ];
    const counts = await sampleRanges(store, organisationId, ranges);
    assert.deepEqual(
      counts.map(count => Math.max(0, count)),
      [2, 1, 3, 0, 4],
    );
    assert.ok(userShardOf("anybody") < userShards);
  });
});
