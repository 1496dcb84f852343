/** Votes of a fan as the page for fans keeps them. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GrandstandError } from "../../../../lib/client/mod.ts";
import { Votes } from "../../../../lib/pages/show/page/votes.ts";

describe("the votes of a fan", () => {
  it("are read again after a failure that passes, for the same fan alone", async t => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    Object.assign(globalThis, { window: { addEventListener: () => {} } });
    t.after(() => Reflect.deleteProperty(globalThis, "window"));
    const elementId = crypto.randomUUID();
    let failures = 2;
    let reads = 0;
    const listOwnVotes = async () => {
      reads++;
      if (failures-- > 0) throw new GrandstandError("network", "There is no network");
      return [{ elementId, votes: 1, options: [{ option: 2, votes: 1 }] }];
    };
    const votes = new Votes({
      projectId: crypto.randomUUID(),
      eventId: crypto.randomUUID(),
      action: "vote",
      isPreview: false,
      loyalty: { listOwnVotes } as never,
      join: () => Promise.reject(new Error("Nobody joins")),
      acted: async () => {},
    });
    const pass = async (): Promise<void> => {
      t.mock.timers.tick(15_000);
      for (let turn = 0; turn < 9; turn++) await null;
    };
    votes.belongTo("ann");
    await assert.rejects(votes.read(), { code: "network" });
    await pass();
    assert.equal(votes.of(elementId).value, null);
    await pass();
    assert.deepEqual(votes.of(elementId).value?.options, [2]);
    await pass();
    assert.equal(reads, 3, "no more than needed");

    failures = 1;
    await assert.rejects(votes.read(), { code: "network" });
    votes.belongTo("ben");
    await pass();
    assert.equal(reads, 4, "another fan reads for themselves");
  });
});
