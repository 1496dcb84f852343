import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { busyPartitions } from "../../../lib/storage/decide.ts";
import { type Decision, decide } from "../../../lib/storage/mod.ts";
import { keyName } from "../../../lib/storage/names.ts";
import { ProbeStore } from "../../support/probe_store.ts";
import { home, increment, take } from "./_rules.ts";

const unknown = () => Promise.reject(new AppError("outcome_unknown", "Cannot tell"));
const unavailable = () => Promise.reject(new AppError("storage_unavailable", "Cannot reach"));

/** Decisions that may wait for a partition. */
const waitingMax = 4_096;

describe("decide", () => {
  it("reads, commits and answers", async () => {
    const store = new ProbeStore();
    assert.equal(await decide(store, home, increment()), 1);
    assert.equal(await decide(store, home, increment()), 2);
    assert.deepEqual([store.reads.length, store.commits.length], [2, 2]);
  });

  it("checks every record read, present or absent, written or not", async () => {
    const store = new ProbeStore();
    await decide(store, home, increment("a"));
    const [a] = await store.other.read(home, [{ type: "record", key: "a" }]);
    await decide(store, home, {
      reads: [
        { type: "record", key: "a" },
        { type: "tally", key: "t" },
        { type: "record", key: "b" },
      ],
      apply: () => ({ writes: [{ type: "put", key: "c", value: "1" }], answer: null }),
    });
    assert.deepEqual(store.commits[1]?.checks, [
      { key: "a", version: a?.version },
      { key: "b", version: null },
    ]);
  });

  it("reads and checks nothing where there is nothing to read", async () => {
    const store = new ProbeStore();
    await decide(store, home, take());
    assert.equal(store.reads.length, 0);
    assert.deepEqual(store.commits[0]?.checks, []);
  });

  it("commits nothing where there are no writes", async () => {
    const store = new ProbeStore();
    const answer = await decide(store, home, {
      reads: [{ type: "record", key: "a" }],
      apply: ([stored]) => ({ writes: [], answer: ({ version, results }) => [stored, version, results] }),
    });
    assert.deepEqual(answer, [null, null, []]);
    assert.equal(store.commits.length, 0);
  });

  it("makes an answer from the commit's version and the results of its own writes", async () => {
    const store = new ProbeStore();
    const answers = await Promise.all(
      [1, 2, 3].map(by =>
        decide(store, home, {
          reads: [],
          apply: () => ({
            writes: [
              { type: "put", key: `r${by}`, value: "1" },
              { type: "add", key: "t", field: "x", by },
              { type: "append", key: "l", value: String(by), at: 5, maxLength: 9 },
            ],
            answer: committed => committed,
          }),
        }),
      ),
    );
    const [found, entries] = await store.other.read(home, [
      { type: "record", key: "r2" },
      { type: "log", key: "l", limit: 9 },
    ]);
    assert.deepEqual(
      answers.map(({ results }) => results),
      [1, 3, 6].map((sum, index) => [null, sum, entries[index]?.id]),
    );
    assert.equal(answers[1]?.version, found?.version);
  });

  it("rejects with what apply or the answer throws", async () => {
    const store = new ProbeStore();
    const failing = {
      reads: [],
      apply: (): Decision<never> => {
        throw new RangeError("no");
      },
    };
    await assert.rejects(decide(store, home, failing), new RangeError("no"));
    const late = {
      reads: [],
      apply: (): Decision<never> => ({
        writes: [],
        answer: () => {
          throw new RangeError("late");
        },
      }),
    };
    await assert.rejects(decide(store, home, late), new RangeError("late"));
  });

  it("keeps partitions apart", async () => {
    const store = new ProbeStore();
    assert.deepEqual(
      await Promise.all(["a", "b", "a"].map(partition => decide(store, partition, increment()))),
      [1, 1, 2],
    );
  });

  it("leaves nothing behind once it is idle, whatever happened", async () => {
    const store = new ProbeStore();
    store.interceptions.push(unavailable, unknown);
    const decisions = Array.from({ length: 100 }, (_, index) => decide(store, `p${index % 50}`, increment()));
    assert.equal(busyPartitions(store), 50);
    await Promise.allSettled(decisions);
    assert.equal(busyPartitions(store), 0);
    assert.equal(busyPartitions(new ProbeStore()), 0);
  });

  it("refuses one more than may wait for a partition as busy", async () => {
    const store = new ProbeStore();
    const rule = { reads: [], apply: () => ({ writes: [], answer: 1 }) };
    const waiting = Array.from({ length: waitingMax }, () => decide(store, home, rule));
    await assert.rejects(decide(store, home, rule), { code: "busy", retryAfterMs: 1_000 });
    assert.equal(await decide(store, "other", rule), 1);
    assert.equal((await Promise.all(waiting)).length, waitingMax);
    assert.equal(await decide(store, home, rule), 1);
  });
});

