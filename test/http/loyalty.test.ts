import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import {
  type Answer,
  ids,
  loyalty,
  openPlatform,
  otherHost,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { describeOnEveryStore, describeOnStores } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

const challengeId = "0e000000-0000-4000-8000-000000000001";
const [threeId, exactId] = ["0f000000-0000-4000-8000-000000000001", "0f000000-0000-4000-8000-000000000002"];
const emptyProfile = {
  metrics: { points: 0, energy: 5 },
  inventory: { badges: [] },
  challenges: { [challengeId]: { isCompleted: false, missionsCompleted: [] } },
};

describeOnStores("the loyalty configuration", open => {
  const members = {
    ...loyalty.challenges[0],
    id: "0e000000-0000-4000-8000-000000000009",
    title: "Members",
    visibility: "members",
  };
  const tiers = {
    id: "tiers",
    title: "Tiers",
    metricId: "points",
    isTier: true,
    milestones: [
      {
        id: "silver",
        title: "Silver",
        threshold: 100,
        notification: { display: "toast", title: "Silver!" },
        rewards: [{ type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" }],
      },
    ],
  };
  const hidden = { ...loyalty, milestones: [tiers], challenges: [...loyalty.challenges, members] };
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: hidden } } });
  });
  afterEach(() => world.dispose());

  it("shows exactly the members of the specification, with their defaults", async () => {
    const { status, json } = await world.call("/api/loyalty/config");
    assert.equal(status, 200);
    const none = { display: "none", title: "", message: "" };
    const missions = [
      { id: threeId, title: "Three predictions", type: "action", notification: none },
      {
        id: exactId,
        title: "One exact",
        type: "action",
        notification: { display: "toast", title: "Exact!", message: "You called it." },
      },
    ];
    assert.deepEqual(json, {
      message: "OK",
      data: {
        metrics: [
          {
            id: "points",
            title: "Points",
            media: "",
            defaultValue: 0,
            minimumValue: 0,
            maximumValue: 1_000_000_000_000,
          },
          { id: "energy", title: "Energy", media: "", defaultValue: 5, minimumValue: 0, maximumValue: 7 },
        ],
        inventory: [{ id: "badges", title: "Badges", items: [{ id: "oracle", title: "Oracle", media: "" }] }],
        milestones: [
          {
            id: "tiers",
            title: "Tiers",
            metricId: "points",
            measure: "balance",
            isTier: true,
            milestones: [
              {
                id: "silver",
                title: "Silver",
                media: "",
                threshold: 100,
                rewards: [{ type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" }],
              },
            ],
          },
        ],
        challenges: [
          {
            id: challengeId,
            title: "Oracle",
            subtitle: "",
            notification: { display: "toast", title: "Oracle!", message: "Three predictions, one exact." },
            showInProfile: true,
            showInRail: false,
            time: { showInUI: false, from: 0, to: 0 },
            missions,
            rewards: [
              { type: "metric", metricId: "points", metricQuantity: 10 },
              { type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" },
            ],
          },
        ],
      },
    });
  });

  it("shows challenges for members to members alone", async () => {
    const { token } = await world.fan("Sam");
    const titles = async (options: object): Promise<string[]> =>
      (await world.call("/api/loyalty/config", options)).json.data.challenges.map(
        (challenge: { title: string }) => challenge.title,
      );
    assert.deepEqual(await titles({}), ["Oracle"]);
    assert.deepEqual(await titles({ token }), ["Oracle", "Members"]);
  });

  it("never reveals the actions that earn rewards", async () => {
    const { token } = await world.fan("Sam");
    for (const options of [{}, { token }]) {
      const { text } = await world.call("/api/loyalty/config", options);
      for (const secret of [
        "rule",
        "actions",
        "effects",
        "trigger",
        "when",
        "visibility",
        "outcome",
        "adjust",
      ]) {
        assert.ok(!text.includes(secret), `${secret} in ${text}`);
      }
    }
  });

  it("is empty for a space that has none", async () => {
    const { json } = await world.call("/api/loyalty/config", { host: otherHost });
    assert.deepEqual(json.data, { metrics: [], inventory: [], milestones: [], challenges: [] });
  });
});

describeOnEveryStore("the rewards profile", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  it("is created empty for a user who has none, also by 64 reads at once", async () => {
    const { token, userId } = await world.fan("Sam");
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => world.call("/api/loyalty/profile", { token })),
    );
    for (const { status, json, headers } of answers) {
      assert.equal(status, 200);
      assert.deepEqual(json, { message: "OK", data: emptyProfile });
      assert.equal(headers.get("cache-control"), "no-store");
    }
    const partition = `o:${ids.organisation}:loyalty:${userId}`;
    const [stored] = await world.store.read(partition, [{ type: "record", key: "loyalty" }]);
    assert.equal(JSON.parse(stored?.value ?? "{}").revision, 0);
  });

  it("does not take back what was earned by an action that comes at the same time as the first read", async () => {
    const fan = await world.fan("Sam");
    await Promise.all([fan.profile(), fan.act("prediction", { outcome: "exact" }), fan.profile()]);
    assert.equal((await fan.profile()).metrics.points, 3);
  });

  it("follows the rules whose conditions hold", async () => {
    const fan = await world.fan("Sam");
    await fan.act("prediction", { outcome: "right" });
    assert.equal((await fan.profile()).metrics.points, 1);
    await fan.act("prediction", { outcome: "exact" });
    assert.equal((await fan.profile()).metrics.points, 4);
    await fan.act("prediction", { outcome: "wrong" });
    await fan.act("rest");
    assert.deepEqual((await fan.profile()).metrics, { points: 4 + 10, energy: 7 });
  });

  it("keeps metrics inside their bounds, and reports the real difference", async () => {
    const fan = await world.fan("Sam");
    await fan.act("rest");
    await fan.act("rest");
    assert.equal((await fan.profile()).metrics.energy, 7);
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["actions:write"],
    });
    const service = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
    await fan.act("prediction", { outcome: "right" });
    await world.call(`/api/loyalty/action?user_id=${fan.userId}`, {
      token: service.json.data.accessToken,
      body: { action: "adjust" },
    });
    assert.equal((await fan.profile()).metrics.points, 0);
    const { json } = await world.call("/api/loyalty/history", { token: fan.token });
    const changes = json.data.map(
      (entry: { payload: { metricChanges: unknown } }) => entry.payload.metricChanges,
    );
    assert.deepEqual(changes, [
      { energy: { oldValue: 5, newValue: 7 } },
      {},
      { points: { oldValue: 0, newValue: 1 } },
      { points: { oldValue: 1, newValue: 0 } },
    ]);
  });

  it("completes a challenge when every mission is done, in whatever order, and gives its rewards once", async () => {
    const fan = await world.fan("Sam");
    await fan.act("prediction", { outcome: "exact" });
    const { challenges, inventory } = await fan.profile();
    assert.deepEqual(challenges[challengeId], { isCompleted: false, missionsCompleted: [exactId] });
    assert.deepEqual(inventory, { badges: [] });
    await fan.act("prediction");
    await fan.act("prediction");
    const done = {
      metrics: { points: 3 + 10, energy: 5 },
      inventory: { badges: ["oracle"] },
      challenges: { [challengeId]: { isCompleted: true, missionsCompleted: [exactId, threeId] } },
    };
    assert.deepEqual(await fan.profile(), done);
    await fan.act("prediction");
    assert.deepEqual(await fan.profile(), done);
  });

  it("completes a challenge exactly once under 64 actions at once, and loses none of them", async () => {
    const fan = await world.fan("Sam");
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => fan.act("prediction", { outcome: "exact" })),
    );
    assert.ok(answers.every(({ status }) => status === 200));
    const { metrics, inventory } = await fan.profile();
    assert.deepEqual([metrics.points, inventory.badges], [64 * 3 + 10, ["oracle"]]);
    const { token } = fan;
    const history = (await world.call("/api/loyalty/history", { token })).json.data;
    const count = (type: string): number =>
      history.filter((entry: { type: string }) => entry.type === type).length;
    assert.deepEqual(
      [count("actionRewarded"), count("missionCompleted"), count("challengeCompleted")],
      [64, 2, 1],
    );
    const notified = (await world.call("/api/loyalty/notifications", { token })).json.data;
    assert.deepEqual(
      notified.map((entry: { type: string }) => entry.type),
      ["missionCompleted", "challengeCompleted"],
    );
  });

  it("advances a challenge only inside its time, of which the end is not part", async t => {
    const second = Math.floor(world.clock.now() / 1_000);
    const timed = [{ ...loyalty.challenges[0], time: { from: second + 10, to: second + 20 } }];
    const bounded = { ...seed, loyalty: { [ids.space]: { ...loyalty, challenges: timed } } };
    const other = await openPlatform(open, { seed: bounded });
    t.after(() => other.dispose());
    const fan = await other.fan("Sam");
    const missions = async (): Promise<number> =>
      (await fan.profile()).challenges[challengeId].missionsCompleted.length;
    other.clock.advance(9_999);
    await fan.act("prediction", { outcome: "exact" });
    assert.equal(await missions(), 0);
    other.clock.advance(10_001);
    await fan.act("prediction", { outcome: "exact" });
    assert.equal(await missions(), 0);
    const early = await other.fan("Kim");
    assert.equal((await early.profile()).metrics.points, 0);
  });

  it("advances a challenge from its first millisecond to its last", async t => {
    const second = Math.floor(world.clock.now() / 1_000);
    const timed = [{ ...loyalty.challenges[0], time: { from: second + 10, to: second + 20 } }];
    const bounded = { ...seed, loyalty: { [ids.space]: { ...loyalty, challenges: timed } } };
    const other = await openPlatform(open, { seed: bounded });
    t.after(() => other.dispose());
    const [first, last] = [await other.fan("Sam"), await other.fan("Kim")];
    other.clock.advance(10_000);
    await first.act("prediction", { outcome: "exact" });
    other.clock.advance(9_999);
    await last.act("prediction", { outcome: "exact" });
    for (const fan of [first, last]) {
      assert.deepEqual((await fan.profile()).challenges[challengeId].missionsCompleted, [exactId]);
    }
  });

  it("is each user's own", async () => {
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    await sam.act("prediction", { outcome: "exact" });
    assert.deepEqual(await kim.profile(), emptyProfile);
  });
});

