import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyAction, applyReversal } from "../../../../../lib/fans/loyalty/engine/apply_change.ts";
import { compareStates, dryRun, replay } from "../../../../../lib/fans/loyalty/engine/replay.ts";
import { badge, base, Player, points, rule, typesOf } from "./_player.ts";

const couponsMax = 500;
const roundsMax = 8;

const first = "0e000000-0000-4000-8000-000000000001";
const one = "0f000000-0000-4000-8000-000000000001";
const toast = { display: "toast", title: "T", message: "M" };

describe("triggers", () => {
  const ladder = {
    id: "ladder",
    title: "",
    metricId: "points",
    milestones: [1, 2, 3].map(threshold => ({ id: `rung-${threshold}`, title: "", threshold })),
  };
  const onRung = { trigger: { milestoneReached: "ladder" } };

  it("fire once for each event: three rungs at once three times, within the limits", () => {
    for (const [limits, fired] of [
      [[], 3],
      [[{ per: "user", max: 2 }], 2],
    ] as const) {
      const player = new Player({
        milestones: [ladder],
        rules: [rule("earn", [points(3)]), rule("climb", [points(1, "xp")], { ...onRung, limits })],
      });
      assert.deepEqual(player.act("go").fired, ["earn", ...Array(fired).fill("climb")]);
      assert.equal(player.state.metrics.xp, 2 + fired);
      assert.equal(replay(player.compiled, player.records).metrics.xp, 2 + fired);
    }
  });

  it("fire for each item, for each transaction that changes a metric, and for the next of a group", () => {
    const player = new Player({
      rules: [
        rule("a", [points(1), points(1), badge(), badge("sage")]),
        rule("b", [points(1)]),
        rule("metric", [points(1, "xp")], { trigger: { metric: "points" } }),
        rule("item", [points(1, "xp")], {
          trigger: { inventoryReceived: "badges" },
          group: "first",
          limits: [{ per: "user", max: 1 }],
        }),
        rule("other-item", [points(1, "xp")], { trigger: { inventoryReceived: "badges" }, group: "first" }),
      ],
    });
    assert.deepEqual([...player.act("go").fired].sort(), [
      "a",
      "b",
      "item",
      "metric",
      "metric",
      "other-item",
    ]);
  });
});

