/** Distinct scores are put right some at a time, however many are wrong. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boardKey, distinctKey } from "../../../lib/leaderboards/scores/board_location.ts";
import { repairDistinct, repairedScoresMax } from "../../../lib/leaderboards/scores/distinct_repair.ts";
import { ProbeStore } from "../../support/probe_store.ts";

const partition = "p:p:board::b";

describe("the distinct scores of a board", () => {
  it(`are put right ${repairedScoresMax} with one commit`, async () => {
    const commitsFor = async (scores: number): Promise<number> => {
      const store = new ProbeStore();
      await store.commit(partition, {
        writes: Array.from({ length: scores }, (_, n) => ({
          type: "score",
          op: "set",
          key: boardKey,
          member: `u${n}`,
          score: n,
        })),
      });
      await repairDistinct(store, partition);
      const distinct = { type: "board", key: distinctKey, limit: 1 } as const;
      assert.equal((await store.read(partition, [distinct]))[0].size, scores);
      return store.commits.length - 1;
    };
    assert.equal(await commitsFor(repairedScoresMax), 1);
    assert.equal(await commitsFor(repairedScoresMax + 1), 2);
  });
});
