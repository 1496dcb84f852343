/** Marks of reversed transactions. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { spaceUserPartition } from "../../../../../lib/fans/loyalty/user/state.ts";
import { ids, openPlatform } from "../../../../support/platform.ts";
import { describeOnStores } from "../../../../support/stores.ts";

const generationMs = 28 * 86_400_000;
const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "11111111-1111-4111-8111-111111111111",
};
const grant = { rewards: [{ type: "metric", metricId: "points", metricQuantity: 1 }], reason: "" } as const;

describeOnStores("a reversed transaction", open => {
  it("stays marked as long as it is in the history, and leaves nothing behind after that", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const { loyalty } = world.platform;
    const partition = spaceUserPartition(member);
    const given: string[] = [];
    for (let generation = 0; generation < 3; generation++) {
      given.push((await loyalty.grant(member, grant))?.id ?? "");
      world.clock.advance(generationMs);
    }
    const [first = "", second = "", third = ""] = given;
    for (const id of [first, second]) await loyalty.reverse(member, id);
    for (const id of [first, second]) await assert.rejects(loyalty.reverse(member, id), { code: "conflict" });
    const { items } = await loyalty.reader.ledger(member, { limit: 10 });
    const reversed = items.filter(({ isReversed }) => isReversed).map(({ transaction }) => transaction.id);
    assert.deepEqual(reversed, [second, first]);

    const generations = given.map(id => Math.floor(Number(id.split("-")[0]) / generationMs));
    const marks = async (): Promise<number[]> => {
      const tallies = await world.store.read(
        partition,
        generations.map(generation => ({ type: "tally", key: `reversed:${generation}` }) as const),
      );
      return tallies.map(({ size }) => size);
    };
    assert.deepEqual(await marks(), [1, 1, 0]);
    // The history has 5 records; without the first its oldest one is of the second generation.
    const record = { kind: "action", at: world.clock.now(), config: "1" };
    const append = {
      type: "append",
      key: "history",
      value: JSON.stringify(record),
      at: world.clock.now(),
    } as const;
    await world.store.commit(partition, { writes: [{ ...append, maxLength: 5 }] });
    await loyalty.reverse(member, third);
    assert.deepEqual(await marks(), [0, 1, 1]);
    await assert.rejects(loyalty.reverse(member, first), { code: "not_found" });
    await assert.rejects(loyalty.reverse(member, second), { code: "conflict" });
  });

  it("is reversed once by concurrent requests", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const { loyalty } = world.platform;
    const given = await loyalty.grant(member, grant);
    const asked = Array.from({ length: 8 }, () => loyalty.reverse(member, given?.id ?? ""));
    const results = await Promise.allSettled(asked);
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((await loyalty.profile(member)).metrics.points, 0);
  });
});
