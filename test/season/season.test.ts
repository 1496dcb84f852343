import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { databases } from "../support/databases.ts";
import { isFullRun, isLongRun, skipUnlessFull } from "../support/full.ts";
import { testSecret } from "../support/platform.ts";
import { sharedData } from "../support/shared_data.ts";
import { checkBoard, checkEntries, checkFans, type Expected, expectedTables } from "./check.ts";
import { type Match, readSeason } from "./fixtures.ts";
import { backEndKey, leagueIds, leagueSeed } from "./league.ts";
import { playSeason, type Season } from "./play.ts";
import { createTimeline, type Timeline } from "./timeline.ts";

const data = sharedData("football/en.1-2024-25.json");
/** More than a list shows, so that tables are read in parts. */
const fanCount = 105;
/** Fewer on a database, which takes no more to show. */
const databaseFanCount = 60;
const seed = 20_242_025;
/** Within how many ms of a slot's begin fans report: fewer than there are fans, so that some share a millisecond. */
const spreadMs = 20;
/** Concurrent calls: some of each of many fans. */
const width = 128;

function season(): readonly Match[] {
  return data.path === null ? [] : readSeason(data.path);
}

describe("the league's season", { skip: data.skip }, () => {
  it("is 38 matchdays of ten matches, some of which were postponed beyond the next matchday", () => {
    const matchdays = season().map(({ matchday }) => matchday);
    const sizes = new Map<number, number>();
    for (const matchday of matchdays) sizes.set(matchday, (sizes.get(matchday) ?? 0) + 1);
    assert.deepEqual(
      [...sizes.keys()].sort((a, b) => a - b),
      Array.from({ length: 38 }, (_, n) => n + 1),
    );
    assert.deepEqual(new Set(sizes.values()), new Set([10]));
    assert.ok(matchdays.some((matchday, index) => matchday < (matchdays[index - 1] ?? 0)));
  });
});

// In a full run two platforms play it; in a long one both ways.
if (data.path !== null && (isLongRun || !isFullRun)) {
  describe("a season of predictions (memory)", () => {
    it("ends with the tables, profiles and histories that plain counting gives", async () => {
      const timeline = createTimeline(Date.parse("2024-08-01T12:00:00Z"));
      await playAndCheck(timeline, [createMemoryStore({ clock: timeline.now })], fanCount);
    });
  });
}

for (const { name, skip, handles } of databases) {
  describe(`a season of predictions (two platforms on one ${name})`, {
    skip: data.skip || skipUnlessFull("on two platforms") || skip,
  }, () => {
    it("ends with the tables, profiles and histories that plain counting gives", async () => {
      const timeline = createTimeline(Date.parse("2024-08-01T12:00:00Z"));
      const [one, other] = (await handles(2, timeline.now)) as [Store, Store];
      await playAndCheck(timeline, [one, other], databaseFanCount);
      for (const store of [one, other]) await store[Symbol.asyncDispose]();
    });
  });
}

async function playAndCheck(
  timeline: Timeline,
  stores: readonly [Store, ...Store[]],
  fans: number,
): Promise<void> {
  const matches = season();
  await seedDirectory(stores[0], leagueSeed(matches));
  const [first, ...others] = stores;
  const platforms = [await openPlatform(first, timeline)] as [Platform, ...Platform[]];
  for (const store of others) platforms.push(await openPlatform(store, timeline));
  const handlers = platforms.map(({ fetch }) => fetch) as [Platform["fetch"], ...Platform["fetch"][]];
  const random = createRandom(seed);
  const backEnd = await platforms[0].apiKeys.create(backEndKey);
  const played = await playSeason({
    handlers,
    timeline,
    backEnd,
    matches,
    random,
    fans,
    spreadMs,
    width,
  });
  for (const platform of platforms) await platform.idle();
  assertIsRich(played, expectedTables(played.tables, played.fans));
  await checkSeason(handlers, played);
  for (const platform of platforms) await platform.close();
}

function openPlatform(store: Store, timeline: Timeline): Promise<Platform> {
  const { space: defaultSpaceId } = leagueIds;
  return createPlatform({ limiter: "off", store, secret: testSecret, clock: timeline.now, defaultSpaceId });
}

/** Platforms that share the load take turns in answering. */
async function checkSeason(
  handlers: readonly [Platform["fetch"], ...Platform["fetch"][]],
  played: Season,
): Promise<void> {
  for (const [index, table] of expectedTables(played.tables, played.fans).entries()) {
    const handler = handlers[index % handlers.length] ?? handlers[0];
    await checkBoard(handler, table, played.fans);
    await checkEntries(handler, table, played.fans);
  }
  for (const handler of handlers) await checkFans(handler, played);
}

/** A season that lacked repeats, ties or absent fans would prove less than it says. */
function assertIsRich({ fans, tables, sent }: Season, expected: readonly Expected[]): void {
  assert.equal(expected.length, 39);
  assert.ok(
    tables.reports > fans.length * 330 && sent > tables.reports * 1.1,
    `${tables.reports} reports, ${sent} sent`,
  );
  const rows = expected.flatMap(table =>
    table.rows.map((row, index) => [row, table.rows[index - 1]] as const),
  );
  const ties = rows.filter(([row, before]) => row.rank === before?.rank);
  assert.ok(ties.length > 5 * fans.length, `${ties.length} rows share a rank with the one above`);
  const sameMoment = [...tables.rounds.values()].flatMap(earned => {
    const moments = [...earned.values()].map(({ score, at }) => `${score} at ${at}`);
    return moments.filter((moment, index) => moments.indexOf(moment) < index);
  });
  assert.ok(sameMoment.length > 50, `${sameMoment.length} ties are for the user id to order`);
  const isMost = ({ rows: { length } }: Expected): boolean =>
    length > fans.length * 0.8 && length < fans.length;
  assert.ok(expected.every(isMost));
}
