/** Processes that die or fall asleep at any point of an export, and those that go on with it. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { silentLogger } from "../../../../lib/http/mod.ts";
import type { Blobs, Store } from "../../../../lib/storage/mod.ts";
import { createDyingBlobs } from "../../../support/dying_blobs.ts";
import { createDyingStore, type Death } from "../../../support/dying_store.ts";
import { sampleSize } from "../../../support/full.ts";
import { describeOnStores } from "../../../support/stores.ts";
import { settle } from "../../../support/timer.ts";
import { WatchedStore } from "../../../support/watched_store.ts";
import {
  attemptsMax,
  csvRows,
  decrypt,
  ExportWorld,
  fetchFile,
  getExport,
  leaseMs,
  manyUsers,
  requestExport,
  type TestProcess,
} from "./_world.ts";

/** Five pages in three parts. */
const users = () => manyUsers(1_100, 7_000);

/** Lets a process that dies work on the export; answers how many operations it made. */
async function live(world: ExportWorld, death: Death | null): Promise<number> {
  const store = createDyingStore(world.store);
  const blobs = createDyingBlobs(world.blobs, store);
  const process = world.process({ store, blobs, intervalMs: 0 });
  store.dieAt(death ?? { at: Number.POSITIVE_INFINITY, when: "before" });
  await process.work();
  // Files of the dead process are closed with it.
  if (store.isDead) world.blobs.open = 0;
  return store.operations;
}

/** Goes on until nothing is left to do for the export, as several processes would. */
async function finish(world: ExportWorld, exportId: string): Promise<TestProcess> {
  const process = world.process({ intervalMs: 0 });
  for (let round = 0; round < 3; round++) {
    await process.work();
    if ((await getExport(process, exportId)).status !== "processing") break;
    world.clock.advance(leaseMs);
  }
  return process;
}

/** After each operation, which is before the next one; after every fourth one in a quick run. */
function deaths(operations: number): Death[] {
  const step = sampleSize(2, 4);
  return Array.from({ length: Math.ceil(operations / step) }, (_, n) => ({ at: n * step, when: "after" }));
}

