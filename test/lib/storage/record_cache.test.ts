import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../adapters/conformance/random.ts";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { decide, type ReadRecord, RecordCache, type Rule, type Store } from "../../../lib/storage/mod.ts";
import { databases } from "../../support/databases.ts";
import { ProbeStore } from "../../support/probe_store.ts";
import { home } from "./_rules.ts";

interface Counter {
  readonly count: number;
}

/** A memory of counters that counts what it parses and prints. */
function counters(): { memory: RecordCache<Counter>; work: { parsed: number; printed: number } } {
  const work = { parsed: 0, printed: 0 };
  const memory = new RecordCache<Counter>({
    key: "n",
    parse(text) {
      work.parsed += 1;
      return JSON.parse(text);
    },
    print(value) {
      work.printed += 1;
      return JSON.stringify(value);
    },
    entriesMax: 8,
  });
  return { memory, work };
}

/** Counts up and answers the new count. */
function countUp(memory: RecordCache<Counter>, partition = home): Rule<readonly [ReadRecord], number> {
  return {
    reads: [memory.query],
    apply([stored]) {
      const { count } = stored === null ? { count: 0 } : memory.valueOf(partition, stored);
      return { writes: [memory.put({ count: count + 1 })], answer: count + 1 };
    },
  };
}

/** Answers the count without writing. */
function readRule(memory: RecordCache<Counter>): Rule<readonly [ReadRecord], number> {
  return {
    reads: [memory.query],
    apply: ([stored]) => ({ writes: [], answer: stored === null ? 0 : memory.valueOf(home, stored).count }),
  };
}

/** Throws the count. */
function refusal(memory: RecordCache<Counter>): Rule<readonly [ReadRecord], number> {
  return {
    reads: [memory.query],
    apply([stored]) {
      throw new RangeError(`${stored === null ? null : memory.valueOf(home, stored).count}`);
    },
  };
}

/** Decides, and lets the decisions of the partition come to rest. */
async function decideAlone<A>(store: Store, rule: Rule<readonly [ReadRecord], A>): Promise<A> {
  const answer = await decide(store, home, rule);
  await new Promise(setImmediate);
  return answer;
}

function trips(store: ProbeStore): readonly [reads: number, commits: number] {
  return [store.reads.length, store.commits.length];
}

async function writeElsewhere(store: ProbeStore, count: number): Promise<void> {
  await store.other.commit(home, { writes: [{ type: "put", key: "n", value: JSON.stringify({ count }) }] });
}

