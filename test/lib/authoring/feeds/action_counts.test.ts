/** The bound of what waits to be counted. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { systemRandom } from "../../../../lib/auth/crypto/mod.ts";
import { EventAnalytics } from "../../../../lib/authoring/feeds/event_analytics.ts";
import { ActionCounts, Owners, readCounts } from "../../../../lib/authoring/feeds/mod.ts";
import { createDirectory } from "../../../../lib/fans/directory/directory.ts";
import { Places } from "../../../../lib/fans/directory/records.ts";
import { seedDirectory } from "../../../../lib/fans/directory/seed.ts";
import type { Logger } from "../../../../lib/http/mod.ts";
import { systemTimer } from "../../../../lib/storage/background/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids, seed } from "../../../support/platform.ts";

it("actions that name 10,000 others leave no room for more until the next write, and the log says so", async () => {
  const store = createMemoryStore();
  const clock = createTestClock().now;
  await seedDirectory(store, seed, { clock });
  const lost: unknown[] = [];
  const logger: Logger = {
    enabled: () => true,
    log: (_, event, { actions }) => void lost.push([event, actions]),
  };
  const shared = { store, timer: systemTimer, logger };
  const analytics = new EventAnalytics({ ...shared, clock, holder: "a" });
  const counts = new ActionCounts({
    ...shared,
    analytics,
    owners: new Owners({
      ...{ store, clock },
      places: new Places({ store, random: systemRandom }),
      directory: createDirectory({ store, clock }),
    }),
  });
  const count = (eventId: string): void =>
    counts.count({ spaceId: ids.space, userId: "ann", data: { eventId }, gained: {}, isReveal: false });
  count(ids.event);
  for (let n = 1; n < 10_000; n++) count(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`);
  count(ids.event);
  count(ids.otherProject);
  await counts.idle();
  count(ids.event);
  await counts.idle();
  const counted = await readCounts(store, ids.project, [ids.event]);
  assert.equal(counted.get(ids.event)?.get("actions"), 3);
  assert.deepEqual(lost, [["action_counts_lost", 1]]);
});
