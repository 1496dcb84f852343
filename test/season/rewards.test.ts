/** A season that uses all of the rewards engine on processes that die, compared with plain counting. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import type { Platform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { isLongRun, sampleSize, skipUnlessFull } from "../support/full.ts";
import { sharedData } from "../support/shared_data.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { type Match, readSeason } from "./fixtures.ts";
import { eventId, leagueIds } from "./league.ts";
import { inParallel } from "./play.ts";
import { type FanAction, madeUpMatches, type Round, roundsOf } from "./rewards_actions.ts";
import { rewardsSeed } from "./rewards_league.ts";
import { type ExpectedTransaction, earlyArrivals, endOf, type FanEnd } from "./rewards_model.ts";
import { memberOf, openProcess, playRewards, type RewardsSeason } from "./rewards_play.ts";
import { expectedBoards, type RewardsBoard } from "./rewards_tables.ts";
import { createTimeline, type Timeline } from "./timeline.ts";

const data = sharedData("football/en.1-2024-25.json");
const pool = { organisationId: leagueIds.organisation, spaceId: leagueIds.space, poolId: "jerseys" };
const dayMs = 86_400_000;

interface Ended {
  readonly rounds: readonly Round[];
  readonly ends: readonly FanEnd[];
  readonly played: RewardsSeason;
}

async function playAndCheck(
  store: Store,
  timeline: Timeline,
  options: { readonly matches: readonly Match[]; readonly fans: number; readonly seed: number },
): Promise<Ended> {
  const { matches, fans, seed } = options;
  const matchdays = [...new Set(matches.map(({ matchday }) => matchday))];
  await seedDirectory(store, rewardsSeed(matchdays), { clock: timeline.now });
  const watcher = await openProcess(store, timeline);
  await watcher.loyalty.codePools.add(
    pool,
    Array.from({ length: fans }, (_, n) => `JERSEY-${n}`),
  );
  const random = createRandom(seed);
  const rounds = roundsOf(matches, random, fans);
  const played = await playRewards({ store, timeline, random, rounds, processes: 2 });
  const until = (rounds.at(-1)?.at ?? 0) + 3 * dayMs;
  await played.sweep(until);
  await played.idle();
  return await timeline.at(until, async () => {
    const ends = endsOf(rounds, fans, until);
    await checkFans(watcher, ends);
    await checkCoupons(watcher, ends);
    const boards = expectedBoards(ends, matchdays);
    await inParallel(
      boards.map(board => () => checkBoard(watcher, board)),
      16,
    );
    return { rounds, ends, played };
  });
}

/** The expected final state of every fan. */
function endsOf(rounds: readonly Round[], fans: number, until: number): readonly FanEnd[] {
  const early = earlyArrivals(rounds.flatMap(({ arrivals }) => arrivals));
  const actions = Array.from({ length: fans }, (): FanAction[] => []);
  for (const { arrivals, byFan } of rounds) {
    for (const fanAction of [...arrivals, ...byFan.flat()]) actions[fanAction.fan]?.push(fanAction);
  }
  return actions.map(ofFan => endOf(ofFan, early, until));
}

async function checkFans({ loyalty }: Platform, ends: readonly FanEnd[]): Promise<void> {
  const checks = ends.map(({ profile, history }, fan) => async () => {
    const member = memberOf(fan);
    const found = (await loyalty.history(member, {})).map(({ type, timestamp, payload }) => {
      const { metricChanges, inventoryChanges, milestoneChanges, userCouponId: _, ...about } = payload;
      return { type, timestamp, about, metricChanges, received: inventoryChanges.received, milestoneChanges };
    });
    const expected = history.map(({ at, ...rest }: ExpectedTransaction) => ({
      ...rest,
      timestamp: Math.floor(at / 1_000),
    }));
    for (const [n, one] of expected.entries())
      assert.deepEqual(found[n], one, `fan ${fan}, transaction ${n}`);
    assert.equal(found.length, expected.length, `fan ${fan}`);
    assert.deepEqual(await loyalty.profile(member), profile, `fan ${fan}`);
    const { ok, faults } = await loyalty.reconcile(member);
    assert.deepEqual([ok, faults], [true, []], `fan ${fan}`);
    const { differences, isComplete } = await loyalty.replay(member);
    assert.deepEqual([differences, isComplete], [[], true], `fan ${fan}`);
  });
  await inParallel(checks, 16);
}

