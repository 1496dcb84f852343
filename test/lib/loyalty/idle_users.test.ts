/** Sweeps look at users whom something may still happen to, and at nobody else. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../../lib/loyalty/due_users/queue.ts";
import { ids, loyalty } from "../../support/platform.ts";
import { openProcesses } from "../../support/processes.ts";
import { describeOnStores } from "../../support/stores.ts";

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

  it("are found again if the process dies while an operator settles them", async () => {
    await using world = await openProcesses(open, loyalty);
    await (await world.process()).loyalty.processDueUser(member);
    world.clock.advance(registrationMs);
    assert.deepEqual(await (await world.process()).loyalty.sweep(), { processed: 1, failed: 0 });
  });
});
