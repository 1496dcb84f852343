import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore, createStoreQueue } from "../../../adapters/memory/mod.ts";
import { storageLimits } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";

const lease = { consumer: "one", limit: 1_000, leaseMs: 1_000 };

describe("a queue over a store", () => {
  it("hands out unsettled messages of a dead process again, in the same order", async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    const before = createStoreQueue({ store, clock: clock.now });
    await before.push("t", ["a"]);
    const [b, c] = await before.push("t", ["b", "c"]);
    await before.push("t", ["d"]);
    const [a] = await before.take("t", { ...lease, limit: 1 });
    await before.ack("t", [a?.id ?? "", b ?? ""]);
    assert.ok(c !== undefined);

    const after = createStoreQueue({ store, clock: clock.now });
    assert.equal(await after.depth("t"), 3);
    await after.push("t", ["e"]);
    const taken = await after.take("t", lease);
    assert.deepEqual(
      taken.map(({ body }) => body),
      ["b", "c", "d", "e"],
      "b shared its record with c",
    );
    await after.ack(
      "t",
      taken.map(({ id }) => id),
    );
    const [board] = await store.read("g:queue:t", [{ type: "board", key: "open", limit: 10 }]);
    assert.equal(board.size, 0);
    assert.equal(await createStoreQueue({ store, clock: clock.now }).depth("t"), 0);
  });

  it("keeps bodies of every size that is allowed", async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    const bodies = [
      '"'.repeat(storageLimits.valueBytesMax),
      "x",
      "y".repeat(storageLimits.valueBytesMax - 10),
      "\\".repeat(400_000),
      "z",
    ];
    await createStoreQueue({ store, clock: clock.now }).push("t", bodies);
    const taken = await createStoreQueue({ store, clock: clock.now }).take("t", lease);
    assert.deepEqual(
      taken.map(({ body }) => body),
      bodies,
    );
  });

  it("accepts nothing that the store does not keep", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock: clock.now });
    const queue = createStoreQueue({ store, clock: clock.now });
    await queue.push("t", ["a"]);
    await store[Symbol.asyncDispose]();
    await assert.rejects(queue.push("t", ["b"]), { code: "storage_unavailable" });
    assert.equal(await queue.depth("t"), 1);
  });
});
