/** Points that lapse count for boards when they lapse, and not for what the user does when that is noticed. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../../../lib/fans/loyalty/due_users.ts";
import { ids, loyalty, openPlatform, seed, type TestPlatform } from "../../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../../support/stores.ts";

/** The default of `graceMs`. */
const graceMsDefault = 2 * 3_600_000;

const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "11111111-1111-4111-8111-111111111111",
};
const other = { ...member, userId: "22222222-2222-4222-8222-222222222222" };
const source = { type: "metric", metricId: "coins" };
const boards = [
  { id: "total", source },
  { id: "monthly", source, seasons: { type: "monthly" } },
];
const document = {
  ...loyalty,
  metrics: [...loyalty.metrics, { id: "coins", title: "", lots: { expires: { after: { hours: 144 } } } }],
  rules: [
    {
      id: "coins",
      trigger: { action: "prediction" },
      effects: [{ type: "metric", metricId: "coins", metricQuantity: { var: "data.coins" } }],
    },
    {
      id: "consolation",
      trigger: { metric: "coins" },
      when: { lt: [{ var: "user.metrics.coins" }, 1] },
      effects: [{ type: "metric", metricId: "energy", metricQuantity: 1 }],
    },
  ],
};

const project = (() => {
  const [first, ...others] = seed.projects ?? [];
  const settings = {
    ...first?.settings,
    leaderboards: boards,
    eventLeaderboards: [{ id: "round_1", source }],
  };
  return first === undefined ? others : [{ ...first, settings }, ...others];
})();

function openLeague(open: OpenStore): Promise<TestPlatform> {
  return openPlatform(open, {
    seed: { ...seed, projects: project, loyalty: { [ids.space]: document } },
    startAt: Date.parse("2027-01-25T20:00:00Z"),
  });
}

function advanceTo(league: TestPlatform, time: string): void {
  league.clock.advance(Date.parse(time) - league.clock.now());
}

function report(
  { platform }: TestPlatform,
  { coins, of = member }: { coins: number; of?: typeof member },
): Promise<unknown> {
  const data = { coins, eventId: ids.event };
  return platform.loyalty.report(of, { action: "prediction", data, isClientReport: false });
}

async function scores({ platform, call }: TestPlatform): Promise<unknown> {
  await platform.idle();
  const paths = ["total", "monthly?season=2027-01", "monthly?season=2027-02"].map(
    path => `/projects/${ids.project}/leaderboards/${path}`,
  );
  paths.push(`/projects/${ids.project}/events/${ids.event}/leaderboards/round_1`);
  const shown: unknown[] = [];
  for (const path of paths) {
    const { data } = (await call(path)).json;
    shown.push(data.map(({ score, userId }: Record<string, unknown>) => [score, String(userId).slice(0, 1)]));
  }
  return shown;
}

/** The coins of both lapse in January; it is noticed in February, when one of them earns more. */
async function play(league: TestPlatform, { isSwept }: { readonly isSwept: boolean }): Promise<unknown> {
  await report(league, { coins: 5 });
  league.clock.advance(60_000);
  await report(league, { coins: 5, of: other });
  advanceTo(league, "2027-01-31T21:00:00Z");
  if (isSwept) await league.platform.work();
  advanceTo(league, "2027-02-01T00:30:00Z");
  await report(league, { coins: 2 });
  await league.platform.loyalty.processDueUser(other);
  return await scores(league);
}

const expected = [
  [
    [2, "1"],
    [0, "2"],
  ],
  // The coins lapsed in the order in which they were earned.
  [
    [0, "1"],
    [0, "2"],
  ],
  [[2, "1"]],
  [
    [7, "1"],
    [5, "2"],
  ],
];

describeOnStores("expired points", open => {
  for (const isSwept of [false, true]) {
    it(`count in the season of their expiry, and for no event, ${isSwept ? "swept in time" : "noticed later"}`, async t => {
      const league = await openLeague(open);
      t.after(() => league.dispose());
      assert.deepEqual(await play(league, { isSwept }), expected);
      async function* users(): AsyncIterable<string> {
        yield* [member.userId, other.userId];
      }
      const of = { projectId: ids.project, eventId: null };
      await league.platform.rebuildBoard({ ...of, leaderboardId: "total" }, users());
      await league.platform.rebuildBoard({ ...of, leaderboardId: "monthly", season: "2027-01" }, users());
      await league.platform.rebuildBoard({ ...of, leaderboardId: "monthly", season: "2027-02" }, users());
      const round = { projectId: ids.project, eventId: ids.event, leaderboardId: "round_1" };
      await league.platform.rebuildBoard(round, users());
      assert.deepEqual(await scores(league), expected, "rebuilt");
    });
  }

  it("are left out of a season that closed before the expiry was applied: its board is final", async t => {
    const league = await openLeague(open);
    t.after(() => league.dispose());
    await report(league, { coins: 5 });
    advanceTo(league, "2027-02-01T00:00:00Z");
    league.clock.advance(graceMsDefault);
    await league.platform.loyalty.processDueUser(member);
    const [total, january, february] = (await scores(league)) as readonly unknown[];
    assert.deepEqual([total, january, february], [[[0, "1"]], [[5, "1"]], []]);
    assert.equal((await league.platform.loyalty.reconcile(member)).ok, true);
  });

  it("are applied by a working server before a season closes, even if they expire at its end", async t => {
    const league = await openLeague(open);
    t.after(() => league.dispose());
    advanceTo(league, "2027-01-25T23:59:59.999Z");
    await report(league, { coins: 5 });
    // Nobody looks at the user while a registration lasts, and a server comes round within a minute after that.
    assert.ok(graceMsDefault > registrationMs + 60_000);
    advanceTo(league, "2027-01-31T23:59:59.998Z");
    await league.platform.work();
    league.clock.advance(1 + registrationMs);
    await league.platform.work();
    const [total, january] = (await scores(league)) as readonly unknown[];
    assert.deepEqual([total, january], [[[0, "1"]], [[0, "1"]]]);
  });

  it("of several instants have a record each, with the effects of rules", async t => {
    const league = await openLeague(open);
    t.after(() => league.dispose());
    const { platform, clock } = league;
    for (let n = 0; n < 3; n++) {
      await report(league, { coins: 1 });
      clock.advance(60_000);
    }
    advanceTo(league, "2027-02-01T00:30:00Z");
    await report(league, { coins: 2 });
    const history = await platform.loyalty.history(member, {});
    const lapsed = history.filter(({ type }) => type === "pointsExpired").map(({ timestamp }) => timestamp);
    const first = Date.parse("2027-01-31T20:00:00Z") / 1_000;
    assert.deepEqual(lapsed, [first, first + 60, first + 120]);
    const { metrics } = await platform.loyalty.profile(member);
    assert.deepEqual([metrics.coins, metrics.energy], [2, 6]);
    const { ok } = await platform.loyalty.reconcile(member);
    assert.deepEqual([ok, (await platform.loyalty.replay(member)).differences], [true, []]);
  });
});