describe("a decision that loses its check", () => {
  it("is made again from the state that won", async () => {
    const store = new ProbeStore();
    store.interceptions.push(async (_, pass) => {
      await store.other.commit(home, { writes: [{ type: "put", key: "n", value: "41" }] });
      return await pass();
    });
    assert.equal(await decide(store, home, increment()), 42);
    assert.equal(store.commits.length, 2);
  });

  it("gives up as a conflict that may be retried, after a bounded number of tries", async () => {
    const store = new ProbeStore();
    store.always = async (_, pass) => {
      await store.other.commit(home, { writes: [{ type: "put", key: "n", value: "0" }] });
      return await pass();
    };
    await assert.rejects(decide(store, home, increment()), { code: "conflict", retryAfterMs: 100 });
    assert.equal(store.commits.length, 50);
  });

  it("does not count against a decision of the same fold that relied on other records", async () => {
    const store = new ProbeStore();
    store.always = async (batch, pass) => {
      if (batch.checks?.some(({ key }) => key === "hot")) {
        await store.other.commit(home, { writes: [{ type: "put", key: "hot", value: "0" }] });
      }
      return await pass();
    };
    const [hot, cold] = await Promise.allSettled([
      decide(store, home, increment("hot")),
      decide(store, home, increment("cold")),
    ]);
    assert.equal(hot.status === "rejected" && hot.reason.code, "conflict");
    assert.deepEqual(cold, { status: "fulfilled", value: 1 });
  });
});

describe("a decision whose guard refuses", () => {
  it("answers what refused makes of the key", async () => {
    const refused = await decide(new ProbeStore(), home, {
      reads: [],
      apply: (): Decision<string> => ({
        writes: [{ type: "add", key: keyName("stock", "a"), field: "x", by: -1, min: 0 }],
        answer: "taken",
        refused: key => `no ${key}`,
      }),
    });
    assert.equal(refused, "no stock:a");
  });

  it("throws what refused throws", async () => {
    const rule = take();
    const sold = new AppError("conflict", "Sold out");
    const throwing = {
      ...rule,
      apply: () => ({
        ...rule.apply([]),
        refused: () => {
          throw sold;
        },
      }),
    };
    await assert.rejects(decide(new ProbeStore(), home, throwing), sold);
  });

  it("is a conflict where it does not say", async () => {
    const rule = {
      reads: [],
      apply: () => ({ writes: [{ type: "add", key: "t", field: "x", by: 1, max: 0 }] as const, answer: 1 }),
    };
    await assert.rejects(decide(new ProbeStore(), home, rule), { code: "conflict" });
  });
});

describe("a decision whose outcome is unknown", () => {
  it("throws where it is not idempotent", async () => {
    const store = new ProbeStore();
    store.interceptions.push(unknown);
    await assert.rejects(decide(store, home, increment()), { code: "outcome_unknown" });
    assert.equal(store.commits.length, 1);
  });

  const claim = {
    reads: [{ type: "record", key: "claim" }],
    idempotent: true,
    apply: ([stored]: readonly [{ value: string } | null]): Decision<string> =>
      stored === null
        ? { writes: [{ type: "put", key: "claim", value: "mine" }], answer: "claimed" }
        : { writes: [], answer: `found ${stored.value}` },
  } as const;

  it("is made again where it is idempotent: it took effect", async () => {
    const store = new ProbeStore();
    store.interceptions.push(async (_, pass) => {
      await pass();
      return await unknown();
    });
    assert.equal(await decide(store, home, claim), "found mine");
    assert.deepEqual([store.reads.length, store.commits.length], [2, 1]);
  });

  it("is made again where it is idempotent: it took no effect", async () => {
    const store = new ProbeStore();
    store.interceptions.push(unknown, unknown);
    assert.equal(await decide(store, home, claim), "claimed");
    assert.equal(store.commits.length, 3);
  });

  it("throws once it was unknown too often", async () => {
    const store = new ProbeStore();
    store.always = unknown;
    await assert.rejects(decide(store, home, claim), { code: "outcome_unknown" });
    assert.equal(store.commits.length, 4);
  });

  it("stays unknown if the store cannot be read again", async () => {
    const store = new ProbeStore();
    store.interceptions.push(unknown);
    store.beforeRead = () => (store.commits.length > 0 ? unavailable() : undefined);
    await assert.rejects(decide(store, home, claim), { code: "outcome_unknown" });
  });

  it("rejects with what apply throws about the state found afterwards", async () => {
    const store = new ProbeStore();
    store.interceptions.push(async (_, pass) => {
      await pass();
      return await unknown();
    });
    const strict = {
      ...claim,
      apply(state: readonly [{ value: string } | null]): Decision<string> {
        if (state[0] !== null) throw new AppError("conflict", "Taken");
        return claim.apply(state);
      },
    };
    await assert.rejects(decide(store, home, strict), { code: "conflict", message: "Taken" });
  });

  it("is resolved for the idempotent of a fold and thrown for the others", async () => {
    const store = new ProbeStore();
    store.interceptions.push(unknown);
    const [first, second] = await Promise.allSettled([
      decide(store, home, claim),
      decide(store, home, increment()),
    ]);
    assert.deepEqual(first, { status: "fulfilled", value: "claimed" });
    assert.equal(second.status === "rejected" && second.reason.code, "outcome_unknown");
  });
});

describe("a store that cannot be reached", () => {
  it("rejects the decisions of that round, and the next are made when it is back", async () => {
    const store = new ProbeStore();
    store.beforeRead = unavailable;
    const failed = await Promise.allSettled([1, 2, 3].map(() => decide(store, home, increment())));
    assert.ok(failed.every(each => each.status === "rejected" && each.reason.code === "storage_unavailable"));
    store.beforeRead = () => {};
    store.interceptions.push(unavailable);
    await assert.rejects(decide(store, home, increment()), { code: "storage_unavailable" });
    assert.equal(await decide(store, home, increment()), 1);
  });
});