/** The file has every user once, and nothing else of the export is stored. */
async function assertWhole(world: ExportWorld, exportId: string, why: string): Promise<void> {
  const process = await finish(world, exportId);
  const found = await getExport(process, exportId);
  assert.equal(found.status, "completed", `${why}: ${JSON.stringify(found.error)}`);
  const file = await fetchFile(process, exportId);
  assert.equal(file.length, found.fileSize, why);
  const text = found.encrypted ? decrypt(file, found.password) : file.toString();
  const rows = found.format === "json" ? JSON.parse(text) : csvRows(text);
  const ids = rows.map(({ userId }: { userId: string }) => userId);
  assert.deepEqual(
    ids,
    world.users.map(({ userId }) => userId),
    why,
  );
  assert.equal(found.rowCount, ids.length, why);
  const stored = [...world.blobs.sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  assert.equal(stored, found.fileSize, `${why}: something is left of another file`);
  assert.equal(world.blobs.open, 0, `${why}: a stream is open`);
}

/** The encrypted form first: a process dies at the same steps whatever the format is. */
const bodies = [{ format: "json" }, { format: "csv", encrypt: false }].slice(0, sampleSize(2, 1));

describe("a process that dies while it exports", () => {
  for (const body of bodies) {
    it(`leaves a job that another finishes, wherever it dies: ${JSON.stringify(body)}`, async () => {
      const open = async (clock: () => number) => createMemoryStore({ clock });
      await using calm = await ExportWorld.open(open, users());
      const calmId = await requestExport(calm.process(), body);
      calm.clock.advance(300_000);
      const operations = await live(calm, null);
      assert.ok(operations > 15, String(operations));
      await assertWhole(calm, calmId, "without a death");
      for (const death of deaths(operations)) {
        await using world = await ExportWorld.open(open, users());
        const exportId = await requestExport(world.process(), body);
        world.clock.advance(300_000);
        await live(world, death);
        world.clock.advance(leaseMs);
        await assertWhole(world, exportId, JSON.stringify(death));
      }
    });
  }
});

describeOnStores("an export that changes hands", open => {
  it("continues behind the last part, and reads no user again that is in a part", async () => {
    await using world = await ExportWorld.open(open, users());
    const exportId = await requestExport(world.process());
    world.clock.advance(300_000);
    const store = createDyingStore(world.store);
    const first = world.process({ store, blobs: createDyingBlobs(world.blobs, store) });
    let pages = 0;
    world.onPage = page => {
      pages = page + 1;
      if (page === 3) store.dieAt({ at: 0, when: "before" });
    };
    await first.work();
    assert.equal(pages, 5);
    world.clock.advance(leaseMs);
    await assertWhole(world, exportId, "after one death");
    // Of the five pages two are in the first part.
    assert.equal(pages, 5 + 3);
  });

  it("has each user once although users come, change and go meanwhile", async () => {
    await using world = await ExportWorld.open(open, users());
    const exportId = await requestExport(world.process());
    world.clock.advance(300_000);
    const stay = new Set(world.users.map(({ userId }) => userId));
    let turn = 0;
    world.onPage = () => {
      turn += 1;
      for (const user of world.users) user.points += 1;
      const gone = world.users.splice(turn * 7, 1);
      for (const { userId } of gone) stay.delete(userId);
      world.users.push({ userId: `user-000${turn}50x`, name: "new", points: 0 });
    };
    for (const at of [9, 14, 23, 31]) {
      await live(world, { at, when: at % 2 === 0 ? "before" : "after" });
      world.clock.advance(leaseMs);
    }
    const process = await finish(world, exportId);
    const { password, rowCount } = await getExport(process, exportId);
    const rows: { userId: string }[] = JSON.parse(decrypt(await fetchFile(process, exportId), password));
    const ids = rows.map(({ userId }) => userId);
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(rowCount, ids.length);
    const missing = [...stay].filter(userId => !ids.includes(userId));
    assert.deepEqual(missing, []);
  });

  it("is built by one of two processes that race for it", async () => {
    await using world = await ExportWorld.open(open, users());
    const [a, b] = [world.process(), world.process()];
    const asked = [await requestExport(a), await requestExport(b, { format: "csv" })];
    world.clock.advance(300_000);
    await Promise.all([a.work(), b.work()]);
    await Promise.all([a.work(), b.work()]);
    for (const exportId of asked) {
      const { status, rowCount, password } = await getExport(a, exportId);
      assert.deepEqual([status, rowCount], ["completed", 1_100]);
      assert.ok(decrypt(await fetchFile(b, exportId), password).length > 0);
    }
    const sizes = await Promise.all(asked.map(async id => (await getExport(a, id)).fileSize));
    const stored = [...world.blobs.sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    assert.equal(stored, sizes[0] + sizes[1]);
  });

  it("cannot be changed by a holder that was asleep for longer than its lease", async () => {
    await using world = await ExportWorld.open(open, users());
    const asleep = world.process();
    const awake = world.process();
    const exportId = await requestExport(asleep);
    world.clock.advance(300_000);
    let isOver = false;
    world.onPage = page => {
      if (page !== 1) return;
      // The first holder falls asleep here; the other one does everything meanwhile.
      world.clock.advance(leaseMs);
    };
    const slow = asleep.work();
    const quick = (async () => {
      while ((await getExport(awake, exportId)).status === "processing") {
        await awake.work();
        await settle();
      }
      isOver = true;
    })();
    await Promise.all([slow, quick]);
    assert.ok(isOver);
    await assertWhole(world, exportId, "after a nap");
  });

  it("has not failed where another process took it over and removed what its own was reading", async () => {
    await using world = await ExportWorld.open(open, users());
    const awake = world.process();
    const exportId = await requestExport(awake);
    world.clock.advance(300_000);
    const logged: string[] = [];
    let isTaken = false;
    const blobs: Blobs = {
      put: (name, body) => world.blobs.put(name, body),
      async get(name, range) {
        if (!isTaken) {
          isTaken = true;
          world.clock.advance(leaseMs);
          await awake.work();
        }
        return await world.blobs.get(name, range);
      },
      remove: name => world.blobs.remove(name),
      [Symbol.asyncDispose]: async () => {},
    };
    const asleep = world.process({
      blobs,
      logger: { ...silentLogger, log: (_, event) => void logged.push(event) },
    });
    await asleep.work();
    assert.ok(isTaken);
    assert.deepEqual(logged, []);
    await assertWhole(world, exportId, "after a takeover");
  });

  it("goes to another process at once where its own stops", async () => {
    await using world = await ExportWorld.open(open, users());
    const [first, second] = [world.process(), world.process()];
    const exportId = await requestExport(first);
    world.clock.advance(300_000);
    let closed: Promise<void> | undefined;
    world.onPage = page => {
      if (page === 1) closed = first.exports.close();
    };
    await first.work();
    await closed;
    assert.equal((await getExport(second, exportId)).status, "processing");
    world.onPage = () => {};
    await second.work();
    await assertWhole(world, exportId, "after a stop");
  });

  it("fails with a reason after it was tried often enough, and keeps nothing", async () => {
    await using world = await ExportWorld.open(open, users());
    const process = world.process();
    const exportId = await requestExport(process);
    world.clock.advance(300_000);
    let tries = 0;
    world.onPage = page => {
      if (page === 0) return;
      tries += 1;
      throw new Error("a secret of the machine");
    };
    for (let round = 0; round < attemptsMax + 2; round++) {
      await process.work();
      world.clock.advance(3_600_000);
    }
    const { status, error } = await getExport(process, exportId);
    assert.equal(status, "failed");
    assert.deepEqual(Object.keys(error), ["code", "message"]);
    assert.ok(!error.message.includes("secret of the machine"));
    assert.ok(tries <= attemptsMax + 1, String(tries));
    assert.equal(world.blobs.sizes.size, 0);
  });

  /** Requests an export of a process whose store commits in another way from the time on at which it is due. */
  async function requestOf(world: ExportWorld, commitOf: (commit: Store["commit"]) => Store["commit"]) {
    const store = new WatchedStore(world.store);
    const process = world.process({ store });
    const exportId = await requestExport(process);
    world.clock.advance(300_000);
    store.commit = commitOf(store.commit.bind(store));
    return { process, exportId };
  }

  it("is tried once by a process whose answers are lost", async () => {
    await using world = await ExportWorld.open(open, users());
    let lost = 0;
    const { process, exportId } = await requestOf(world, commit => async (partition, batch) => {
      const result = await commit(partition, batch);
      if (partition === "g:exports" || lost++ >= attemptsMax) return result;
      throw new AppError("outcome_unknown", "Cannot tell if the change was applied: the answer is lost");
    });
    await process.work();
    assert.ok(lost > attemptsMax);
    await assertWhole(world, exportId, "after lost answers");
  });

  it("is built at once although it cannot be postponed for others", async () => {
    await using world = await ExportWorld.open(open, users());
    const { process, exportId } = await requestOf(world, commit => async (partition, batch) => {
      if (partition !== "g:exports") return await commit(partition, batch);
      throw new AppError("storage_unavailable", "Cannot use the store: it is away");
    });
    await process.work();
    assert.equal((await getExport(process, exportId)).status, "completed");
  });

  it("fails once processes that die over it have taken it often enough", async () => {
    await using world = await ExportWorld.open(open, users());
    const exportId = await requestExport(world.process());
    world.clock.advance(300_000);
    for (let n = 0; n < attemptsMax; n++) {
      await live(world, { at: 5, when: "before" });
      world.clock.advance(leaseMs);
    }
    const process = world.process();
    await process.work();
    const { status, error } = await getExport(process, exportId);
    assert.deepEqual([status, error?.code], ["failed", "internal_error"]);
  });
});