describe("effects of rules", () => {
  it("add the value of an expression, rounded toward zero and within the bounds of an effect", () => {
    const table: [expression: unknown, n: number, given: number][] = [
      [{ mul: [{ var: "data.n" }, 2] }, 3, 6],
      [{ div0: [{ var: "data.n" }, 2] }, 3, 1],
      [{ sub: [0, { div0: [{ var: "data.n" }, 2] }] }, -7, 3],
      [{ div0: [1, { sub: [{ var: "data.n" }, 3] }] }, 3, 0],
      [{ mul: [{ var: "data.n" }, 1e300] }, 1e10, 0],
      [{ mul: [{ var: "data.n" }, 1e6] }, 1e9, 1_000_000_000],
      [{ add: [{ var: "user.metrics.xp" }, { var: "data.n" }] }, 1, 3],
    ];
    for (const [expression, n, given] of table) {
      const player = new Player({ rules: [rule("r", [points(expression)])] });
      player.act("go", 0, { n });
      assert.equal(player.state.metrics.points ?? 0, given, JSON.stringify(expression));
    }
  });

  it("take items, and list them as lost", () => {
    const lose = { ...badge(), type: "inventoryLoss" };
    const player = new Player({
      rules: [rule("r", [badge()]), rule("s", [lose], { trigger: { action: "stop" } })],
    });
    player.act("go");
    const { record } = player.act("stop");
    assert.deepEqual(player.state.inventory.badges, []);
    const [lost] = record.transactions;
    assert.deepEqual(lost?.payload.inventoryChanges, {
      received: [],
      lost: [{ setId: "badges", itemId: "oracle" }],
    });
    assert.deepEqual(player.act("stop").record.transactions[0]?.payload.inventoryChanges.lost, []);
  });

  it("notify, unless there is nothing to display", () => {
    const announce = { type: "notification", notification: toast };
    const player = new Player({ rules: [rule("r", [announce, { type: "notification" }])] });
    player.act("go");
    assert.deepEqual(
      player.notifications.map(({ type, display, title }) => [type, display, title]),
      [["custom", "toast", "T"]],
    );
  });

  it("start, fail and complete challenges and missions", () => {
    const challenge = {
      id: first,
      title: "",
      start: "rule",
      missions: [{ id: one, title: "", rule: { action: "go", count: 2 } }],
      rewards: [points(5)],
    };
    const effect = (type: string, more: object = {}): object => ({ type, challengeId: first, ...more });
    const ways: [effect: object, status: string, given: number | undefined][] = [
      [effect("challengeCompletion"), "completed", 5],
      [effect("missionCompletion", { missionId: one }), "completed", 5],
      [effect("challengeFailure"), "failed", undefined],
    ];
    for (const [effected, status, given] of ways) {
      const player = new Player({
        actions: [...base.actions, { name: "end" }],
        challenges: [challenge],
        rules: [
          rule("start", [effect("challengeStart")], { trigger: { action: "stop" } }),
          rule("end", [effected], { trigger: { action: "end" } }),
        ],
      });
      player.act("go");
      player.act("end");
      assert.deepEqual(Object.keys(player.state.challenges), []);
      assert.deepEqual(typesOf(player.act("stop")), ["actionRewarded", "challengeStarted"]);
      assert.deepEqual(typesOf(player.act("stop")), ["actionRewarded"]);
      player.act("end");
      assert.equal(player.state.challenges[first]?.status, status);
      assert.equal(player.state.metrics.points, given);
      player.act("end");
      assert.equal(player.state.metrics.points, given);
    }
  });

  it("give coupons: shared ones once while valid, unique ones without a code, and at most 500", () => {
    const coupons = [
      {
        id: "tea",
        title: "Tea",
        type: "shared",
        code: "TEA",
        expiresAfter: { months: 1 },
        showOnNotification: true,
      },
      { id: "one", title: "", type: "unique", poolId: "pool" },
    ];
    const player = new Player({
      coupons,
      codePools: [{ id: "pool", title: "" }],
      rules: ["tea", "one"].map(couponId => rule(couponId, [{ type: "coupon", couponId }])),
    });
    const given = player.act("go", "2026-01-31T12:00:00Z");
    assert.deepEqual(typesOf(given), [
      "actionRewarded",
      "couponReceived",
      "actionRewarded",
      "couponReceived",
    ]);
    const [one, tea] = player.state.coupons;
    assert.deepEqual([one?.couponId, one?.code, one?.expiresAt], ["one", null, null]);
    assert.deepEqual(
      [tea?.couponId, tea?.code, tea?.expiresAt],
      ["tea", "TEA", Date.parse("2026-02-28T12:00:00Z")],
    );
    assert.notEqual(tea?.id, one?.id);
    assert.deepEqual(
      player.notifications.map(({ type, payload }) => [type, payload.couponId, payload.userCouponId]),
      [["couponReceived", "tea", tea?.id]],
    );
    player.act("go", "2026-02-28T11:59:59Z");
    assert.equal(player.state.coupons.length, 3);
    player.act("go", "2026-02-28T12:00:00Z");
    assert.equal(player.state.coupons.length, 5);
    for (let index = 0; index < couponsMax; index++) player.act("go", "2026-03-01T00:00:00Z");
    assert.equal(player.state.coupons.length, couponsMax);
    assert.ok(player.state.coupons.some(({ couponId }) => couponId === "tea"));
  });

  it("give the rewards of a bundle", () => {
    const rewards = [{ id: "welcome", title: "", effects: [points(4), badge()] }];
    const player = new Player({ rewards, rules: [rule("r", [{ type: "reward", rewardId: "welcome" }])] });
    player.act("go");
    assert.deepEqual([player.state.metrics.points, player.state.inventory.badges], [4, ["oracle"]]);
  });
});