describeOnStores("loyalty notifications", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  it("list displayed achievements oldest first, with exactly the members of the specification", async () => {
    const fan = await world.fan("Sam");
    const { token } = fan;
    const list = async () => (await world.call("/api/loyalty/notifications", { token })).json;
    assert.deepEqual(await list(), { message: "OK", data: [] });
    for (const _ of "123") await fan.act("prediction", { outcome: "exact" });
    const { data } = await list();
    const timestamp = Math.floor(world.clock.now() / 1_000);
    for (const { id } of data) assert.equal(typeof id, "string");
    const unchanged = { inventoryChanges: { received: [], lost: [] }, milestoneChanges: {} };
    assert.deepEqual(
      data.map(({ id: _, ...entry }: { id: string }) => entry),
      [
        {
          timestamp,
          type: "missionCompleted",
          display: "toast",
          title: "Exact!",
          message: "You called it.",
          payload: { challengeId, missionId: exactId, metricChanges: {}, ...unchanged },
        },
        {
          timestamp,
          type: "challengeCompleted",
          display: "toast",
          title: "Oracle!",
          message: "Three predictions, one exact.",
          payload: {
            challengeId,
            metricChanges: { points: { oldValue: 9, newValue: 19 } },
            inventoryChanges: { received: [{ setId: "badges", itemId: "oracle" }], lost: [] },
            milestoneChanges: {},
          },
        },
      ],
    );
  });
});

