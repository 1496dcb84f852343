import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CommitEffect } from "../../../lib/storage/decision_batch.ts";
import {
  type Decision,
  decide,
  type Read,
  type Rule,
  storageLimits,
  type Write,
} from "../../../lib/storage/mod.ts";
import { ProbeStore } from "../../support/probe_store.ts";
import { home, increment, take } from "./_rules.ts";

function writing(...writes: Write[]): Rule<readonly Read[], string> {
  return { reads: [], apply: () => ({ writes, answer: "written" }) };
}

function looking<const Q extends Read>(query: Q): Rule<readonly [Q], unknown> {
  return { reads: [query], apply: ([result]): Decision<unknown> => ({ writes: [], answer: result }) };
}

/** Answers what it read, and writes something of its own so that it belongs into a commit. */
function noting<const Q extends Read>(query: Q): Rule<readonly [Q], unknown> {
  return {
    reads: [query],
    apply: ([result]): Decision<unknown> => ({
      writes: [{ type: "add", key: "noted", field: "n", by: 1 }],
      answer: result,
    }),
  };
}

function trips(store: ProbeStore): readonly [reads: number, commits: number] {
  return [store.reads.length, store.commits.length];
}

describe("decisions that wait for the same partition", () => {
  it("cost one read and one commit together, each seeing the one before", async () => {
    const store = new ProbeStore();
    const answers = await Promise.all(Array.from({ length: 64 }, () => decide(store, home, increment())));
    assert.deepEqual(
      answers,
      Array.from({ length: 64 }, (_, index) => index + 1),
    );
    assert.deepEqual(trips(store), [1, 1]);
    assert.equal(store.reads[0]?.length, 1, "the same record is read once");
  });

  it("write a record once, as the last of them leaves it, and give each its own results", async () => {
    const store = new ProbeStore();
    const counting = (index: number): Rule<readonly Read[], unknown> => ({
      reads: [],
      apply: (): Decision<unknown> => ({
        writes: [
          { type: "put", key: "r", value: `${index} first` },
          { type: "add", key: "t", field: "n", by: 1 },
          { type: "put", key: "r", value: `${index}` },
          ...(index === 1 ? [{ type: "delete", shape: "record", key: "gone" } as const] : []),
          { type: "put", key: "gone", value: `${index}` },
          ...(index === 2 ? [{ type: "delete", shape: "record", key: "gone" } as const] : []),
        ],
        answer: (committed: CommitEffect) => committed.results,
      }),
    });
    const answers = await Promise.all([0, 1, 2].map(index => decide(store, home, counting(index))));
    assert.deepEqual(answers, [
      [null, 1, null, null],
      [null, 2, null, null, null],
      [null, 3, null, null, null],
    ]);
    assert.deepEqual(
      store.commits.map(({ writes }) => writes.map(({ type, key }) => `${type} ${key}`)),
      [["add t", "add t", "add t", "put r", "delete gone"]],
    );
    const [r, gone] = await store.other.read(home, [
      { type: "record", key: "r" },
      { type: "record", key: "gone" },
    ]);
    assert.deepEqual([r?.value, gone], ["2", null]);
  });

  it("gather while a round is under way", async () => {
    const store = new ProbeStore();
    const more: Promise<number>[] = [];
    store.interceptions.push(async (_, pass) => {
      for (let count = 0; count < 63; count++) more.push(decide(store, home, increment()));
      return await pass();
    });
    assert.equal(await decide(store, home, increment()), 1);
    assert.deepEqual(
      await Promise.all(more),
      Array.from({ length: 63 }, (_, index) => index + 2),
    );
    assert.deepEqual(trips(store), [2, 2]);
  });

  it("take effect in the order of their calls", async () => {
    const store = new ProbeStore();
    const values = Array.from({ length: 600 }, (_, index) => String(index));
    await Promise.all(
      values.map(value =>
        decide(store, home, writing({ type: "append", key: "l", value, at: 1, maxLength: 1_000 })),
      ),
    );
    const [entries] = await store.other.read(home, [{ type: "log", key: "l", limit: 1_000 }]);
    assert.deepEqual(
      entries.map(({ value }) => value),
      values,
    );
    assert.equal(store.commits.length, 3);
  });

  it("see the tallies and records that earlier ones changed or deleted", async () => {
    const store = new ProbeStore();
    await store.other.commit(home, {
      writes: [
        { type: "put", key: "r", value: "old" },
        { type: "add", key: "t", field: "a", by: 1 },
        { type: "add", key: "t", field: "b", by: 2 },
      ],
    });
    const [, tally, some, , cleared, , record, , absent] = await Promise.all([
      decide(
        store,
        home,
        writing({ type: "add", key: "t", field: "a", by: 4 }, { type: "add", key: "t", field: "c", by: 0 }),
      ),
      decide(store, home, noting({ type: "tally", key: "t" })),
      decide(store, home, noting({ type: "tally", key: "t", fields: ["a", "d"] })),
      decide(
        store,
        home,
        writing({ type: "delete", shape: "tally", key: "t" }, { type: "add", key: "t", field: "z", by: 9 }),
      ),
      decide(store, home, noting({ type: "tally", key: "t" })),
      decide(store, home, writing({ type: "put", key: "r", value: "new" })),
      decide(store, home, noting({ type: "record", key: "r" })),
      decide(store, home, writing({ type: "delete", shape: "record", key: "r" })),
      decide(store, home, noting({ type: "record", key: "r" })),
    ]);
    assert.deepEqual(
      tally,
      new Map([
        ["a", 5],
        ["b", 2],
        ["c", 0],
      ]),
    );
    assert.deepEqual(some, new Map([["a", 5]]));
    assert.deepEqual(cleared, new Map([["z", 9]]));
    assert.equal((record as { value: string }).value, "new");
    assert.equal(absent, null);
    assert.deepEqual(trips(store), [1, 1]);
    assert.deepEqual(store.commits[0]?.checks, [], "what the fold itself wrote needs no check");
  });

  for (const query of [
    { type: "board", key: "b", limit: 9 },
    { type: "standing", key: "b", member: "m", position: true },
    { type: "before", key: "b", score: 8 },
  ] as const) {
    it(`end the fold before a ${query.type} that an earlier one touched`, async () => {
      const store = new ProbeStore();
      const [, found] = await Promise.all([
        decide(store, home, writing({ type: "score", op: "set", key: "b", member: "m", score: 7 })),
        decide(store, home, noting(query)),
      ]);
      assert.deepEqual(trips(store), [2, 2]);
      assert.deepEqual([found], await store.other.read(home, [query]));
    });
  }

  it("end the fold before a log that an earlier one touched, not before another log or board", async () => {
    const store = new ProbeStore();
    const [, other, board, entries] = await Promise.all([
      decide(store, home, writing({ type: "append", key: "l", value: "x", at: 5, maxLength: 9 })),
      decide(store, home, noting({ type: "log", key: "other", limit: 1 })),
      decide(store, home, noting({ type: "board", key: "l", limit: 1 })),
      decide(store, home, noting({ type: "log", key: "l", limit: 1 })),
    ]);
    assert.deepEqual([other, board], [[], { entries: [], size: 0 }]);
    assert.deepEqual([entries], await store.other.read(home, [{ type: "log", key: "l", limit: 1 }]));
    assert.deepEqual(trips(store), [2, 2]);
  });

  it("leave it to the store whether a record that expires is still there", async () => {
    const store = new ProbeStore(() => 1_000);
    const [, gone] = await Promise.all([
      decide(store, home, writing({ type: "put", key: "r", value: "x", expireAt: 1_000 })),
      decide(store, home, noting({ type: "record", key: "r" })),
    ]);
    assert.equal(gone, null);
    assert.deepEqual(trips(store), [2, 2]);
  });

  it("never show a version that no store ever gave", async () => {
    const store = new ProbeStore();
    const seen: (string | undefined)[] = [];
    const [, , kept] = await Promise.all([
      decide(store, home, increment()),
      decide(store, home, {
        reads: [{ type: "record", key: "n" }],
        apply: ([stored]) => {
          seen.push(stored?.version);
          return { writes: [{ type: "put", key: "seen", value: stored?.version ?? "" }], answer: null };
        },
      }),
      decide(store, home, noting({ type: "record", key: "n" })),
    ]);
    const [n, stored] = await store.other.read(home, [
      { type: "record", key: "n" },
      { type: "record", key: "seen" },
    ]);
    assert.equal(stored?.value, n?.version);
    assert.deepEqual({ ...(kept as object) }, n);
    assert.equal(seen.at(-1), n?.version);
  });

  it("contain the version of a record in an answer that keeps it", async () => {
    const store = new ProbeStore();
    const [, kept] = await Promise.all([
      decide(store, home, increment()),
      decide(store, home, noting({ type: "record", key: "n" })),
    ]);
    assert.deepEqual([{ ...(kept as object) }], await store.other.read(home, [{ type: "record", key: "n" }]));
    assert.deepEqual(trips(store), [1, 1]);
  });

  it("answer without a commit at once, though others of the round must wait for theirs", async () => {
    const store = new ProbeStore();
    let answered = false;
    store.interceptions.push(async (_, pass) => {
      await new Promise(setImmediate);
      assert.equal(answered, true);
      return await pass();
    });
    const writer = decide(store, home, increment());
    decide(store, home, looking({ type: "record", key: "elsewhere" })).then(() => {
      answered = true;
    });
    await writer;
    assert.deepEqual(trips(store), [1, 1]);
  });
});

