import assert from "node:assert/strict";
import { it } from "node:test";
import { DueQueue, type DueWork } from "../../../../lib/storage/background/due_queue.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnDatabases, type OpenStore } from "../../../support/stores.ts";

const partition = "queue";

/** The queues of two processes over one store. Work that is not scripted leaves a member due in a minute. */
async function setup(open: OpenStore, claims: "queue" | "member") {
  const clock = createTestClock();
  const store = await open(clock.now);
  const options = { store, partition, clock: clock.now, claims, leaseMs: 60_000 };
  const [queue, other] = ["a", "b"].map(holder => new DueQueue({ ...options, holder })) as [
    DueQueue,
    DueQueue,
  ];
  const handled: string[] = [];
  const failed: string[] = [];
  const work = (handle: DueWork["handle"] = async () => clock.now() + 60_000): DueWork => ({
    handle: member => {
      handled.push(member);
      return handle(member);
    },
    onFailed: member => failed.push(member),
    retryMs: 5_000,
  });
  async function schedule(members: readonly string[], at: number, op?: "set" | "min"): Promise<void> {
    await store.commit(partition, { writes: queue.schedule(members, at, op) });
  }
  return { clock, store, queue, other, handled, failed, work, schedule };
}

for (const claims of ["queue", "member"] as const) {
  describeOnDatabases(`a due queue that claims a ${claims}`, open => {
    it("handles members once they are due, longest due first, and again at the time they return", async () => {
      const { clock, queue, work, handled, schedule } = await setup(open, claims);
      await schedule(["late"], clock.now() + 10);
      await schedule(["second"], clock.now() - 1);
      await schedule(["first"], clock.now() - 2);
      assert.deepEqual(await queue.processDue(work()), { processed: 2, failed: 0 });
      assert.deepEqual(handled, ["first", "second"]);
      await queue.processDue(work());
      assert.equal(handled.length, 2);
      clock.advance(60_000);
      await queue.processDue(work());
      assert.deepEqual(handled.slice(2).toSorted(), ["first", "late", "second"]);
    });

    it("removes members that are due never again", async () => {
      const { clock, store, queue, work, handled, schedule } = await setup(open, claims);
      await schedule(["a"], clock.now());
      await queue.processDue(work(async () => null));
      clock.advance(1_000_000);
      await queue.processDue(work());
      assert.deepEqual(handled, ["a"]);
      const [{ size }] = await store.read(partition, [{ type: "board", key: "due", limit: 0 }]);
      assert.equal(size, 0);
    });

    it("brings a member forward with min, and never back", async () => {
      const { clock, queue, schedule } = await setup(open, claims);
      await schedule(["a"], clock.now() + 20);
      await schedule(["a"], clock.now() + 10, "min");
      await schedule(["a"], clock.now() + 30, "min");
      clock.advance(10);
      assert.deepEqual(await queue.due(10), ["a"]);
    });

    it("tries a member again after a pause when its work fails, and reports it", async () => {
      const { clock, queue, work, handled, failed, schedule } = await setup(open, claims);
      await schedule(["a", "b"], clock.now());
      const fail = work(async member => {
        if (member === "a") throw new Error("down");
        return null;
      });
      assert.deepEqual(await queue.processDue(fail), { processed: 1, failed: 1 });
      assert.deepEqual(failed, ["a"]);
      clock.advance(4_999);
      await queue.processDue(work());
      assert.equal(handled.length, 2);
      clock.advance(1);
      await queue.processDue(work());
      assert.equal(handled.length, 3);
    });

    it("leaves claimed work to the process that claimed it, until its lease is over", async () => {
      const { clock, queue, other, work, handled, schedule } = await setup(open, claims);
      await schedule(["a"], clock.now());
      await queue.processDue(
        work(async () => {
          await other.processDue(work());
          assert.deepEqual(handled, ["a"]);
          clock.advance(60_000);
          await other.processDue(work(async () => null));
          assert.deepEqual(handled, ["a", "a"]);
          return clock.now();
        }),
      );
      // The successor said that nothing is left; the first process cannot undo that.
      clock.advance(1_000_000);
      assert.deepEqual(await queue.due(10), []);
    });

    it("keeps the result of work that took longer than the lease if nobody else claimed it", async () => {
      const { clock, queue, work, schedule } = await setup(open, claims);
      await schedule(["a"], clock.now());
      await queue.processDue(
        work(async () => {
          clock.advance(60_001);
          return null;
        }),
      );
      assert.deepEqual(await queue.due(10), []);
    });

    it("misses no member that is scheduled for a later time while a process works on it", async () => {
      const { clock, queue, work, schedule } = await setup(open, claims);
      await schedule(["a"], clock.now());
      await queue.processDue(
        work(async () => {
          await schedule(["a"], clock.now() + 10);
          return null;
        }),
      );
      clock.advance(10);
      assert.deepEqual(await queue.due(10), ["a"]);
    });
  });
}

describeOnDatabases("a due queue", open => {
  it("continues page by page until nothing is due", async () => {
    const { clock, queue, work, handled, schedule } = await setup(open, "queue");
    await schedule(["a", "b", "c", "d", "e"], clock.now());
    assert.deepEqual(await queue.processDue({ ...work(), pageMax: 2 }), { processed: 5, failed: 0 });
    clock.advance(60_000);
    await queue.processDue({ ...work(), pageMax: 2, pagesMax: 1 });
    assert.deepEqual(handled, ["a", "b", "c", "d", "e", "a", "b"]);
  });

  it("keeps a member due that gets more work at once while a process works on it", async () => {
    const { clock, queue, work, handled, schedule } = await setup(open, "member");
    await schedule(["a"], clock.now(), "min");
    await queue.process(
      "a",
      work(async () => {
        await schedule(["a"], clock.now(), "min");
        return null;
      }),
    );
    await queue.process("a", work());
    assert.deepEqual(handled, ["a", "a"]);
    await queue.process("a", work());
    assert.equal(handled.length, 2);
  });
});
