import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { createDirectory } from "../../../../lib/fans/directory/directory.ts";
import { createRetention } from "../../../../lib/fans/leaderboards/scores/retention.ts";
import { defaultBoard } from "../../../../lib/fans/leaderboards/settings/board_settings.ts";
import { createTestClock } from "../../../support/clock.ts";
import { WatchedStore } from "../../../support/watched_store.ts";

describe("the retention of seasons", () => {
  it("notes a season once, and removes all seasons that no board keeps, however many", async () => {
    const clock = createTestClock();
    const store = new WatchedStore(createMemoryStore({ clock: clock.now }));
    const directory = createDirectory({ store, clock: clock.now });
    const retention = createRetention({ store, directory, clock: clock.now });
    for (let n = 0; n < 250; n++) {
      const season = { id: "s", startsAt: clock.now(), endsAt: clock.now() + 1 };
      const board = {
        declaration: defaultBoard(`b${n}`),
        address: { projectId: "gone", eventId: null, leaderboardId: `b${n}`, season: season.id },
        season,
      };
      await retention.track(board);
      await retention.track(board);
    }
    assert.equal(store.commits.length, 250);
    clock.advance(10 * 366 * 86_400_000);
    assert.equal(await retention.prune(), 250);
    assert.equal(await retention.prune(), 0);
  });
});
