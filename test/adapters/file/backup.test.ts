import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { backUpJournal, openFileStore, restoreJournal } from "../../../adapters/file/mod.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import { temporaryDirectory } from "./directory.ts";
import { startWriter } from "./writer.ts";

async function numberIn(store: Store, partition: string): Promise<number> {
  const [record, tally] = await store.read(partition, [
    { type: "record", key: "n" },
    { type: "tally", key: "n" },
  ]);
  assert.equal(tally.get("n"), Number(record?.value));
  return Number(record?.value);
}

describe("a backup of a journal that is written to", () => {
  it("has every commit that was acknowledged before, in one piece", async context => {
    const base = await temporaryDirectory();
    const [data, file, restored] = ["data", "backup", "restored"].map(name => join(base, name)) as [
      string,
      string,
      string,
    ];
    const writer = startWriter(context, data);
    await writer.acknowledged(400);
    const before = writer.last();
    const facts = await backUpJournal(data, file);
    await writer.acknowledged(writer.count() + 100);
    const after = await writer.kill();
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await restoreJournal(file, restored), facts);
    await using store = await openFileStore(restored);
    for (const [partition, n] of before) {
      const found = await numberIn(store, partition);
      assert.ok(found >= n && found <= (after.get(partition) ?? 0) + 1, `${partition}: ${n}, ${found}`);
    }
    await store.commit("p", { writes: [{ type: "put", key: "a", value: "1" }] });
  });
});

describe("a restore", () => {
  it("refuses a backup that is cut or changed anywhere, and changes nothing", async () => {
    const base = await temporaryDirectory();
    const file = join(base, "backup");
    {
      await using store = await openFileStore(join(base, "data"));
      for (const value of ["1", "2", "3"]) {
        await store.commit("p", { writes: [{ type: "put", key: "a", value }] });
      }
    }
    await backUpJournal(join(base, "data"), file);
    const whole = await readFile(file);
    const folder = join(base, "restored");
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 1;
      for (const content of [whole.subarray(0, at), changed]) {
        await writeFile(file, content);
        await assert.rejects(restoreJournal(file, folder), { code: "validation_failed" }, `byte ${at}`);
      }
    }
    await assert.rejects(stat(folder), { code: "ENOENT" });
    await writeFile(file, whole);
    await restoreJournal(file, folder);
    await using store = await openFileStore(folder);
    const [record] = await store.read("p", [{ type: "record", key: "a" }]);
    assert.equal(record?.value, "3");
  });

  it("takes an empty folder alone, beside its files, and no folder that is in use", async () => {
    const base = await temporaryDirectory();
    const file = join(base, "backup");
    await (await openFileStore(join(base, "data")))[Symbol.asyncDispose]();
    await backUpJournal(join(base, "data"), file);
    await assert.rejects(backUpJournal(join(base, "data"), file), { code: "conflict" });
    await assert.rejects(backUpJournal(base, `${file}.other`), { code: "not_found" });
    await assert.rejects(restoreJournal(file, join(base, "data")), { code: "conflict" });
    await assert.rejects(restoreJournal(join(base, "none"), join(base, "other")), { code: "not_found" });
    await mkdir(join(base, "new", "blobs"), { recursive: true });
    await restoreJournal(file, join(base, "new"));
    assert.deepEqual((await readdir(join(base, "new"))).sort(), [
      "blobs",
      "log-0000000001",
      "snapshot-0000000001",
    ]);
    await using _store = await openFileStore(join(base, "used"));
    await assert.rejects(restoreJournal(file, join(base, "used")), { code: "storage_unavailable" });
    assert.deepEqual((await readdir(base)).sort(), ["backup", "data", "new", "used"]);
  });
});
