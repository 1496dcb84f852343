import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { describe, it } from "node:test";
import { openFileStore } from "../../../adapters/file/mod.ts";
import { temporaryDirectory } from "./directory.ts";
import { startWriter } from "./writer.ts";

const kills = 4;

describe("a store whose process is killed while it writes", () => {
  it("has every acknowledged commit after the restart, and every partition in one piece", async context => {
    const directory = await temporaryDirectory();
    for (let round = 1; round <= kills; round++) {
      const writer = startWriter(context, directory);
      await writer.acknowledged(400 * round);
      const acknowledged = await writer.kill();
      assert.equal(acknowledged.size, 16);
      await using store = await openFileStore(directory);
      for (const [partition, n] of acknowledged) {
        const [record, tally, standing, all, log] = await store.read(partition, [
          { type: "record", key: "n" },
          { type: "tally", key: "n" },
          { type: "standing", key: "n", member: "n" },
          { type: "board", key: "all", limit: 1, reverse: true },
          { type: "log", key: "n", limit: 100 },
        ]);
        const found = Number(record?.value);
        assert.ok(found === n || found === n + 1, `${partition} has ${found}, acknowledged was ${n}`);
        assert.equal(tally.get("n"), found);
        assert.equal(standing?.score, found);
        assert.equal(all.size, Math.min(found, 90));
        assert.equal(all.entries[0]?.score, found);
        assert.equal(log.at(-1)?.value, String(found));
        assert.equal(log.length, Math.min(found, 20));
      }
    }
    const names = await readdir(directory);
    assert.ok(
      names.some(name => name.startsWith("snapshot-")),
      names.join(),
    );
  });
});