describe("a decision on a remembered record", () => {
  it("neither reads nor parses what this process has committed", async () => {
    const store = new ProbeStore();
    const { memory, work } = counters();
    for (let count = 1; count <= 5; count++) assert.equal(await decideAlone(store, countUp(memory)), count);
    assert.deepEqual(trips(store), [1, 5]);
    assert.deepEqual(work, { parsed: 0, printed: 5 });
    assert.deepEqual(
      await store.other.read(home, [{ type: "record", key: "n" }]),
      await store.read(home, [memory.query]),
    );
  });

  it("hands the store plain writes, and checks what it remembers", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    await decideAlone(store, countUp(memory));
    const [before] = await store.other.read(home, [{ type: "record", key: "n" }]);
    await decideAlone(store, countUp(memory));
    assert.deepEqual(store.commits[1], {
      checks: [{ key: "n", version: before?.version }],
      writes: [{ type: "put", key: "n", value: '{"count":2}' }],
    });
  });

  it("is made again from what the store says where the memory is stale", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    await decideAlone(store, countUp(memory));
    await writeElsewhere(store, 41);
    assert.equal(await decideAlone(store, countUp(memory)), 42);
    assert.equal(await decideAlone(store, countUp(memory)), 43);
    assert.deepEqual(trips(store), [2, 4]);
  });

  it("is made again where the record was deleted, or has expired by the store's clock", async () => {
    let now = 1_000;
    const store = new ProbeStore(() => now);
    const { memory } = counters();
    await decideAlone(store, countUp(memory));
    await store.other.commit(home, { writes: [{ type: "delete", shape: "record", key: "n" }] });
    assert.equal(await decideAlone(store, countUp(memory)), 1);
    const writes = [{ type: "put", key: "n", value: '{"count":7}', expireAt: 2_000 }] as const;
    await store.other.commit(home, { writes });
    const [stored] = await store.other.read(home, [{ type: "record", key: "n" }]);
    assert.equal(stored === null ? 0 : memory.valueOf(home, stored).count, 7);
    now = 2_000;
    assert.equal(await decideAlone(store, countUp(memory)), 1);
  });

  it("answers without a commit, throws and commits unchecked only from what the store says", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    const throwing = refusal(memory);
    await decideAlone(store, countUp(memory));
    for (const [count, rule] of [
      [10, readRule(memory)],
      [20, throwing],
    ] as const) {
      await writeElsewhere(store, count);
      const answer = await decide<readonly [ReadRecord], number>(store, home, rule).catch(
        (error: unknown) => error,
      );
      if (rule === throwing) assert.equal((answer as Error).message, "20");
      else assert.equal(answer, 10);
    }
  });

  it("answers what refused makes of a guard, from a state that the commit has checked", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    const once = (id: string): Rule<readonly [ReadRecord], string> => ({
      reads: [memory.query],
      apply([stored]) {
        const { count } = stored === null ? { count: 0 } : memory.valueOf(home, stored);
        return {
          writes: [memory.put({ count: count + 1 }), { type: "add", key: "seen", field: id, by: 1, max: 1 }],
          answer: `counted ${count + 1}`,
          refused: () => `seen at ${count}`,
        };
      },
    });
    assert.equal(await decideAlone(store, once("a")), "counted 1");
    assert.equal(await decideAlone(store, once("a")), "seen at 1");
    assert.equal(await decideAlone(store, once("b")), "counted 2");
    assert.deepEqual(trips(store), [1, 3]);
    await writeElsewhere(store, 50);
    assert.equal(await decideAlone(store, once("b")), "seen at 50");
    const answers = await Promise.all(["c", "a", "c", "d"].map(id => decide(store, home, once(id))));
    assert.deepEqual(answers, ["counted 51", "seen at 51", "seen at 51", "counted 52"]);
  });

  it("is not made from memory again after an unknown outcome", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    const marking: Rule<readonly [ReadRecord], string> = {
      reads: [memory.query],
      idempotent: true,
      apply: () => ({
        writes: [{ type: "append", key: "l", value: "x", at: 1, maxLength: 9 }],
        answer: "done",
      }),
    };
    await decideAlone(store, countUp(memory));
    await decide(store, home, countUp(memory));
    store.interceptions.push(async (_, pass) => {
      await pass();
      throw new AppError("outcome_unknown", "Cannot tell");
    });
    // Right after another it reads; made again it reads once more, though the record is remembered.
    await decide(store, home, marking);
    assert.deepEqual(trips(store), [3, 4]);
  });
});

describe("a decision right after another on the same record", () => {
  it("reads where the one before did not, so that other processes are not always too late", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    await decideAlone(store, countUp(memory));
    for (let round = 0; round < 4; round++) await decide(store, home, countUp(memory));
    assert.deepEqual(trips(store), [3, 5]);
  });
});

describe("decisions on a remembered record that share a commit", () => {
  it("parse nothing, print the last state alone, and need no read", async () => {
    const store = new ProbeStore();
    const { memory, work } = counters();
    await decideAlone(store, countUp(memory));
    const answers = await Promise.all(Array.from({ length: 64 }, () => decide(store, home, countUp(memory))));
    assert.deepEqual(
      answers,
      Array.from({ length: 64 }, (_, index) => index + 2),
    );
    assert.deepEqual(trips(store), [1, 2]);
    assert.deepEqual(work, { parsed: 0, printed: 2 });
    assert.equal(await decideAlone(store, countUp(memory)), 66);
    assert.deepEqual(trips(store), [1, 3]);
  });

  it("are made again together where the memory is stale, and none is lost", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    await decideAlone(store, countUp(memory));
    await writeElsewhere(store, 100);
    const answers = await Promise.all([
      decide(store, home, countUp(memory)),
      decide(store, home, readRule(memory)),
      decide(store, home, countUp(memory)),
    ]);
    assert.deepEqual(answers, [101, 101, 102]);
  });

  it("answer without a commit, throw and commit unchecked only from what the store says", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    const throwing = refusal(memory);
    for (const [rule, expected] of [
      [readRule(memory), [10, 10]],
      [throwing, ["RangeError: 10", "RangeError: 10"]],
    ] as const) {
      await decideAlone(store, countUp(memory));
      await writeElsewhere(store, 10);
      const answers = await Promise.all([1, 2].map(() => decide(store, home, rule).catch(String)));
      assert.deepEqual(answers, expected);
      await new Promise(setImmediate);
    }
  });

  it("see the object that an earlier one of the fold puts, and keep what was committed", async () => {
    const store = new ProbeStore();
    const { memory, work } = counters();
    const seen: Counter[] = [];
    const watching: Rule<readonly [ReadRecord], null> = {
      reads: [memory.query],
      apply([stored]) {
        if (stored !== null) seen.push(memory.valueOf(home, stored));
        return { writes: [{ type: "add", key: "t", field: "x", by: 1 }], answer: null };
      },
    };
    await Promise.all([decide(store, home, countUp(memory)), decide(store, home, watching)]);
    const [stored] = await store.read(home, [{ type: "record", key: "n" }]);
    assert.ok(stored !== null);
    assert.equal(memory.valueOf(home, stored), seen[0]);
    assert.equal(work.parsed, 0);
  });
});