describe("a fold is bounded", () => {
  it("by the store's maxWrites", async () => {
    const store = new ProbeStore();
    store.traits = { ...store.traits, maxWrites: 10 };
    const two = writing(
      { type: "add", key: "t", field: "x", by: 1 },
      { type: "add", key: "t", field: "y", by: 1 },
    );
    await Promise.all(Array.from({ length: 11 }, () => decide(store, home, two)));
    assert.deepEqual(
      store.commits.map(({ writes }) => writes.length),
      [10, 10, 2],
    );
  });

  it("by the bytes of a commit", async () => {
    const store = new ProbeStore();
    const value = "～".repeat(Math.floor(storageLimits.valueBytesMax / 3));
    await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        decide(store, home, writing({ type: "put", key: `k${index}`, value })),
      ),
    );
    assert.deepEqual(
      store.commits.map(({ writes }) => writes.length),
      [8, 4],
    );
  });

  it("by the checks of a commit", async () => {
    const store = new ProbeStore();
    await Promise.all(
      Array.from({ length: storageLimits.checksMax + 1 }, (_, index) =>
        decide(store, home, increment(`k${index}`)),
      ),
    );
    assert.deepEqual(
      store.commits.map(({ writes }) => writes.length),
      [storageLimits.checksMax, 1],
    );
  });

  it("by the queries of a read", async () => {
    const store = new ProbeStore();
    const reads = Array.from(
      { length: 100 },
      (_, index) => ({ type: "standing", key: "b", member: `m${index}` }) as const,
    );
    const rule = { reads, apply: () => ({ writes: [], answer: 1 }) };
    await Promise.all(Array.from({ length: 6 }, () => decide(store, home, rule)));
    assert.deepEqual(
      store.reads.map(({ length }) => length),
      [500, 100],
    );
    assert.ok(storageLimits.readsMax >= 500);
  });

  it("by the number of decisions", async () => {
    const store = new ProbeStore();
    const one = writing({ type: "add", key: "t", field: "x", by: 1 });
    await Promise.all(Array.from({ length: 257 }, () => decide(store, home, one)));
    assert.deepEqual(
      store.commits.map(({ writes }) => writes.length),
      [256, 1],
    );
  });
});

