import assert from "node:assert/strict";
import { it } from "node:test";
import {
  sampleRanges,
  userIndexPartition,
  userShardOf,
  userShardPartition,
  userShards,
  usersInRange,
  walkNamedUsers,
  walkUsers,
} from "../../../../lib/fans/users/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { storageLimits } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnDatabases } from "../../../support/stores.ts";

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

describeOnDatabases("users over all shards", open => {
  it("are read in one order from any entry on, also named users only", async () => {
    await using store = await open(createTestClock().now);
    const entries = Array.from({ length: 500 }, (_, n): [string, number] => [`u${n}`, (n * 7_919) % 50]);
    for (const entry of entries) await fill(store, userIndexPartition(organisationId, entry[0]), [entry]);
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

  it("are counted in a few shards to estimate the size of a range", async () => {
    await using store = await open(createTestClock().now);
    const step = userShards / 4;
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