/** Every coupon has a code of its own. */
async function checkCoupons({ loyalty }: Platform, ends: readonly FanEnd[]): Promise<void> {
  const codes = new Set<string>();
  for (const [fan, { coupons }] of ends.entries()) {
    const shown = loyalty.coupon(memberOf(fan), "jersey");
    if (coupons === 0) await assert.rejects(shown, { code: "not_found" });
    else codes.add((await shown).coupon_code);
  }
  const given = ends.filter(({ coupons }) => coupons > 0).length;
  assert.equal(codes.has(""), false);
  assert.equal(codes.size, given);
  const { total, allocated } = await loyalty.codePools.stats(pool);
  assert.deepEqual([total, allocated], [ends.length, given]);
}

async function checkBoard({ fetch }: Platform, { path, query, rows }: RewardsBoard): Promise<void> {
  const response = await fetch(new Request(`http://league.example${path}?limit=100${query}`));
  const { data: found, totalCount } = (await response.json()) as {
    readonly data: readonly { readonly rank: number; readonly score: number; readonly userId: string }[];
    readonly totalCount: number;
  };
  const shown = found.map(({ rank, score, userId }) => ({ rank, score, userId }));
  assert.deepEqual(shown, rows.slice(0, 100), `${path}${query}`);
  assert.equal(totalCount, rows.length, path);
}

/** Checks that the season used every part of the engine. */
function assertIsRich({ ends, played }: Ended): void {
  const transactions = ends.flatMap(({ history }) => history);
  for (const type of [
    "challengeCompleted",
    "challengeFailed",
    "pointsExpired",
    "milestoneReached",
    "couponReceived",
  ]) {
    const count = transactions.filter(one => one.type === type).length;
    assert.ok(count >= ends.length / 3, `${count} of ${type}`);
  }
  assert.ok(played.deaths >= 5, `${played.deaths} processes died`);
  assert.ok(
    played.sent.unanswered > 0 && played.sent.again > played.sent.first / 8,
    JSON.stringify(played.sent),
  );
}

function playMadeUp(open: OpenStore, fans: number): void {
  it("that was made up around leap day and both changes of the clocks ends as plain counting says", async () => {
    const timeline = createTimeline(Date.parse("2028-02-01T12:00:00Z"));
    await using store = await open(timeline.now);
    assertIsRich(await playAndCheck(store, timeline, { matches: madeUpMatches(), fans, seed: 29 }));
  });
}

describe("a season of rewards in memory", () =>
  playMadeUp(async clock => createMemoryStore({ clock }), sampleSize(24, 12)));

describeOnStores("a whole season of rewards", open => {
  const fans = sampleSize(9, 5);
  if (isLongRun) playMadeUp(open, fans);
  const skip = data.skip || skipUnlessFull("the season of the real league");
  it("of the real league ends as plain counting says", { skip }, async () => {
    const timeline = createTimeline(Date.parse("2024-08-01T12:00:00Z"));
    await using store = await open(timeline.now);
    assertIsRich(
      await playAndCheck(store, timeline, { matches: readSeason(data.path ?? ""), fans, seed: 2_024 }),
    );
  });
});

describe("the rounds of a season", () => {
  it("are on both sides of leap day, of the changes of the clocks and of the turn of the year", () => {
    const at = roundsOf(madeUpMatches(), createRandom(1), 0).map(round => round.at);
    for (const turn of ["2028-02-29T12:00Z", "2028-03-26T01:00Z", "2028-10-29T01:00Z", "2029-01-01T00:00Z"]) {
      const moment = Date.parse(turn);
      const near = at.filter(one => Math.abs(one - moment) < 5 * dayMs);
      assert.ok(near.some(one => one < moment) && near.some(one => one > moment), turn);
    }
    assert.equal(eventId(1).length, 36);
  });
});
