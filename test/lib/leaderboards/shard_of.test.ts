import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fnv1a, shardOf } from "../../../lib/leaderboards/scores/shard_of.ts";

describe("the shard of a user", () => {
  it("follows FNV-1a over the bytes of the id", () => {
    // From the authors' test vectors; the last two are "é" and "😀" as UTF-8, computed byte by byte.
    const byBytes = (text: string): number =>
      Buffer.from(text).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5) >>> 0;
    assert.deepEqual(
      ["", "a", "b", "foobar"].map(text => fnv1a(text)),
      [0x811c9dc5, 0xe40c292c, 0xe70c2de5, 0xbf9cf968],
    );
    for (const text of ["é", "😀", "a～b", "\u{10ffff}"]) assert.equal(fnv1a(text), byBytes(text));
    assert.equal(shardOf("foobar", 16), 8);
    assert.equal(shardOf("foobar", 1), 0);
  });

  it("spreads users evenly", () => {
    const counts = new Array<number>(16).fill(0);
    const users = 16_000;
    for (let user = 0; user < users; user++) {
      const shard = shardOf(`user-${user}`, counts.length);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    for (const count of counts) assert.ok(Math.abs(count - users / 16) < 150, `${counts}`);
  });
});
