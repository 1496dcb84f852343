import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createRandom } from "../../../adapters/conformance/random.ts";
import { createOperations } from "../../../adapters/conformance/random_runs.ts";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";
import type { Commit, Store, Write } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { dump } from "./dump.ts";
import { HeldJournal } from "./held_journal.ts";

const lost = new AppError("storage_unavailable", "Cannot commit: the test has lost it");
const put = (key: string, value: string): Write => ({ type: "put", key, value });

function opened(frames: readonly string[] = [], clock = createTestClock()) {
  const journal = new HeldJournal(frames);
  const store = createMemoryStore({ clock: clock.now, journal });
  const operations = createOperations(createRandom(frames.length + 1), clock);
  return { clock, journal, store, operations };
}

/** Returns true if a promise has settled once all pending work is done. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  const note = () => {
    done = true;
  };
  promise.then(note, note);
  await turn();
  return done;
}

function randomCommits(store: Store, operations: ReturnType<typeof createOperations>, count: number) {
  return Array.from({ length: count }, (): Promise<Commit> => {
    const partition = operations.partition();
    return store.commit(partition, { writes: operations.batch(partition).writes });
  });
}

describe("a memory store with a journal", () => {
  it("declares itself durable, and one without a journal does not", () => {
    assert.equal(opened().store.traits.durable, true);
    assert.equal(createMemoryStore().traits.durable, false);
  });

  it("acknowledges a commit, and shows it to readers, only once it is kept", async () => {
    const { journal, store } = opened();
    await store.ping();
    const commit = store.commit("p", { writes: [put("a", "1")] });
    const read = store.read("p", [{ type: "record", key: "a" }]);
    const elsewhere = store.read("q", [{ type: "record", key: "a" }]);
    const refused = store.commit("p", { checks: [{ key: "a", version: null }], writes: [] });
    const unchanged = store.commit("p", { writes: [] });
    for (const waiting of [commit, read, refused, unchanged]) assert.equal(await settled(waiting), false);
    assert.equal(await settled(elsewhere), true);
    journal.keep();
    assert.equal((await commit).ok, true);
    assert.equal((await read)[0]?.value, "1");
    assert.deepEqual(await refused, { ok: false, because: "check", key: "a" });
    assert.equal((await unchanged).ok, true);
  });

  it("numbers the changes of a partition, those that are undone too, and tells none while one is not kept", async () => {
    const { journal, store } = opened();
    assert.equal(store.lastChange?.("p"), undefined);
    await store.ping();
    const numbers = new Set<number | undefined>();
    for (const end of [() => journal.keep(), () => journal.lose(lost), () => journal.keep()]) {
      const commit = store.commit("p", { writes: [put("a", String(numbers.size))] });
      assert.equal(store.lastChange?.("p"), undefined);
      end();
      await Promise.allSettled([commit]);
      numbers.add(store.lastChange?.("p"));
    }
    assert.equal(numbers.size, 3);
    assert.ok(!numbers.has(undefined));
    const known = store.lastChange?.("p");
    await store.read("p", [{ type: "record", key: "a" }]);
    assert.equal(store.lastChange?.("p"), known);
    await store[Symbol.asyncDispose]();
    assert.equal(store.lastChange?.("p"), undefined);
  });

  it("numbers a change and its undoing apart where reads show it before it is kept", async () => {
    const journal = new HeldJournal([], false);
    const store = createMemoryStore({ journal });
    await store.ping();
    const first = store.commit("p", { writes: [put("a", "1")] });
    journal.keep();
    await first;
    const gone = store.commit("p", { writes: [put("a", "2")] });
    const shown = store.lastChange?.("p");
    assert.notEqual(shown, undefined);
    journal.lose(lost);
    await assert.rejects(gone, { code: "storage_unavailable" });
    assert.notEqual(store.lastChange?.("p"), shown);
  });

  it("undoes commits that the journal loses, in every shape, and continues", async () => {
    const { clock, journal, store, operations } = opened();
    await store.ping();
    for (let round = 0; round < 150; round++) {
      const commits = randomCommits(store, operations, 4);
      clock.advance(round % 5);
      journal.keep();
      await Promise.all(commits);
      const before = await dump(store);
      const gone = randomCommits(store, operations, 6).map(commit => commit.catch(error => error));
      // Readers that have seen what was lost fail with it.
      const readers = dump(store).catch(error => error);
      await turn();
      journal.lose(lost);
      for (const outcome of await Promise.all(gone)) {
        if (outcome instanceof AppError) assert.equal(outcome, lost);
      }
      await readers;
      assert.deepEqual(await dump(store), before, `round ${round}`);
    }
    assert.deepEqual(await dump(opened(journal.kept, clock).store), await dump(store));
  });

  it("refuses a commit that the journal does not accept, without a trace", async () => {
    const { journal, store } = opened();
    await store.ping();
    journal.refusal = new AppError("busy", "Cannot commit: the test is busy");
    await assert.rejects(store.commit("p", { writes: [put("a", "1")] }), { code: "busy" });
    journal.refusal = undefined;
    assert.deepEqual(await store.read("p", [{ type: "record", key: "a" }]), [null]);
  });

  it("rejects readers of a commit that is lost", async () => {
    const { journal, store } = opened();
    await store.ping();
    const commit = store.commit("p", { writes: [put("a", "1")] });
    const read = store.read("p", [{ type: "record", key: "a" }]);
    await turn();
    journal.lose(lost);
    await assert.rejects(commit, { code: "storage_unavailable" });
    await assert.rejects(read, { code: "storage_unavailable" });
  });

  it("is replayed to the same state, expiry and all, from any number of frames", async () => {
    const { clock, journal, store, operations } = opened();
    for (let round = 0; round < 300; round++) {
      const commits = randomCommits(store, operations, 3);
      await turn();
      journal.keep();
      await Promise.all(commits);
      clock.advance(round % 7);
      if (round % 30 !== 0) continue;
      assert.deepEqual(await dump(opened(journal.kept, clock).store), await dump(store));
    }
  });

  it("never gives a version of an earlier life again, not even with the clock standing still", async () => {
    const first = opened();
    const versions = new Set<string>();
    for (let round = 0; round < 50; round++) {
      const commit = first.store.commit("p", {
        writes: [put("a", "x"), { type: "delete", shape: "record", key: "a" }],
      });
      await turn();
      first.journal.keep();
      const outcome = await commit;
      assert.ok(outcome.ok && !versions.has(outcome.version));
      versions.add(outcome.version);
    }
    const second = opened(first.journal.kept);
    const commit = second.store.commit("p", { writes: [put("a", "x")] });
    await turn();
    second.journal.keep();
    const outcome = await commit;
    assert.ok(outcome.ok && !versions.has(outcome.version));
  });

  it("describes its state exactly while commits change it, together with the frames kept meanwhile", async () => {
    for (let round = 0; round < 40; round++) {
      const { journal, store, operations } = opened();
      await store.ping();
      const seed = randomCommits(store, operations, 40);
      const large = store.commit("p", {
        writes: Array.from(
          { length: 900 },
          (_, at): Write => ({
            type: "score",
            op: "set",
            key: "a",
            member: `${"m".repeat(400)}${at}`,
            score: at % 7,
          }),
        ),
      });
      journal.keep();
      await Promise.all([...seed, large]);
      const keptBefore = journal.kept.length;
      const description: string[] = [];
      const frames = journal.snapshot();
      for (let step = frames.next(); !step.done; step = frames.next()) {
        description.push(step.value);
        const more = randomCommits(store, operations, 3);
        journal.keep();
        await Promise.all(more);
      }
      assert.ok(description.length > 4);
      const replayed = opened([...description, ...journal.kept.slice(keptBefore)]);
      assert.deepEqual(await dump(replayed.store), await dump(store));
    }
  });

  it("reports a journal that cannot be opened to every caller", async () => {
    const { store } = opened(["[1,"]);
    await assert.rejects(store.ping(), SyntaxError);
    await assert.rejects(store.read("p", []), SyntaxError);
    await assert.rejects(store.commit("p", { writes: [] }), SyntaxError);
  });

  it("refuses everything once it is disposed of, after keeping what was accepted", async () => {
    const { journal, store } = opened();
    await store.ping();
    const commit = store.commit("p", { writes: [put("a", "1")] });
    await turn();
    await store[Symbol.asyncDispose]();
    assert.equal((await commit).ok, true);
    assert.equal(journal.kept.length, 1);
    await assert.rejects(store.read("p", []), { code: "storage_unavailable" });
    await assert.rejects(store.commit("p", { writes: [] }), { code: "storage_unavailable" });
    await assert.rejects(store.ping(), { code: "storage_unavailable" });
  });
});