describe("rounds", () => {
  const chain = (length: number): object => ({
    metrics: Array.from({ length }, (_, index) => ({ id: `m${index}`, title: "" })),
    rules: Array.from({ length }, (_, index) =>
      rule(
        `r${index}`,
        [points(1, `m${index}`)],
        index === 0 ? {} : { trigger: { metric: `m${index - 1}` } },
      ),
    ),
  });

  it("follow each other up to the bound, with a diagnostic beyond it", () => {
    const short = new Player(chain(roundsMax + 1));
    assert.deepEqual(short.act("go").diagnostics, []);
    assert.equal(short.state.metrics[`m${roundsMax}`], 1);
    const long = new Player(chain(roundsMax + 3));
    const { diagnostics } = long.act("go");
    assert.equal(long.state.metrics[`m${roundsMax}`], 1);
    assert.equal(long.state.metrics[`m${roundsMax + 1}`], undefined);
    assert.deepEqual(diagnostics, [{ type: "roundsExhausted", triggers: [`metric:m${roundsMax}`] }]);
  });

  it("end for a rule that triggers itself", () => {
    const player = new Player({
      rules: [rule("r", [points(1)]), rule("s", [points(1)], { trigger: { metric: "points" } })],
    });
    const { diagnostics, fired } = player.act("go");
    assert.equal(diagnostics.length, 1);
    assert.equal(fired.length, 1 + roundsMax);
  });

  it("reach each milestone once, whatever the metric does later", () => {
    const rung = (id: string, threshold: number): object => ({
      id,
      title: "",
      threshold,
      rewards: [points(1)],
      notification: toast,
    });
    const milestones = [
      {
        id: "tier",
        title: "",
        metricId: "xp",
        milestones: [rung("bronze", 3), rung("silver", 5), rung("gold", 9)],
      },
    ];
    const rules = [rule("up", [points({ var: "data.n" }, "xp")])];
    const player = new Player({ milestones, rules });
    const changes = player
      .act("go", 0, { n: 4 })
      .record.transactions.map(({ payload }) => payload.milestoneChanges);
    assert.deepEqual(changes, [
      {},
      { tier: { oldValue: "", newValue: "bronze" } },
      { tier: { oldValue: "bronze", newValue: "silver" } },
    ]);
    player.act("go", 0, { n: -5 });
    assert.deepEqual(typesOf(player.act("go", 0, { n: 5 })), ["actionRewarded"]);
    assert.deepEqual(typesOf(player.act("go", 0, { n: 9 })), ["actionRewarded", "milestoneReached"]);
    assert.equal(player.state.metrics.points, 3);
    assert.equal(player.notifications.length, 3);
    assert.equal(player.state.milestones.tier?.milestoneId, "gold");
  });
});

describe("a dry run", () => {
  const when = { gte: [{ count: { action: "go", window: { last: 2, unit: "day" } } }, 3] };
  const parts = {
    rules: [
      rule("a", [points(1)], { group: "g", when: { eq: [{ var: "data.kind" }, "x"] } }),
      rule("b", [points(2)], { group: "g", limits: [{ per: "user", max: 1 }] }),
      rule("c", [points(3)], { group: "g", priority: 1 }),
      rule("d", [points(4)], { when }),
      rule("e", [points(5)], { limits: [{ per: "global", max: 9 }] }),
      rule("f", [badge()], { trigger: { metric: "points" } }),
    ],
    challenges: [
      { id: first, title: "", start: "rule", missions: [{ id: one, title: "", rule: { action: "go" } }] },
    ],
  };

  it("returns the effects, and the path, expected and actual value of each failed condition", () => {
    const player = new Player(parts);
    player.act("go", 0, { kind: "y" });
    const before = structuredClone(player.state);
    const action = { name: "go", data: { kind: "z" }, at: 1_000 };
    const reached = new Map([["e", [{ index: 0, max: 9, used: 9 }]]]);
    const tried = dryRun(player.compiled, player.state, action, { reached });
    assert.deepEqual(player.state, before);
    const found = new Map(tried.rules.map(({ ruleId, fired, failures }) => [ruleId, { fired, failures }]));
    assert.deepEqual(
      found.get("a")?.failures.map(({ path, actual }) => [path, actual]),
      [["/rules/0/when/eq", "z"]],
    );
    assert.deepEqual(
      found.get("b")?.failures.map(({ path, actual }) => [path, actual]),
      [["/rules/1/limits/0", 1]],
    );
    assert.deepEqual(found.get("c"), { fired: true, failures: [] });
    assert.deepEqual(
      found.get("d")?.failures.map(({ path, actual }) => [path, actual]),
      [["/rules/3/when/gte", 2]],
    );
    assert.deepEqual(
      found.get("e")?.failures.map(({ path, actual }) => [path, actual]),
      [["/rules/4/limits/0", 9]],
    );
    assert.deepEqual(found.get("f"), { fired: true, failures: [] });
    assert.deepEqual(
      tried.missions[0]?.failures.map(({ path, actual }) => [path, actual]),
      [["/challenges/0", "none"]],
    );
    assert.equal(tried.state.metrics.points, (before.metrics.points ?? 0) + 3);
  });

  it("explains rules that only changes trigger, and lists each rule once", () => {
    const over = (least: number): object => ({
      trigger: { metric: "points" },
      when: { gte: [{ var: "user.metrics.points" }, least] },
    });
    const player = new Player({
      rules: [
        rule("a", [points(5)]),
        rule("b", [points(1, "xp")], over(100)),
        rule("c", [points(5)], { ...over(5), limits: [{ per: "user", max: 1 }] }),
        rule("d", [points(1, "xp")], over(10)),
      ],
    });
    const tried = dryRun(player.compiled, player.state, { name: "go", data: {}, at: 0 });
    assert.deepEqual(
      tried.rules.map(({ ruleId, fired, failures }) => [
        ruleId,
        fired,
        ...failures.map(({ path, actual }) => [path, actual]),
      ]),
      [
        ["a", true],
        ["b", false, ["/rules/1/when/gte", 10]],
        ["c", true],
        ["d", true],
      ],
    );
  });

  it("names the rule of the group that fires instead", () => {
    const player = new Player(parts);
    const { rules } = dryRun(player.compiled, player.state, { name: "go", data: { kind: "x" }, at: 0 });
    const grouped = rules.filter(({ ruleId }) => ["a", "b", "c"].includes(ruleId));
    assert.deepEqual(
      grouped.map(({ ruleId, fired, failures }) => [ruleId, fired, failures[0]?.path, failures[0]?.actual]),
      [
        ["a", true, undefined, undefined],
        ["b", false, "/rules/1/group", "a"],
        ["c", false, "/rules/2/group", "a"],
      ],
    );
  });
});

