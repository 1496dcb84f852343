import assert from "node:assert/strict";
import { it } from "node:test";
import { type BoardPageQuery, readPageAfter, type WalkDirection } from "../../../lib/storage/board_pages.ts";
import type { BoardEntry, Store } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { describeOnDatabases } from "../../support/stores.ts";

const partition = "o:test:board";
const key = "board";

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

describeOnDatabases("the pages of a board", open => {
  const directions: readonly WalkDirection[] = ["asc", "desc"];

  it("continue after an entry, however long the run of equal scores is", async () => {
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

  it("contain each entry that stays exactly once while others come and go, also among equal scores", async () => {
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

  it("give up while the board changes faster than it can be read", async () => {
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
          writes: Array.from({ length: 60 }, (_, n) => ({
            type: "score",
            op: "set",
            key,
            member: `a${reads}-${n}`,
            score: 7,
          })),
        });
        return await inner.read(place, queries);
      },
    });
    const after = { member: "u100", score: 7, tie: 0 };
    await assert.rejects(readPageAfter(store, partition, { key, direction: "asc", after, limit: 5 }), {
      code: "busy",
    });
  });
});
