/** Taking a transaction back takes back what its action has counted. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { type Fan, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const challengeId = "0e000000-0000-4000-8000-000000000009";
const missionIds = [1, 2].map(n => `0f000000-0000-4000-8000-00000000009${n}`);
const points = (metricQuantity: unknown): object[] => [
  { type: "metric", metricId: "points", metricQuantity },
];
const guess = { action: "guess" };
const matchId = { var: "data.matchId" };

const document = {
  ...loyalty,
  actions: [{ name: "guess", clientReportable: true, data: { matchId: "string" } }],
  rules: [
    {
      id: "once-a-match",
      trigger: guess,
      effects: points(3),
      limits: [{ per: "user", by: matchId, max: 1 }],
    },
    { id: "once", trigger: guess, effects: points(100), limits: [{ per: "user", max: 1 }] },
    { id: "number", trigger: guess, effects: points({ mul: [{ count: guess }, 10_000] }) },
    {
      id: "matches",
      trigger: guess,
      effects: points({ mul: [{ distinct: { ...guess, of: matchId } }, 1_000_000] }),
    },
  ],
  challenges: [
    {
      id: challengeId,
      title: "",
      missions: [
        { id: missionIds[0], title: "", rule: { ...guess, count: 2 } },
        { id: missionIds[1], title: "", rule: { ...guess, count: 3, distinct: matchId } },
      ],
    },
  ],
};

async function reverseOf(world: TestPlatform, fan: Fan, index: number): Promise<void> {
  const { key, secret } = await world.platform.apiKeys.create({
    organisationId: ids.organisation,
    name: "Desk",
    permissions: ["rewards:write"],
  });
  const { json } = await world.call("/api/loyalty/history", { token: fan.token });
  const path = `/internal/loyalty/users/${fan.userId}/reversals`;
  const body = { transactionId: json.data[index].id };
  const headers = { "x-api-key": key, "x-api-secret": secret };
  const { status, text } = await world.call(path, { body, headers });
  assert.equal(status, 200, text);
}

describeOnStores("a transaction of an action", open => {
  let world: TestPlatform;
  let fan: Fan;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
    fan = await world.fan("Sam");
  });
  afterEach(() => world.dispose());

  const reverse = (index: number): Promise<void> => reverseOf(world, fan, index);
  const earnedBy = async (match: string): Promise<number> => {
    const before = (await fan.profile()).metrics.points ?? 0;
    assert.equal((await fan.act("guess", { matchId: match })).status, 200);
    return Number((await fan.profile()).metrics.points) - Number(before);
  };
  async function missions(): Promise<readonly (readonly [string, number])[]> {
    const headers = { "x-platform-org-id": ids.organisation };
    const { json } = await world.call("/v1/api/audience/challenges", { token: fan.token, headers });
    const [{ missions: shown }] = json.data;
    return shown.map(({ status, progress }: { status: string; progress: { current: number } }) => [
      status,
      progress.current,
    ]);
  }

  it("takes counts, the use of its rule's limits and the progress of missions back, once", async () => {
    assert.equal(await earnedBy("a"), 1_010_103);
    assert.equal(await earnedBy("b"), 2_020_003);
    assert.deepEqual(await missions(), [
      ["completed", 2],
      ["in_progress", 2],
    ]);
    // The first two transactions are those of the rules "matches" and "number" or "once", in the order of ids.
    await reverse(0);
    assert.deepEqual(await missions(), [
      ["in_progress", 1],
      ["in_progress", 1],
    ]);
    await reverse(1);
    await reverse(2);
    await reverse(3);
    assert.deepEqual(await missions(), [
      ["in_progress", 1],
      ["in_progress", 1],
    ]);
    // Again the first guess of this match and the second of two, with both limits free.
    assert.equal(await earnedBy("a"), 2_020_103);
    assert.equal(await earnedBy("a"), 2_030_000);
    const replayed = await world.platform.loyalty.replay({
      organisationId: ids.organisation,
      spaceId: ids.space,
      projectId: ids.project,
      userId: fan.userId,
    });
    assert.deepEqual(replayed.differences, []);
  });

  it("keeps the uses of other rules' limits", async () => {
    await earnedBy("a");
    const { json } = await world.call("/api/loyalty/history", { token: fan.token });
    const given = json.data.map(
      ({ payload }: { payload: { metricChanges: { points?: { newValue: number; oldValue: number } } } }) =>
        (payload.metricChanges.points?.newValue ?? 0) - (payload.metricChanges.points?.oldValue ?? 0),
    );
    await reverse(given.indexOf(100));
    assert.equal(await earnedBy("a"), 1_010_100);
  });
});

describeOnStores("a transaction of a rule with caps", open => {
  const day = { calendar: "day" };
  const capped = {
    metrics: [{ id: "points", title: "", allowNegative: false, caps: [{ max: 150 }] }],
    actions: [{ name: "walk", clientReportable: true, data: { steps: "number" } }],
    rules: [
      {
        id: "steps",
        trigger: { action: "walk" },
        caps: [{ metricId: "points", max: 100, window: day }],
        effects: points({ var: "data.steps" }),
      },
    ],
    products: [
      {
        id: "tea",
        title: "Tea",
        prices: [{ currency: "points", amount: 60 }],
        fulfilment: { type: "manual" },
      },
    ],
  };
  let world: TestPlatform;
  let fan: Fan;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: capped } } });
    fan = await world.fan("Sam");
  });
  afterEach(() => world.dispose());
  const user = (): Parameters<typeof world.platform.loyalty.replay>[0] => ({
    organisationId: ids.organisation,
    spaceId: ids.space,
    projectId: ids.project,
    userId: fan.userId,
  });
  const walk = async (steps: number): Promise<number> => {
    await world.platform.loyalty.report(user(), { action: "walk", data: { steps }, isClientReport: false });
    return (await world.platform.loyalty.profile(user())).metrics.points ?? 0;
  };

  it("gives back to the caps of the rule and of the metric what it took", async () => {
    assert.equal(await walk(70), 70);
    assert.equal(await walk(70), 100);
    // The first walk; 30 of the day stay used, and 30 of all.
    await reverseOf(world, fan, 0);
    assert.equal(await walk(500), 100);
    world.clock.advance(24 * 60 * 60 * 1_000);
    assert.equal(await walk(500), 150);
    const { differences } = await world.platform.loyalty.replay(user());
    assert.deepEqual(differences, []);
  });

  it("keeps counted what was spent and could not be taken", async () => {
    await walk(100);
    await world.platform.loyalty.products.redeem(user(), { key: "1", productId: "tea", quantity: 1 });
    await reverseOf(world, fan, 0);
    // 40 were left to take.
    assert.equal(await walk(500), 40);
  });
});

describeOnStores("a transaction of an event", open => {
  const day = 24 * 60 * 60 * 1_000;
  const play = { action: "play" };
  const limited = {
    metrics: [{ id: "points", title: "" }],
    actions: [{ name: "play" }],
    rules: [
      {
        id: "first-two",
        trigger: play,
        limits: [{ per: "global", max: 2 }],
        effects: points(10),
      },
      { id: "always", trigger: play, effects: points(1) },
    ],
  };
  const source = { type: "metric", metricId: "points" };
  const projects = seed.projects.map(one => ({
    ...one,
    settings: {
      leaderboards: [
        { id: "overall", source },
        { id: "monthly", source, seasons: { type: "monthly", timeZone: "UTC" } },
        { id: "plays", source: { type: "action", action: "play" } },
      ],
      eventLeaderboards: [{ id: "round_1", source }],
    },
  }));
  let world: TestPlatform;
  let fan: Fan;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: { ...seed, projects, loyalty: { [ids.space]: limited } } });
    fan = await world.fan("Sam");
  });
  afterEach(() => world.dispose());
  const user = (userId = fan.userId) => ({
    organisationId: ids.organisation,
    spaceId: ids.space,
    projectId: ids.project,
    userId,
  });
  async function act(eventId: string, actionId?: string, userId = fan.userId): Promise<number> {
    const before = (await world.platform.loyalty.profile(user(userId))).metrics.points ?? 0;
    const id = actionId === undefined ? {} : { actionId };
    const report = { action: "play", data: { eventId }, isClientReport: false, ...id };
    await world.platform.loyalty.report(user(userId), report);
    return ((await world.platform.loyalty.profile(user(userId))).metrics.points ?? 0) - before;
  }
  /** Takes back the first transaction that gave an amount. */
  async function takeBack(amount: number): Promise<void> {
    const history = await world.platform.loyalty.history(user(), {});
    const found = history.find(({ payload: { metricChanges } }) => {
      const { newValue = 0, oldValue = 0 } = metricChanges.points ?? {};
      return newValue - oldValue === amount;
    });
    await world.platform.loyalty.reverse(user(), found?.id ?? "");
  }
  async function boards(): Promise<Readonly<Record<string, unknown>>> {
    await world.platform.idle();
    const scores: Record<string, unknown> = {};
    for (const path of ["", `/events/${ids.event}`]) {
      for (const id of path === "" ? ["overall", "monthly", "plays"] : ["round_1"]) {
        const { json } = await world.call(`/projects/${ids.project}${path}/leaderboards/${id}`);
        scores[id] = json.data[0]?.score ?? null;
      }
    }
    return scores;
  }

  it("is taken off the event's board and the season in which it counted, and a rebuild agrees", async () => {
    await act(ids.event);
    await act("current");
    await act(ids.event);
    assert.deepEqual(await boards(), { overall: 23, monthly: 23, plays: 3, round_1: 23 });
    await takeBack(10);
    const after = { overall: 13, monthly: 13, plays: 3, round_1: 13 };
    assert.deepEqual(await boards(), after);
    for (const [leaderboardId, eventId] of [
      ["round_1", ids.event],
      ["monthly", null],
      ["overall", null],
    ] as const) {
      await world.platform.rebuildBoard({ projectId: ids.project, eventId, leaderboardId });
    }
    assert.deepEqual(await boards(), after);
    await act(ids.event);
    assert.deepEqual(await boards(), { overall: 14, monthly: 14, plays: 4, round_1: 14 });
    const { differences } = await world.platform.loyalty.replay(user());
    assert.deepEqual(differences, []);
  });

  it("changes no later season, and no event whose sum is not kept any more", async () => {
    await act(ids.event);
    assert.deepEqual(await boards(), { overall: 11, monthly: 11, plays: 1, round_1: 11 });
    world.clock.advance(200 * day);
    await act("0d000000-0000-4000-8000-000000000009");
    assert.deepEqual(await boards(), { overall: 22, monthly: 11, plays: 2, round_1: 11 });
    await takeBack(10);
    assert.deepEqual(await boards(), { overall: 12, monthly: 11, plays: 2, round_1: 11 });
  });

  it("gives the use of a limit for all users back, once, where the action has an id", async () => {
    const other = await world.fan("Kim");
    assert.equal(await act(ids.event, "one"), 11);
    assert.equal(await act(ids.event), 11);
    assert.equal(await act(ids.event, "two"), 1);
    await takeBack(10);
    await assert.rejects(takeBack(10), { code: "conflict" });
    assert.equal(await act(ids.event, "one"), 0);
    assert.equal(await act(ids.event, "three", other.userId), 11);
    assert.equal(await act(ids.event, "four", other.userId), 1);
  });

  it("keeps the use of a limit for all users that nothing proves", async () => {
    assert.equal(await act(ids.event), 11);
    assert.equal(await act(ids.event), 11);
    await takeBack(10);
    assert.equal(await act(ids.event), 1);
  });
});