describeOnEveryStore("the loyalty history", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  it("lists transactions in ascending time, from and to included", async () => {
    const fan = await world.fan("Sam");
    const start = Math.floor(world.clock.now() / 1_000);
    for (let index = 0; index < 5; index++) {
      await fan.act("prediction", { outcome: "right" });
      world.clock.advance(999);
      await fan.act("rest");
      world.clock.advance(1);
    }
    const times = async (query: string): Promise<number[]> => {
      const { status, json } = await world.call(`/api/loyalty/history${query}`, { token: fan.token });
      assert.equal(status, 200);
      return json.data
        .filter(({ type }: { type: string }) => type === "actionRewarded")
        .map(({ timestamp }: { timestamp: number }) => timestamp - start);
    };
    assert.deepEqual(await times(""), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    assert.deepEqual(await times(`?from=${start + 3}`), [3, 3, 4, 4]);
    assert.deepEqual(await times(`?to=${start + 1}`), [0, 0, 1, 1]);
    assert.deepEqual(await times(`?from=${start + 1}&to=${start + 2}`), [1, 1, 2, 2]);
    assert.deepEqual(await times(`?from=${start + 2}&to=${start + 1}`), []);
    assert.deepEqual(await times(`?from=${start + 5}`), []);
    assert.deepEqual(await times("?from=0&to=999999999999"), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
  });

  it("continues beyond 1,000 transactions and within one action, with a cursor for this user and range alone", async () => {
    const fan = await world.fan("Sam");
    const member = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      projectId: ids.project,
      userId: fan.userId,
    };
    for (let index = 0; index < 345; index++) {
      // An exact prediction is three transactions the first time, and others one.
      const report = { action: "prediction", data: { outcome: "exact" }, isClientReport: true };
      await world.platform.loyalty.report(member, report);
      await world.platform.loyalty.report(member, { ...report, action: "rest", data: {} });
      await world.platform.loyalty.report(member, { ...report, action: "cheer", data: {} });
      if (index % 100 === 0) world.clock.advance(1_000);
    }
    const get = (query: string, token = fan.token): Promise<Answer> =>
      world.call(`/api/loyalty/history?${query}`, { token });
    const pagesOf = async (limit: number): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let cursor = ""; ; ) {
        const { status, json } = await get(`limit=${limit}${cursor}`);
        assert.equal(status, 200);
        found.push(...json.data.map(({ id }: { id: string }) => id));
        if (json.cursor === undefined) return found;
        assert.equal(json.data.length, limit);
        cursor = `&cursor=${json.cursor}`;
      }
    };
    const first = (await get("")).json;
    assert.equal(first.data.length, 1_000);
    const rest = (await get(`cursor=${first.cursor}`)).json;
    assert.equal(rest.cursor, undefined);
    const whole = [...first.data, ...rest.data].map(({ id }: { id: string }) => id);
    assert.ok(whole.length > 1_000);
    assert.equal(new Set(whole).size, whole.length);
    for (const limit of [1_000, 7]) assert.deepEqual(await pagesOf(limit), whole, `${limit}`);
    const [one, two] = [(await get("limit=1")).json, (await get("limit=2")).json];
    const next = (await get(`limit=1&cursor=${one.cursor}`)).json;
    assert.deepEqual([...one.data, ...next.data], two.data);
    const other = await world.fan("Kim");
    for (const refused of [
      get(`cursor=${first.cursor}&from=1`),
      get(`cursor=${first.cursor}`, other.token),
      get(`cursor=${first.cursor}x`),
      get("limit=1001"),
      get("limit=0"),
    ]) {
      assertProblem(await refused, 400, "validation_failed");
    }
  });

  it("refuses bounds that are not Unix seconds", async () => {
    const { token } = await world.fan("Sam");
    for (const query of ["from=-1", "from=1.5", "to=now", "to=", "to=1e9", `from=${"9".repeat(13)}`]) {
      assertProblem(await world.call(`/api/loyalty/history?${query}`, { token }), 400, "validation_failed");
    }
  });

  it("is empty for a user who did nothing", async () => {
    const { token } = await world.fan("Sam");
    assert.deepEqual((await world.call("/api/loyalty/history", { token })).json, { message: "OK", data: [] });
  });
});
