/** How many shards a walk reads side by side. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shardLanesMax, walkShards } from "../../../lib/audience/search/shard_walk.ts";
import { userShards } from "../../../lib/users/mod.ts";

describe("a walk from shard to shard", () => {
  it(`reads more of them at a time while it finds nothing, up to ${shardLanesMax}, and each once`, async () => {
    const met: number[] = [];
    const walk = walkShards<never>(
      { shard: 0, after: null },
      {
        async load(shard) {
          met.push(shard);
          return { entries: [], isEnd: true };
        },
        candidate: entry => entry,
        print: shard => String(shard),
      },
    );
    const widths: number[] = [];
    for (let place: string | null = "0"; place !== null; ) {
      const before = met.length;
      ({ place } = await walk.next(100));
      widths.push(met.length - before);
    }
    assert.deepEqual(widths.slice(0, 3), [1, 2, 4]);
    assert.equal(Math.max(...widths), shardLanesMax);
    assert.deepEqual(met, [...Array(userShards).keys()]);
  });
});