describe("a memory of records", () => {
  it("parses what it does not know, once per version", () => {
    const { memory, work } = counters();
    const first = memory.valueOf("a", { version: "1", value: '{"count":1}' });
    assert.equal(memory.valueOf("a", { version: "1", value: '{"count":1}' }), first);
    assert.deepEqual(memory.valueOf("b", { version: "1", value: '{"count":2}' }), { count: 2 });
    assert.deepEqual(memory.valueOf("a", { version: "2", value: '{"count":3}' }), { count: 3 });
    assert.equal(work.parsed, 3);
  });

  it("is bounded", () => {
    const { memory } = counters();
    for (let index = 0; index < 100; index++) {
      memory.valueOf(`p${index}`, { version: "1", value: "{}" });
      assert.ok(memory.size <= 8);
    }
  });

  it("keeps what it has committed apart from what another memory has", async () => {
    const store = new ProbeStore();
    const [one, other] = [counters().memory, counters().memory];
    const mixed: Rule<readonly [ReadRecord], number> = {
      reads: [one.query],
      apply: ([stored]) => ({
        writes: [other.put({ count: stored === null ? 1 : other.valueOf(home, stored).count + 1 })],
        answer: 0,
      }),
    };
    await Promise.all([1, 2, 3].map(() => decide(store, home, mixed)));
    assert.equal(await decideAlone(store, countUp(one)), 4);
  });

  it("lets the store be read while others change the records, and is used again when they stop", async () => {
    const store = new ProbeStore();
    const { memory } = counters();
    for (let round = 0; round < 50; round++) {
      await writeElsewhere(store, round);
      assert.equal(await decideAlone(store, countUp(memory)), round + 1);
    }
    assert.ok(store.commits.length < 70, `${store.commits.length} commits for 50 decisions`);
    for (let round = 0; round < 64; round++) await decideAlone(store, countUp(memory));
    const reads = store.reads.length;
    for (let round = 0; round < 10; round++) await decideAlone(store, countUp(memory));
    assert.equal(store.reads.length, reads);
  });
});

describe("two processes that remember the same record", () => {
  async function race(stores: readonly Store[]): Promise<void> {
    const each = 200;
    const lists = await Promise.all(
      stores.map(async store => {
        const { memory } = counters();
        const answers: number[] = [];
        for (let round = 0; round < each; round++) {
          const several = Array.from({ length: 1 + (round % 3) }, () => decide(store, home, countUp(memory)));
          answers.push(...(await Promise.all(several)));
        }
        return answers;
      }),
    );
    const all = lists.flat().sort((a, b) => a - b);
    assert.deepEqual(
      all,
      Array.from({ length: all.length }, (_, index) => index + 1),
    );
  }

  /** A handle on a store whose calls take a random number of turns, as those of another process would. */
  function handle(store: Store, random: Random): Store {
    async function turns(): Promise<void> {
      for (let turn = random.integer(4); turn > 0; turn--) await new Promise(setImmediate);
    }
    return {
      traits: store.traits,
      async read(partition, queries) {
        await turns();
        return await store.read(partition, queries);
      },
      async commit(partition, batch) {
        await turns();
        return await store.commit(partition, batch);
      },
      ping: () => store.ping(),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  }

  it("lose and double nothing in memory", async () => {
    const store = createMemoryStore();
    const random = createRandom(7);
    await race([handle(store, random), handle(store, random), handle(store, random)]);
  });

  for (const { name, skip, handles } of databases) {
    it(`lose and double nothing on ${name}`, { skip }, async () => {
      const random = createRandom(8);
      const [first, second] = (await handles(2)) as [Store, Store];
      await using one = handle(first, random);
      await using two = handle(second, random);
      await race([one, two]);
    });
  }
});