describe("a fold in which one decision is at fault", () => {
  it("rejects only the one whose apply throws", async () => {
    const store = new ProbeStore();
    const failing = {
      reads: [],
      apply: (): Decision<number> => {
        throw new RangeError("mine");
      },
    };
    const [a, b, c] = await Promise.allSettled([
      decide(store, home, increment()),
      decide(store, home, failing),
      decide(store, home, increment()),
    ]);
    assert.deepEqual(
      [a, c],
      [
        { status: "fulfilled", value: 1 },
        { status: "fulfilled", value: 2 },
      ],
    );
    assert.equal(b.status === "rejected" && b.reason.message, "mine");
    assert.deepEqual(trips(store), [1, 1]);
  });

  it("rejects only the one that misuses the store, in its reads or in its writes", async () => {
    for (const bad of [looking({ type: "record", key: "" }), writing({ type: "put", key: "", value: "x" })]) {
      const store = new ProbeStore();
      const results = await Promise.allSettled([
        decide(store, home, increment()),
        decide<readonly Read[], unknown>(store, home, bad as Rule<readonly Read[], unknown>),
        decide(store, home, increment()),
      ]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled"],
      );
      assert.ok(results[1]?.status === "rejected" && results[1].reason instanceof RangeError);
      assert.deepEqual(await store.other.read(home, [{ type: "tally", key: "noted" }]), [new Map()]);
      assert.equal(await decide(store, home, increment()), 3);
    }
  });

  it("refuses only the one whose guard refuses, in its turn", async () => {
    const store = new ProbeStore();
    const add = (by: number) =>
      decide(store, home, {
        reads: [],
        apply: (): Decision<number | string> => ({
          writes: [{ type: "add", key: "t", field: "x", by, min: 0, max: 10 }],
          answer: ({ results }) => Number(results[0]),
          refused: key => `no ${key}`,
        }),
      });
    assert.deepEqual(await Promise.all([add(4), add(5), add(2), add(-9), add(-1), add(10), add(1)]), [
      4,
      9,
      "no t",
      0,
      "no t",
      10,
      "no t",
    ]);
  });

  it("refuses only the one whose score would not be finite", async () => {
    const store = new ProbeStore();
    const score = (member: string, value: number) =>
      decide(store, home, {
        reads: [],
        apply: (): Decision<number | string> => ({
          writes: [{ type: "score", op: "add", key: "b", member, score: value }],
          answer: ({ results }) => Number(results[0]),
          refused: key => `no ${key}`,
        }),
      });
    assert.deepEqual(
      await Promise.all([score("a", 1.7e308), score("c", 1), score("a", 1.7e308), score("c", 1)]),
      [1.7e308, 1, "no b", 2],
    );
  });

  it("sells exactly the stock to many at once, in a handful of round trips", async () => {
    const store = new ProbeStore();
    await store.other.commit(home, { writes: [{ type: "add", key: "stock", field: "left", by: 10 }] });
    const answers = await Promise.all(Array.from({ length: 64 }, () => decide(store, home, take())));
    assert.deepEqual(answers, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ...Array.from({ length: 54 }, () => -1)]);
    const [reads, commits] = trips(store);
    assert.ok(reads + commits <= 4, `${reads} reads and ${commits} commits`);
  });

  it("does not let a refused effect reach a later decision", async () => {
    const store = new ProbeStore();
    const refused = decide(store, home, {
      reads: [],
      apply: (): Decision<string> => ({
        writes: [
          { type: "put", key: "claim", value: "1" },
          { type: "add", key: "t", field: "x", by: -1, min: 0 },
        ],
        answer: "claimed",
        refused: () => "refused",
      }),
    });
    const throwing = decide(store, home, {
      reads: [{ type: "record", key: "claim" }],
      apply: ([claim]): Decision<string> => {
        if (claim !== null) throw new RangeError("claimed already");
        return { writes: [], answer: "free" };
      },
    });
    const looking = decide(store, home, {
      reads: [{ type: "record", key: "claim" }],
      apply: ([claim]) => ({ writes: [], answer: claim }),
    });
    const writer = decide(store, home, {
      reads: [{ type: "record", key: "claim" }],
      apply: ([claim]) => ({
        writes: [{ type: "put", key: "copy", value: String(claim?.value) }],
        answer: claim,
      }),
    });
    assert.deepEqual(await Promise.all([refused, throwing, looking, writer]), [
      "refused",
      "free",
      null,
      null,
    ]);
  });
});
