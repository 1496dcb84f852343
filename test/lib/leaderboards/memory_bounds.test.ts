/** What a process remembers of boards is bounded: beyond it something is forgotten, and asked for or written once more. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import type { Directory } from "../../../lib/directory/mod.ts";
import { fedPlacesMax, hiddenUsersProjectsMax, notedSeasonsMax } from "../../../lib/leaderboards/mod.ts";
import { createHiddenUsers } from "../../../lib/leaderboards/ranking/hidden_users.ts";
import { createTargetResolver } from "../../../lib/leaderboards/scores/feed_targets.ts";
import {
  createRetention,
  pruneBatchMax,
  type SeasonBoard,
} from "../../../lib/leaderboards/scores/retention.ts";
import { notedBoardsMax, UsedBoards } from "../../../lib/leaderboards/scores/used_boards.ts";
import { declarationDefaults } from "../../../lib/leaderboards/settings/board_settings.ts";
import { createTestClock } from "../../support/clock.ts";
import { WatchedStore } from "../../support/watched_store.ts";

const clock = createTestClock();
const opened = (): WatchedStore => new WatchedStore(createMemoryStore({ clock: clock.now }));

const project = {
  id: "p",
  spaceId: "s",
  organisationId: "o",
  name: "App",
  settings: { eventLeaderboards: [{ id: "round_1", source: { type: "metric", metricId: "points" } }] },
};
const event = { projectId: "p", name: "Match", state: "current", startAt: 0, settings: {} } as const;
/** A directory in which every event is there, and in which nothing is declared of any other project. */
const directory = {
  project: (id: string) => (id === project.id ? project : null),
  event: (_: string, id: string) => ({ ...event, id }),
} as unknown as Directory;

describe("what a process remembers", () => {
  it(`of hidden users is of ${hiddenUsersProjectsMax} projects`, async () => {
    const store = opened();
    const hidden = createHiddenUsers({ store, clock: clock.now });
    for (let n = 0; n < hiddenUsersProjectsMax; n++) await hidden.of(`p${n}`);
    assert.ok(!(hidden.of("p0") instanceof Promise));
    await hidden.of("one more");
    assert.ok(hidden.of("p0") instanceof Promise);
    assert.equal(store.reads.length, hiddenUsersProjectsMax + 2);
  });

  it(`of boards that are noted is ${notedBoardsMax} of them`, async () => {
    const store = opened();
    const boards = new UsedBoards(store);
    const note = (n: number): Promise<void> =>
      boards.note({ projectId: "p", eventId: null, leaderboardId: `b${n}` }, declarationDefaults);
    for (let n = 0; n < notedBoardsMax; n++) await note(n);
    await note(0);
    assert.equal(store.commits.length, notedBoardsMax);
    await note(notedBoardsMax);
    await note(0);
    assert.equal(store.commits.length, notedBoardsMax + 2);
  });

  it(`of seasons that are noted is ${notedSeasonsMax} of them`, async () => {
    const store = opened();
    const retention = createRetention({ store, directory, clock: clock.now });
    const note = (n: number): Promise<void> => retention.note(seasonBoard(n));
    for (let n = 0; n < notedSeasonsMax; n++) await note(n);
    await note(0);
    assert.equal(store.commits.length, notedSeasonsMax);
    await note(notedSeasonsMax);
    await note(0);
    assert.equal(store.commits.length, notedSeasonsMax + 2);
  });

  it(`of locations that are fed is ${fedPlacesMax} of a board`, async () => {
    let notes = 0;
    const retention = {
      note: async () => {
        notes += 1;
      },
    };
    const find = createTargetResolver({ directory, clock: clock.now, retention });
    for (let n = 0; n < fedPlacesMax; n++) await find(`desc/p/e${n}/round_1/`);
    await find("desc/p/e0/round_1/");
    assert.equal(notes, fedPlacesMax);
    await find(`desc/p/e${fedPlacesMax}/round_1/`);
    await find("desc/p/e0/round_1/");
    assert.equal(notes, fedPlacesMax + 2);
  });
});

describe("seasons that nothing keeps any more", () => {
  it(`are all removed, however many more than ${pruneBatchMax} there are`, async () => {
    const store = opened();
    const retention = createRetention({ store, directory, clock: clock.now });
    for (let n = 0; n <= pruneBatchMax; n++) await retention.note(seasonBoard(n));
    clock.advance(10 * 366 * 86_400_000);
    assert.equal(await retention.prune(), pruneBatchMax + 1);
    assert.equal(await retention.prune(), 0);
  });
});

/** A season of a board of a project that is gone. */
function seasonBoard(n: number): SeasonBoard {
  const season = { id: "s", title: "", startsAt: clock.now(), endsAt: clock.now() + 1 };
  return {
    declaration: { ...declarationDefaults, id: `b${n}` },
    address: { projectId: "gone", eventId: null, leaderboardId: `b${n}`, season: season.id },
    season,
  };
}
