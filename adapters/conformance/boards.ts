/** Tests of reading boards: order, ranges and standings. */
import { around, before, board, drop, home, members, must, score, standing, unscore } from "./build.ts";
import { equal } from "./expect.ts";
import type { Cases, StoreCase } from "./harness.ts";

/** The cases about reading boards. */
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
