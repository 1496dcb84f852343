/** Running sums of users after a board was rebuilt: the next action adds to the score that the board shows. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform, type Platform, silentLogger } from "../../lib/mod.ts";
import { type Fan, ids, openPlatform, seed, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";

type Case = { after(end: () => Promise<void>): void };

/** A board that counts the predictions with an outcome. */
const counting = (outcome: string) => ({
  type: "action",
  action: "prediction",
  when: { eq: [{ var: "data.outcome" }, outcome] },
});
const monthly = { type: "monthly", timeZone: "UTC" };

/** The directory in which the boards count predictions with an outcome. */
function seedWith(outcome: string): typeof seed {
  const source = counting(outcome);
  const boards = {
    leaderboards: [
      { id: "total", source },
      { id: "monthly", source, seasons: monthly },
    ],
    eventLeaderboards: [{ id: "round_1", source }],
  };
  return {
    ...seed,
    projects: seed.projects.map(one =>
      one.id === ids.project ? { ...one, settings: { ...one.settings, ...boards } } : one,
    ),
  };
}

const boards = [
  { eventId: null, leaderboardId: "total" },
  { eventId: null, leaderboardId: "monthly" },
  { eventId: ids.event, leaderboardId: "round_1" },
] as const;

async function scoresOf({ platform, call }: TestPlatform, userId: string): Promise<(number | null)[]> {
  await platform.idle();
  const scores: (number | null)[] = [];
  for (const { eventId, leaderboardId } of boards) {
    const event = eventId === null ? "" : `/events/${eventId}`;
    const path = `/projects/${ids.project}${event}/leaderboards/${leaderboardId}/users/${userId}`;
    const { status, json } = await call(path);
    scores.push(status === 200 ? json.data.score : null);
  }
  return scores;
}

async function openLeague(open: OpenStore, t: Case): Promise<TestPlatform> {
  const league = await openPlatform(open, { seed: seedWith("exact") });
  t.after(() => league.dispose());
  return league;
}

/** Changes what the boards count; every process has read it when the promise resolves. */
async function count({ store, clock }: TestPlatform, outcome: string): Promise<void> {
  await seedDirectory(store, seedWith(outcome), { clock: clock.now });
  clock.advance(1_000);
}

async function rebuild(platform: Platform): Promise<void> {
  for (const board of boards) await platform.rebuildBoard({ projectId: ids.project, ...board });
}

async function predict(fan: Fan, outcome: string, times = 1): Promise<void> {
  for (let n = 0; n < times; n++) {
    const { status } = await fan.act("prediction", { outcome, eventId: ids.event });
    assert.equal(status, 200);
  }
}

async function openProcess({ store, clock }: TestPlatform, t: Case): Promise<Platform> {
  const options = { store, secret: testSecret, clock: clock.now, defaultSpaceId: ids.space } as const;
  const platform = await createPlatform({ ...options, limiter: "off", logger: silentLogger });
  t.after(() => platform.close());
  return platform;
}

describeOnStores("running sums after a rebuild", open => {
  it("go on from the rebuilt score once `when` has changed, also in another process than the rebuild's", async t => {
    const league = await openLeague(open, t);
    const [sam, kim] = [await league.fan("Sam"), await league.fan("Kim")];
    await predict(sam, "exact", 3);
    await predict(sam, "right", 5);
    await predict(kim, "exact", 2);
    assert.deepEqual(await scoresOf(league, sam.userId), [3, 3, 3]);
    await count(league, "right");
    await rebuild(await openProcess(league, t));
    assert.deepEqual(await scoresOf(league, sam.userId), [5, 5, 5]);
    assert.deepEqual(await scoresOf(league, kim.userId), [null, null, null]);
    await predict(sam, "right");
    await predict(kim, "right");
    assert.deepEqual(await scoresOf(league, sam.userId), [6, 6, 6]);
    assert.deepEqual(await scoresOf(league, kim.userId), [1, 1, 1]);
    // A rebuild of right boards changes nothing, and neither does going back without one counted twice.
    await rebuild(league.platform);
    await predict(sam, "right");
    assert.deepEqual(await scoresOf(league, sam.userId), [7, 7, 7]);
  });

  it("count what was earned before the board was declared", async t => {
    const league = await openPlatform(open);
    t.after(() => league.dispose());
    const sam = await league.fan("Sam");
    await predict(sam, "exact", 4);
    assert.deepEqual(await scoresOf(league, sam.userId), [null, null, 22]);
    await count(league, "exact");
    await rebuild(league.platform);
    assert.deepEqual(await scoresOf(league, sam.userId), [4, 4, 4]);
    await predict(sam, "exact");
    assert.deepEqual(await scoresOf(league, sam.userId), [5, 5, 5]);
  });

  it("count actions that named their event by an alias", async t => {
    const league = await openLeague(open, t);
    const sam = await league.fan("Sam");
    const act = () => sam.act("prediction", { outcome: "exact", eventId: "current" });
    await act();
    await act();
    await rebuild(league.platform);
    assert.deepEqual(await scoresOf(league, sam.userId), [2, 2, 2]);
    await act();
    assert.deepEqual(await scoresOf(league, sam.userId), [3, 3, 3]);
  });

  it("are right where users act in two processes while a third rebuilds", async t => {
    const league = await openLeague(open, t);
    const other = await openProcess(league, t);
    const rebuilding = await openProcess(league, t);
    const fans: Fan[] = [];
    for (let n = 0; n < 6; n++) fans.push(await league.fan(`Fan ${n}`));
    await Promise.all(fans.map(fan => predict(fan, "exact", 2)));
    await Promise.all(fans.map(fan => predict(fan, "right", 3)));
    await league.platform.idle();
    await count(league, "right");
    let isOver = false;
    const counts = fans.map(() => 3);
    const load = fans.map(async ({ userId }, n) => {
      const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
      const data = { outcome: "right", eventId: ids.event };
      for (let turn = n; !isOver || turn < 12; turn++) {
        const { loyalty } = turn % 2 === 0 ? league.platform : other;
        await loyalty.report(user, { action: "prediction", data, isClientReport: false });
        counts[n] = (counts[n] ?? 0) + 1;
        await new Promise(resolve => setImmediate(resolve));
      }
    });
    await rebuild(rebuilding);
    isOver = true;
    await Promise.all(load);
    await other.idle();
    await rebuilding.idle();
    const expected = counts.map(value => [value, value, value]);
    const shown: (number | null)[][] = [];
    for (const { userId } of fans) shown.push(await scoresOf(league, userId));
    assert.deepEqual(shown, expected);
  });
});