describe("a reversal", () => {
  it("reverses entries and items, but no milestone or challenge, and triggers nothing", () => {
    const player = new Player({
      rules: [
        rule("r", [points(6), badge()]),
        rule("s", [points(1, "xp")], { trigger: { metric: "points" } }),
      ],
    });
    const { record } = player.act("go");
    const [given] = record.transactions;
    assert.ok(given);
    const taken = applyReversal(player.compiled, player.state, {
      transaction: { ...given, id: "0-0" },
      at: 5,
    });
    player.take(taken);
    assert.deepEqual([player.state.metrics, player.state.inventory], [{ points: 0, xp: 3 }, { badges: [] }]);
    assert.deepEqual(typesOf(taken), ["reversed"]);
    assert.deepEqual(compareStates(player.state, replay(player.compiled, player.records)), []);
  });

  it("leaves a debt only if the metric allows one", () => {
    for (const allowNegative of [false, true]) {
      const player = new Player({
        metrics: [{ id: "points", title: "", allowNegative }],
        rules: [rule("r", [points(6)]), rule("s", [points(-4)], { trigger: { action: "stop" } })],
      });
      const [given] = player.act("go").record.transactions;
      player.act("stop");
      assert.ok(given);
      player.take(
        applyReversal(player.compiled, player.state, { transaction: { ...given, id: "0-0" }, at: 0 }),
      );
      assert.equal(player.state.metrics.points, allowNegative ? -4 : 0);
    }
  });
});

describe("limits for each user", () => {
  it("keep their counts while a rule is paused", () => {
    const welcome = (version: string, enabled: boolean): Player =>
      new Player(
        { rules: [rule("r", [points(1)], { limits: [{ per: "user", max: 1 }], enabled })] },
        { version },
      );
    let player = welcome("1", true);
    player.act("go");
    for (const [version, enabled] of [
      ["2", false],
      ["3", true],
    ] as const) {
      const { state } = player;
      player = welcome(version, enabled);
      player.state = state;
      player.act("go");
    }
    assert.equal(player.state.metrics.points, 1);
  });
});

describe("limits for all users", () => {
  it("keep rules from firing, and are recorded so that a replay is the same", () => {
    const limits = [{ per: "global", max: 1 }];
    const again = { trigger: { metric: "xp" }, limits };
    const player = new Player({
      rules: [
        rule("r", [points(1), points(1, "xp")], { limits }),
        rule("s", [points(1, "xp")], again),
        rule("t", [badge()]),
      ],
    });
    player.act("go");
    assert.equal(player.last?.record.action?.limited, undefined);
    const globalLimitReached = (ruleId: string): boolean => ruleId === "r";
    player.act("go");
    const action = { name: "go", data: {}, at: 0 };
    const held = player.take(applyAction(player.compiled, player.state, action, { globalLimitReached }));
    assert.deepEqual([held.fired, held.record.action?.limited], [["t"], { r: 0 }]);
    player.act("stop");
    assert.deepEqual(replay(player.compiled, player.records), player.state);
    let asked = 0;
    const other = new Player({ rules: [rule("r", [points(1, "xp")]), rule("s", [points(1, "xp")], again)] });
    const partly = applyAction(other.compiled, other.state, action, {
      globalLimitReached: () => asked++ >= 3,
    });
    other.take(partly);
    assert.deepEqual([partly.fired, partly.record.action?.limited], [["r", "s", "s", "s"], { s: 3 }]);
    assert.deepEqual(replay(other.compiled, other.records), other.state);
  });
});
