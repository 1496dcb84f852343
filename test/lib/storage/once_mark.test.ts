import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decide,
  onceMark,
  type Partition,
  type ReadRecord,
  type ReadTally,
  RecordCache,
  type Rule,
} from "../../../lib/storage/mod.ts";
import { ProbeStore } from "../../support/probe_store.ts";
import { home } from "./_rules.ts";

/** Adds an id to a remembered list, unless it is marked as seen; answers whether it did. */
function once(memory: RecordCache<string[]>, id: string): Rule<readonly [ReadRecord, ReadTally], boolean> {
  return {
    reads: [memory.query, onceMark("seen", id)],
    idempotent: true,
    apply([stored, seen]) {
      if (seen.size > 0) return { writes: [], answer: false };
      const ids = stored === null ? [] : memory.valueOf(home, stored);
      return {
        writes: [memory.put([...ids, id]), { type: "add", key: "seen", field: id, by: 1 }],
        answer: true,
      };
    },
  };
}

function lists(): RecordCache<string[]> {
  return new RecordCache<string[]>({ key: "ids", entriesMax: 8 });
}

async function alone<A>(decision: Promise<A>): Promise<A> {
  const answer = await decision;
  await new Promise(setImmediate);
  return answer;
}

async function idsIn(store: ProbeStore, partition: Partition): Promise<unknown> {
  const [stored] = await store.other.read(partition, [{ type: "record", key: "ids" }]);
  return JSON.parse(stored?.value ?? "[]");
}

function trips(store: ProbeStore): readonly [reads: number, commits: number] {
  return [store.reads.length, store.commits.length];
}

describe("a decision that looks for a mark of its id", () => {
  it("needs one commit and no read over a remembered record, and lets the commit check the mark", async () => {
    const store = new ProbeStore();
    const memory = lists();
    for (const id of ["a", "b", "c"]) assert.equal(await alone(decide(store, home, once(memory, id))), true);
    assert.deepEqual(trips(store), [1, 3]);
    assert.deepEqual(store.commits[2]?.checks?.[1], { key: "seen", absent: "c" });
    assert.deepEqual(await idsIn(store, home), ["a", "b", "c"]);
  });

  it("finds by the commit that it was made before, and answers so from what the store says", async () => {
    const store = new ProbeStore();
    const memory = lists();
    for (const id of ["a", "b"]) await alone(decide(store, home, once(memory, id)));
    assert.equal(await alone(decide(store, home, once(memory, "a"))), false);
    assert.deepEqual(trips(store), [2, 3]);
    assert.equal(await alone(decide(store, home, once(memory, "c"))), true);
    assert.deepEqual(trips(store), [2, 4], "the memory of the record was current and is still used");
    assert.deepEqual(await idsIn(store, home), ["a", "b", "c"]);
  });

  it("is made once however many ask at the same time, together and in several processes", async () => {
    const store = new ProbeStore();
    const memories = [lists(), lists(), lists()];
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(
        memories.flatMap((memory, process) =>
          ["x", "y", "x", "z"].map(name =>
            decide(process === 0 ? store : store.other, home, once(memory, `${name}${round}`)),
          ),
        ),
      );
      assert.equal(answers.filter(isNew => isNew).length, 3, `round ${round}`);
    }
    const ids = (await idsIn(store, home)) as string[];
    assert.equal(ids.length, 60);
    assert.equal(new Set(ids).size, 60);
  });

  it("checks the mark where the record is cold too, as somebody may write marks alone", async () => {
    const store = new ProbeStore();
    store.interceptions.push(async (_, pass) => {
      await store.other.commit(home, { writes: [{ type: "add", key: "seen", field: "a", by: 1 }] });
      return await pass();
    });
    assert.equal(await decide(store, home, once(lists(), "a")), false);
    assert.deepEqual(await idsIn(store, home), []);
  });
});
