/** Tests of reading boards: order, ranges and standings. */

import {
  around,
  before,
  board,
  type Cases,
  drop,
  equal,
  home,
  members,
  must,
  type StoreCase,
  score,
  standing,
  unscore,
} from "./harness.ts";

export const boardCases: Cases<StoreCase> = {
  async "a board that was never scored is empty"({ store }) {
    equal(await store.read(home, [board("b"), standing("b", "x")]), [{ entries: [], size: 0 }, null]);
  },

  async "a board is ordered by score, then tie, then member"({ store }) {
    await must(
      store,
      score("b", "d", 2, { tie: 1 }),
      score("b", "c", 2, { tie: 1 }),
      score("b", "z", 2),
      score("b", "a", 10),
      score("b", "e", -1.5),
    );
    equal(await store.read(home, [board("b")]), [
      {
        entries: [
          { member: "e", score: -1.5, tie: 0 },
          { member: "z", score: 2, tie: 0 },
          { member: "c", score: 2, tie: 1 },
          { member: "d", score: 2, tie: 1 },
          { member: "a", score: 10, tie: 0 },
        ],
        size: 5,
      },
    ]);
    equal(await members(store, board("b", { reverse: true })), ["a", "d", "c", "z", "e"]);
  },

  async "equal scores and ties are ordered by the member's UTF-8 bytes"({ store }) {
    const ordered = ["A", "Z", "a", "ab", "b", "é", "～", "\uffff", "𐀀", "😀", "😀a"];
    await must(store, ...ordered.toReversed().map(member => score("b", member, 1)));
    equal(await members(store, board("b")), ordered);
    equal(await members(store, board("b", { reverse: true })), ordered.toReversed());
  },

  async "ties compare as numbers, not as text"({ store }) {
    const ties = [0, 1, 9, 10, 99, 100, 1_700_000_000_000, 9_999_999_999_999];
    await must(store, ...ties.toReversed().map(tie => score("b", `m${tie}`, 1, { tie })));
    equal(
      await members(store, board("b")),
      ties.map(tie => `m${tie}`),
    );
  },

  async "scores keep their exact value and order"({ store }) {
    const scores = [
      -1.7976931348623157e308,
      -1e17,
      -0.1,
      -5e-324,
      0,
      5e-324,
      0.1,
      0.30000000000000004,
      1,
      2 ** 53,
      1.7976931348623157e308,
    ];
    await must(store, ...scores.toReversed().map((value, index) => score("b", `m${index}`, value)));
    const [range] = await store.read(home, [board("b")]);
    equal(
      range.entries.map(entry => entry.score),
      scores,
    );
  },

  async "a score of -0 is 0"({ store }) {
    equal(
      (await must(store, score("b", "b", -0), score("b", "a", 0), score("b", "c", -0, { op: "add" })))
        .results,
      [0, 0, 0],
    );
    const [range, found] = await store.read(home, [board("b", { min: -0, max: -0 }), standing("b", "b")]);
    equal(
      range.entries.map(entry => [entry.member, entry.score]),
      [
        ["a", 0],
        ["b", 0],
        ["c", 0],
      ],
    );
    equal(found, { score: 0, tie: 0, below: 0 });
  },

  async "offset and limit cut the walk in both directions"({ store }) {
    await must(store, ...["a", "b", "c", "d", "e"].map((member, index) => score("b", member, index)));
    equal(await members(store, board("b", { limit: 2 })), ["a", "b"]);
    equal(await members(store, board("b", { offset: 2, limit: 2 })), ["c", "d"]);
    equal(await members(store, board("b", { offset: 4, limit: 2 })), ["e"]);
    equal(await members(store, board("b", { offset: 5 })), []);
    equal(await members(store, board("b", { offset: 9_000 })), []);
    equal(await members(store, board("b", { reverse: true, offset: 1, limit: 3 })), ["d", "c", "b"]);
  },

  async "a limit of 0 returns only the size"({ store }) {
    await must(store, score("b", "a", 1), score("b", "b", 2));
    equal(await store.read(home, [board("b", { limit: 0 })]), [{ entries: [], size: 2 }]);
  },

  async "min and max are inclusive, and offset counts from the first entry inside"({ store }) {
    await must(store, ...["a", "b", "c", "d", "e"].map((member, index) => score("b", member, index)));
    equal(await members(store, board("b", { min: 1, max: 3 })), ["b", "c", "d"]);
    equal(await members(store, board("b", { min: 1, max: 3, offset: 1, limit: 1 })), ["c"]);
    equal(await members(store, board("b", { min: 1, max: 3, reverse: true })), ["d", "c", "b"]);
    equal(await members(store, board("b", { min: 1, max: 3, reverse: true, offset: 1, limit: 1 })), ["c"]);
    equal(await members(store, board("b", { min: 3.5 })), ["e"]);
    equal(await members(store, board("b", { max: 0.5 })), ["a"]);
    equal(await members(store, board("b", { max: 0.5, reverse: true })), ["a"]);
    equal(await members(store, board("b", { min: 3, max: 1 })), []);
    equal(await members(store, board("b", { min: 1, max: 3, offset: 3 })), []);
  },

  async "a bound between doubles is exact"({ store }) {
    await must(store, score("b", "under", 0.3), score("b", "over", 0.30000000000000004));
    equal(await members(store, board("b", { min: 0.30000000000000004 })), ["over"]);
    equal(await members(store, board("b", { max: 0.3 })), ["under"]);
  },

  async "the size counts every member, whatever the bounds"({ store }) {
    await must(store, score("b", "a", 1), score("b", "b", 2), score("b", "c", 3));
    equal(await store.read(home, [board("b", { min: 9, limit: 1 })]), [{ entries: [], size: 3 }]);
  },

  async "a standing counts the members with a strictly lower score, whatever the ties"({ store }) {
    await must(
      store,
      score("b", "low", 1),
      score("b", "x", 2, { tie: 5 }),
      score("b", "y", 2, { tie: 1 }),
      score("b", "z", 2),
      score("b", "top", 3, { tie: 7 }),
    );
    const found = await store.read(
      home,
      ["low", "x", "y", "z", "top", "none"].map(member => standing("b", member)),
    );
    equal(found, [
      { score: 1, tie: 0, below: 0 },
      { score: 2, tie: 5, below: 1 },
      { score: 2, tie: 1, below: 1 },
      { score: 2, tie: 0, below: 1 },
      { score: 3, tie: 7, below: 4 },
      null,
    ]);
  },

  async "a position counts the entries before the member in the board's order"({ store }) {
    const ordered: readonly [member: string, score: number, tie: number][] = [
      ["low", -1, 0],
      ["Z", 2, 0],
      ["z", 2, 0],
      ["～", 2, 0],
      ["😀", 2, 0],
      ["b", 2, 9],
      ["a", 2, 10],
      ["c", 2, 10],
      ["top", 3, 7],
    ];
    await must(
      store,
      ...ordered.toReversed().map(([member, value, tie]) => score("b", member, value, { tie })),
    );
    const asked = ordered.map(([member]) => standing("b", member, { position: true }));
    const found = await store.read(home, asked);
    equal(
      found.map(each => each?.position),
      ordered.map((_, index) => index),
    );
    equal(
      found.map(each => each?.below),
      [0, 1, 1, 1, 1, 1, 1, 1, 8],
    );
    const none = standing("b", "none", { position: true });
    equal(await store.read(home, [none]), [null]);
    equal(
      await Promise.all(asked.map(async query => (await store.read(home, [query]))[0])),
      found,
      "one by one",
    );
    equal(await store.read(home, [standing("b", "z", { position: false })]), [
      { score: 2, tie: 0, below: 1 },
    ]);
  },

  async "around reads the entries on both sides of a member, and of one side more at an end"({ store }) {
    equal(await store.read(home, [around("b", "a", 3)]), [null]);
    await must(
      store,
      score("b", "a", -1),
      score("b", "b", 2, { tie: 1 }),
      score("b", "c", 2, { tie: 2 }),
      score("b", "～", 2, { tie: 2 }),
      score("b", "😀", 2, { tie: 2 }),
      score("b", "f", 3),
      score("b", "g", 3, { asOf: 1 }),
    );
    const windows: readonly [
      member: string,
      limit: number,
      members: string,
      offset: number,
      below: number,
    ][] = [
      ["～", 1, "～", 3, 1],
      ["～", 2, "～ 😀", 3, 1],
      ["～", 3, "c ～ 😀", 2, 1],
      ["～", 4, "c ～ 😀 f", 2, 1],
      ["～", 7, "a b c ～ 😀 f g", 0, 0],
      ["～", 100, "a b c ～ 😀 f g", 0, 0],
      ["a", 3, "a b c", 0, 0],
      ["b", 5, "a b c ～ 😀", 0, 0],
      ["g", 1, "g", 6, 5],
      ["g", 3, "😀 f g", 4, 1],
      ["f", 4, "～ 😀 f g", 3, 1],
    ];
    const together = await store.read(
      home,
      windows.map(([member, limit]) => around("b", member, limit)),
    );
    for (const [index, [member, limit, shown, offset, below]] of windows.entries()) {
      const [range] = await store.read(home, [board("b", { offset, limit: shown.split(" ").length })]);
      equal(range.entries.map(entry => entry.member).join(" "), shown);
      equal(together[index], { ...range, offset, below }, `${limit} around ${member}`);
    }
    equal(await store.read(home, [around("b", "none", 3)]), [null]);
  },

  async "before counts the entries strictly before a point, whether or not an entry stands there"({ store }) {
    equal(await store.read(home, [before("b", 1), before("b", 1, { tie: 5, member: "x" })]), [0, 0]);
    await must(
      store,
      score("b", "low", 1),
      score("b", "m", 2),
      score("b", "～", 2),
      score("b", "😀", 2),
      score("b", "x", 2, { tie: 5 }),
      score("b", "y", 2, { tie: 5 }),
      score("b", "top", 3),
    );
    const points: readonly [count: number, score: number, point?: { tie?: number; member?: string }][] = [
      [0, 1],
      [1, 2],
      [1, 1.5],
      [6, 3],
      [7, 3.5],
      [7, Number.POSITIVE_INFINITY],
      [0, Number.NEGATIVE_INFINITY],
      [1, 2, { tie: 0 }],
      [4, 2, { tie: 1 }],
      [4, 2, { tie: 5 }],
      [6, 2, { tie: 6 }],
      [1, 2, { member: "a" }],
      [1, 2, { member: "m" }],
      [2, 2, { member: "ma" }],
      [2, 2, { tie: 0, member: "～" }],
      [3, 2, { tie: 0, member: "😀" }],
      [4, 2, { tie: 0, member: "😀a" }],
      [4, 2, { tie: 5, member: "x" }],
      [5, 2, { tie: 5, member: "y" }],
      [6, 2, { tie: 5, member: "z" }],
      [7, 9, { tie: 5, member: "z" }],
    ];
    for (const [count, value, point = {}] of points) {
      equal(
        await store.read(home, [before("b", value, point)]),
        [count],
        `${value} ${JSON.stringify(point)}`,
      );
    }
    const together = points.map(([, value, point = {}]) => before("b", value, point));
    equal(
      await store.read(home, together),
      points.map(([count]) => count),
    );
  },

  async "positions among a thousand and more equal scores are exact"({ store }) {
    const names = Array.from({ length: 1_200 }, (_, index) => `m${String(index).padStart(5, "0")}`);
    for (let start = 0; start < names.length; start += 300) {
      const writes = names
        .slice(start, start + 300)
        .map((member, index) => score("b", member, 7, { tie: (start + index) >> 9 }));
      await must(store, ...writes.toReversed());
    }
    for (const index of [0, 1, 511, 512, 600, 1_023, 1_024, 1_199]) {
      const member = names[index] ?? "";
      const [found, exact, next] = await store.read(home, [
        standing("b", member, { position: true }),
        before("b", 7, { tie: index >> 9, member }),
        before("b", 7, { tie: index >> 9, member: `${member}\0` }),
      ]);
      equal([found?.position, exact, next], [index, index, index + 1], member);
    }
  },

  async "a thousand and more equal scores are paged without a gap or a repeat"({ store }) {
    const names = Array.from({ length: 1_200 }, (_, index) => `m${String(index).padStart(5, "0")}`);
    for (let start = 0; start < names.length; start += 100) {
      await must(
        store,
        ...names
          .slice(start, start + 100)
          .toReversed()
          .map(member => score("b", member, 7)),
      );
    }
    const seen: string[] = [];
    for (let offset = 0; offset < names.length; offset += 170) {
      seen.push(...(await members(store, board("b", { offset, limit: 170, min: 7, max: 7 }))));
    }
    equal(seen, names);
    equal(await store.read(home, [standing("b", "m01199")]), [{ score: 7, tie: 0, below: 0 }]);
  },

  async "a deleted board is empty"({ store }) {
    await must(store, score("b", "a", 1, { tie: 3 }), score("b", "b", 1));
    await must(store, drop("board", "b"));
    equal(await store.read(home, [board("b"), standing("b", "a")]), [{ entries: [], size: 0 }, null]);
  },

  async "an unscored member leaves and the last one leaves an empty board"({ store }) {
    await must(store, score("b", "a", 1), score("b", "b", 2));
    equal((await must(store, unscore("b", "a"), unscore("b", "a"), unscore("none", "a"))).results, [
      null,
      null,
      null,
    ]);
    equal(await members(store, board("b")), ["b"]);
    await must(store, unscore("b", "b"));
    equal(await store.read(home, [board("b")]), [{ entries: [], size: 0 }]);
  },
};

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
