import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { walkShards } from "../../../../lib/fans/audience/search/walks.ts";
import { userShards } from "../../../../lib/fans/users/mod.ts";

describe("a walk from shard to shard", () => {
  it("reads more shards at a time while it finds nothing, and each of them once", async () => {
    const loaded: number[] = [];
    const walk = walkShards<never>(
      { shard: 0, after: null },
      {
        async load(shard) {
          loaded.push(shard);
          return { entries: [], isEnd: true };
        },
        candidate: entry => entry,
        print: shard => String(shard),
      },
    );
    const widths: number[] = [];
    for (let position: string | null = "0"; position !== null; ) {
      const before = loaded.length;
      ({ position } = await walk.next(100));
      widths.push(loaded.length - before);
    }
    assert.deepEqual(widths.slice(0, 3), [1, 2, 4]);
    assert.ok(Math.max(...widths) < userShards, "not all at once");
    assert.deepEqual(loaded, [...Array(userShards).keys()]);
  });
});
