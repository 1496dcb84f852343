/** Tests of writing boards: operations, ties and the versions of scores. */
import { drop, home, must, score, standing, unscore } from "./build.ts";
import { equal } from "./expect.ts";
import type { Cases, StoreCase } from "./harness.ts";

const refused = { ok: false, because: "guard", key: "b" } as const;

export const scoreCases: Cases<StoreCase> = {
  async "set replaces, min keeps the lower, max the higher, add sums, and each returns the result"({
    store,
  }) {
    equal((await must(store, score("b", "a", 5), score("b", "a", 3))).results, [5, 3]);
    equal(
      (await must(store, score("b", "a", 9, { op: "min" }), score("b", "a", 1, { op: "min" }))).results,
      [3, 1],
    );
    equal(
      (await must(store, score("b", "a", -9, { op: "max" }), score("b", "a", 4, { op: "max" }))).results,
      [1, 4],
    );
    equal(
      (await must(store, score("b", "a", 2.5, { op: "add" }), score("b", "a", -7, { op: "add" }))).results,
      [6.5, -0.5],
    );
    equal(await store.read(home, [standing("b", "a")]), [{ score: -0.5, tie: 0, below: 0 }]);
  },

  async "every operation gives a new member the score itself"({ store }) {
    const ops = ["set", "min", "max", "add"] as const;
    equal(
      (await must(store, ...ops.map(op => score("b", op, -4, { op, tie: 2 })))).results,
      [-4, -4, -4, -4],
    );
    equal(
      await store.read(
        home,
        ops.map(op => standing("b", op)),
      ),
      ops.map(() => ({ score: -4, tie: 2, below: 0 })),
    );
  },

  async "sums are decimal, to 9 digits behind the point and 15 in all"({ store }) {
    const steps = [0.1, 0.2, -0.3, -0.1, 0.000000001, 0.099999999, 123456789.1, -123456789, 1e15, 1];
    const expected = [0.1, 0.3, 0, -0.1, -0.099999999, 0, 123456789.1, 0.1, 1e15, 1e15 + 1];
    equal((await must(store, ...steps.map(step => score("b", "a", step, { op: "add" })))).results, expected);
    equal(await store.read(home, [standing("b", "a")]), [{ score: 1e15 + 1, tie: 0, below: 0 }]);
    for (let times = 1; times <= 10; times++) {
      equal((await must(store, score("b", "c", 0.1, { op: "add" }))).results, [times / 10]);
    }
  },

  async "a sum beyond the safe integers refuses the commit"({ store }) {
    const top = Number.MAX_SAFE_INTEGER;
    await must(store, score("b", "a", top - 1), score("b", "z", -top));
    for (const [member, by] of [
      ["a", 2],
      ["z", -1],
      ["a", 1.7e308],
    ] as const) {
      equal(
        await store.commit(home, { writes: [score("b", "b", 1), score("b", member, by, { op: "add" })] }),
        refused,
      );
    }
    equal((await must(store, score("b", "a", 1, { op: "add" }))).results, [top]);
    equal(await store.read(home, [standing("b", "b")]), [null]);
  },

  async "a changed score takes the new tie, an unchanged one keeps the old"({ store }) {
    async function tieAfter(
      value: number,
      options: { op?: "set" | "min" | "max" | "add"; tie?: number },
    ): Promise<number | undefined> {
      await must(store, score("b", "a", value, options));
      return (await store.read(home, [standing("b", "a")]))[0]?.tie;
    }
    equal(await tieAfter(5, { tie: 10 }), 10);
    equal(await tieAfter(5, { tie: 20 }), 10, "set to the same score");
    equal(await tieAfter(3, { op: "max", tie: 30 }), 10, "max that loses");
    equal(await tieAfter(7, { op: "min", tie: 40 }), 10, "min that loses");
    equal(await tieAfter(5, { op: "max", tie: 45 }), 10, "max that equals");
    equal(await tieAfter(0, { op: "add", tie: 50 }), 10, "adding nothing");
    equal(await tieAfter(8, { op: "max", tie: 60 }), 60, "max that wins");
    equal(await tieAfter(1, { op: "add", tie: 5 }), 5, "add");
    equal(await tieAfter(1, {}), 0, "set without a tie");
  },

  async "0 and -0 are the same score, so the tie stays"({ store }) {
    await must(store, score("b", "a", 0, { tie: 4 }));
    await must(store, score("b", "a", -0, { tie: 9 }));
    equal(await store.read(home, [standing("b", "a")]), [{ score: 0, tie: 4, below: 0 }]);
  },

  async "a score as of an older or equal version changes nothing"({ store }) {
    await must(store, score("b", "a", 10, { asOf: 5, tie: 1 }));
    const late = await must(
      store,
      score("b", "a", 99, { asOf: 5 }),
      score("b", "a", 98, { asOf: 4, tie: 9 }),
    );
    equal(late.results, [10, 10]);
    equal(await store.read(home, [standing("b", "a")]), [{ score: 10, tie: 1, below: 0 }]);
    equal((await must(store, score("b", "a", 7, { asOf: 6 }))).results, [7]);
  },

  async "redelivered additions count once, in whatever order they arrive last"({ store }) {
    equal((await must(store, score("b", "a", 3, { op: "add", asOf: 0 }))).results, [3]);
    equal((await must(store, score("b", "a", 3, { op: "add", asOf: 0 }))).results, [3]);
    equal(
      (
        await must(
          store,
          score("b", "a", 3, { op: "add", asOf: 1 }),
          score("b", "a", 3, { op: "add", asOf: 1 }),
        )
      ).results,
      [6, 6],
    );
  },

  async "a version is stored even if the score stays"({ store }) {
    await must(store, score("b", "a", 10, { asOf: 1 }));
    await must(store, score("b", "a", 5, { op: "max", asOf: 8 }));
    equal((await must(store, score("b", "a", 20, { asOf: 7 }))).results, [10]);
  },

  async "a score without a version always applies and keeps the stored version"({ store }) {
    await must(store, score("b", "a", 10, { asOf: 5 }));
    equal((await must(store, score("b", "a", 1))).results, [1]);
    equal((await must(store, score("b", "a", 50, { asOf: 5 }))).results, [1]);
    equal((await must(store, score("b", "a", 60, { asOf: 6 }))).results, [60]);
  },

  async "the largest safe version is still compared exactly"({ store }) {
    const top = Number.MAX_SAFE_INTEGER;
    await must(store, score("b", "a", 1, { asOf: top - 1 }));
    equal(
      (await must(store, score("b", "a", 2, { asOf: top }), score("b", "a", 3, { asOf: top - 1 }))).results,
      [2, 2],
    );
  },

  async "unscoring forgets the version and the tie, deleting the board too"({ store }) {
    await must(store, score("b", "a", 10, { asOf: 5, tie: 8 }), score("b", "b", 10, { asOf: 5, tie: 8 }));
    await must(store, unscore("b", "a"));
    equal((await must(store, score("b", "a", 10, { asOf: 1 }))).results, [10]);
    equal(await store.read(home, [standing("b", "a")]), [{ score: 10, tie: 0, below: 0 }]);
    await must(store, drop("board", "b"));
    equal((await must(store, score("b", "b", 3, { asOf: 0, op: "add" }))).results, [3]);
    equal(await store.read(home, [standing("b", "b")]), [{ score: 3, tie: 0, below: 0 }]);
  },

  async "unscore and score within one commit start anew"({ store }) {
    await must(store, score("b", "a", 10, { asOf: 5, tie: 8 }));
    equal(
      (await must(store, unscore("b", "a"), score("b", "a", 2, { op: "add", asOf: 0, tie: 1 }))).results,
      [null, 2],
    );
    equal(await store.read(home, [standing("b", "a")]), [{ score: 2, tie: 1, below: 0 }]);
  },

  async "versions and ties belong to one board"({ store }) {
    await must(store, score("b", "a", 1, { asOf: 9, tie: 9 }), score("c", "a", 2, { asOf: 1, tie: 1 }));
    equal(await store.read(home, [standing("b", "a"), standing("c", "a")]), [
      { score: 1, tie: 9, below: 0 },
      { score: 2, tie: 1, below: 0 },
    ]);
  },
};
