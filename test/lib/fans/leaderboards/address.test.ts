import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shardOf } from "../../../../lib/base/text/mod.ts";
import { boardPartition } from "../../../../lib/fans/leaderboards/scores/resolve_board.ts";
import { shardsMax } from "../../../../lib/fans/leaderboards/settings/board_settings.ts";

const address = { projectId: "p", eventId: null, leaderboardId: "overall", season: "" };

describe("the address of a board", () => {
  it("names a partition for each project, event, board, season and shard", () => {
    assert.equal(boardPartition(address, 0), "p:p:board::overall");
    assert.equal(boardPartition({ ...address, eventId: "e" }, 0), "p:p:board:e:overall");
    assert.equal(boardPartition({ ...address, season: "2026-W47" }, 0), "p:p:board::overall:2026-W47");
    assert.equal(boardPartition(address, 3), "p:p:board::overall::3");
    assert.equal(boardPartition({ ...address, season: "3" }, 5), "p:p:board::overall:3:5");
  });

  it("names no partition twice", () => {
    const seasons = ["", "0", "1", "2026-11"];
    const all = seasons.flatMap(season =>
      ["", "e"].flatMap(eventId =>
        [0, 1, 2].map(shard => boardPartition({ ...address, eventId, season }, shard)),
      ),
    );
    assert.equal(new Set(all).size, all.length);
  });
});

describe("the shard of a user", () => {
  it("follows from FNV-1a over the id's UTF-8 bytes", () => {
    // Published test vectors of 32-bit FNV-1a: "" 811c9dc5, "a" e40c292c, "foobar" bf9cf968.
    assert.equal(shardOf("", 64), 0x811c9dc5 % 64);
    assert.equal(shardOf("a", 64), 0xe40c292c % 64);
    assert.equal(shardOf("foobar", 64), 0xbf9cf968 % 64);
    const byBytes = (text: string): number =>
      Buffer.from(text).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5) >>> 0;
    for (const text of ["é", "😀", "a～b", "\u{10ffff}"]) assert.equal(shardOf(text, 64), byBytes(text) % 64);
    assert.equal(shardOf("foobar", 1), 0);
  });

  it("spreads users evenly", () => {
    const counts = new Array<number>(shardsMax).fill(0);
    const users = 64_000;
    for (let user = 0; user < users; user++) {
      const shard = shardOf(`00000000-0000-4000-8000-${String(user).padStart(12, "0")}`, shardsMax);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    const mean = users / shardsMax;
    for (const count of counts) assert.ok(Math.abs(count - mean) < mean * 0.2, `${count}`);
  });
});
