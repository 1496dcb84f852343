/** Sweeps look at users whom something may still happen to, and at nobody else. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../../../lib/fans/loyalty/due_users.ts";
import { spaceUserPartition } from "../../../../lib/fans/loyalty/user/state.ts";
import { parseRecord } from "../../../../lib/fans/loyalty/user/stored_state.ts";
import { ids, loyalty } from "../../../support/platform.ts";
import { openProcesses } from "../../../support/processes.ts";
import { recipeOf } from "../../../support/recipes.ts";
import { describeOnStores } from "../../../support/stores.ts";

const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "11111111-1111-4111-8111-111111111111",
};
const action = { action: "prediction", data: { outcome: "exact" }, isClientReport: false };

describeOnStores("idle users", open => {
  it("are processed once after their last action, and not every hour", async () => {
    await using world = await openProcesses(open, loyalty);
    const platform = await world.process();
    await platform.loyalty.report(member, action);
    await platform.idle();
    const processed: number[] = [];
    for (let hour = 0; hour < 4; hour++) {
      world.clock.advance(registrationMs);
      processed.push((await platform.loyalty.sweep()).processed);
    }
    assert.deepEqual(processed, [1, 0, 0, 0]);
  });

  it("are reminded before their points expire, and lose them, though nobody looks", async () => {
    await using world = await openProcesses(
      open,
      recipeOf("Points that expire without activity, and a reminder"),
    );
    const platform = await world.process();
    const dayMs = 24 * 3_600_000;
    await platform.loyalty.report(member, { action: "checkin", data: {}, isClientReport: false });
    await platform.idle();
    const processed: number[] = [];
    const partition = spaceUserPartition(member);
    const stored = async (key: string): Promise<string[]> => {
      const [entries] = await world.store.read(partition, [{ type: "log", key, limit: 10 }]);
      return entries.map(({ value }) => value);
    };
    for (const days of [1, 300, 40, 40, 40]) {
      world.clock.advance(days * dayMs);
      processed.push((await platform.loyalty.sweep()).processed);
    }
    assert.deepEqual(processed, [1, 0, 1, 1, 0]);
    const types = (await stored("history")).flatMap(text =>
      parseRecord(text).transactions.map(({ type }) => type),
    );
    assert.deepEqual(types, ["actionRewarded", "pointsExpiring", "pointsExpired"]);
    assert.deepEqual(
      (await stored("notifications")).map(text => JSON.parse(text).title),
      ["Your points expire"],
    );
    assert.equal((await platform.loyalty.reconcile(member)).ok, true);
    assert.deepEqual((await platform.loyalty.replay(member)).differences, []);
  });

  it("are found again if the process dies while an operator settles them", async () => {
    await using world = await openProcesses(open, loyalty);
    await (await world.process()).loyalty.processDueUser(member);
    world.clock.advance(registrationMs);
    assert.deepEqual(await (await world.process()).loyalty.sweep(), { processed: 1, failed: 0 });
  });
});
