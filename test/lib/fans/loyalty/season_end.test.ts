/** An action in the last moment of a season counts there, even if the process dies before its score is delivered. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../../../lib/fans/loyalty/due_users.ts";
import { createPlatform } from "../../../../lib/mod.ts";
import { createDyingStore } from "../../../support/dying_store.ts";
import { ids, openPlatform, seed, testSecret } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";

const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "11111111-1111-4111-8111-111111111111",
};
const daily = {
  id: "daily",
  source: { type: "metric", metricId: "points" },
  seasons: { type: "daily", timeZone: "Europe/London" },
};
const projects = seed.projects?.map(project =>
  project.id === ids.project ? { ...project, settings: { leaderboards: [daily] } } : project,
);
/** Longest interval between two sweeps of a server, in ms. */
const sweepsEveryMs = 10_000;
const prediction = {
  action: "prediction",
  data: { outcome: "exact" },
  actionId: "last",
  isClientReport: false,
};

describeOnStores("a process that dies as a season ends", open => {
  it("loses no score of the season's board", async () => {
    // The day on which clocks go forward, an hour early.
    const startAt = Date.parse("2027-03-28T23:00:00Z") - 1;
    const league = await openPlatform(open, { seed: { ...seed, ...(projects && { projects }) }, startAt });
    const { store, clock, platform } = league;
    const path = `/projects/${ids.project}/leaderboards/daily?season=2027-03-28`;
    for (let at = 0, isOver = false; !isOver; at++) {
      const dying = createDyingStore(store);
      const doomed = await createPlatform({
        store: dying,
        secret: testSecret,
        clock: clock.now,
        defaultSpaceId: ids.space,
      });
      dying.dieAt({ at, when: "before" });
      isOver = await doomed.loyalty.report(member, prediction).then(
        () => true,
        () => false,
      );
      await doomed.idle();
    }
    assert.deepEqual((await league.call(path)).json.data, []);
    clock.advance(registrationMs + sweepsEveryMs);
    await platform.work();
    await platform.idle();
    const { data } = (await league.call(path)).json;
    assert.deepEqual(
      data.map(({ rank, score }: Record<string, unknown>) => [rank, score]),
      [[1, 3]],
    );
    await league.dispose();
  });
});
