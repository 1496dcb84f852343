/** Effects of time on a user: windows, streaks, runs of challenges, and points that become available and expire. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { advanceTime, settledInstantsMax } from "../../../../../lib/fans/loyalty/engine/advance_time.ts";
import { compareStates, replay } from "../../../../../lib/fans/loyalty/engine/replay.ts";
import { reconcile } from "../../../../../lib/fans/loyalty/ledger/reconcile.ts";
import { balancesOf } from "../../../../../lib/fans/loyalty/ledger/settle_lots.ts";
import { Player, points, rule, typesOf } from "./_player.ts";

const orphanedKeptMs = 400 * 24 * 60 * 60 * 1_000;
const orphanedStepsMax = 1_000;

const berlin = { timeZone: "Europe/Berlin" };
const first = "0e000000-0000-4000-8000-000000000001";
const second = "0e000000-0000-4000-8000-000000000002";
const one = "0f000000-0000-4000-8000-000000000001";

/** Returns the points of each action at these times, under a rule that gives as many as the value of an aggregate. */
function aggregated(aggregate: object, times: readonly string[], more: object = berlin): readonly number[] {
  const player = new Player({ ...more, rules: [rule("r", [points(aggregate)])] });
  return times.map(at => player.act("go", at).gained.points ?? 0);
}

describe("windows of the calendar", () => {
  it("end with the day in the time zone of the space, also when clocks change", () => {
    const count = { count: { action: "go", window: { calendar: "day" } } };
    const spring = [
      "2026-03-28T22:59:59Z",
      "2026-03-28T23:00:00Z",
      "2026-03-29T21:59:59Z",
      "2026-03-29T22:00:00Z",
    ];
    assert.deepEqual(aggregated(count, spring), [1, 1, 2, 1]);
    const autumn = [
      "2026-10-24T21:59:59Z",
      "2026-10-24T22:00:00Z",
      "2026-10-25T22:59:59Z",
      "2026-10-25T23:00:00Z",
    ];
    assert.deepEqual(aggregated(count, autumn), [1, 1, 2, 1]);
  });

  it("end with the month, the leap day included, and with the week on Sunday", () => {
    const month = { count: { action: "go", window: { calendar: "month" } } };
    const leap = ["2028-02-01T00:00:00Z", "2028-02-29T23:59:59Z", "2028-03-01T00:00:00Z"];
    assert.deepEqual(aggregated(month, leap, {}), [1, 2, 1]);
    const week = { count: { action: "go", window: { calendar: "week" } } };
    const days = ["2026-11-16T00:00:00Z", "2026-11-22T23:59:59Z", "2026-11-23T00:00:00Z"];
    assert.deepEqual(aggregated(week, days, {}), [1, 2, 1]);
  });
});

describe("weeks from Sunday", () => {
  const sunday = { weekStartsOn: "sunday", timeZone: "America/New_York" };
  // Clocks go forward at 02:00 of Sunday 2026-03-08, and New York is five hours behind before, four after.
  const around = [
    "2026-03-01T05:00:00Z",
    "2026-03-08T04:59:59Z",
    "2026-03-08T05:00:00Z",
    "2026-03-15T04:00:00Z",
  ];

  it("bound counts, streaks and caps", () => {
    const count = { count: { action: "go", window: { calendar: "week" } } };
    assert.deepEqual(aggregated(count, around, sunday), [1, 2, 1, 1]);
    const rolling = { count: { action: "go", window: { last: 2, unit: "week" } } };
    assert.deepEqual(aggregated(rolling, around, sunday), [1, 2, 3, 2]);
    const streak = { streak: { action: "go", unit: "week" } };
    assert.deepEqual(aggregated(streak, around, sunday), [1, 1, 2, 3]);
    const player = new Player({
      ...sunday,
      rules: [
        rule("r", [points(5)], { caps: [{ metricId: "points", max: 8, window: { calendar: "week" } }] }),
      ],
    });
    assert.deepEqual(
      around.map(at => player.act("go", at).gained.points),
      [5, 3, 5, 5],
    );
  });

  it("begin runs of challenges, and end points", () => {
    const player = new Player({
      ...sunday,
      metrics: [{ id: "points", title: "", lots: { expires: { endOf: "week" } } }],
      rules: [rule("r", [points(1)])],
      challenges: [
        {
          id: first,
          title: "",
          recurrence: "onExpiration",
          period: "week",
          missions: [{ id: one, title: "", rule: { action: "go", count: 2 } }],
        },
      ],
    });
    const played = around.map(at => {
      player.act("go", at);
      const { challenges, metrics } = player.state;
      return [challenges[first]?.status, challenges[first]?.run, metrics.points];
    });
    assert.deepEqual(played, [
      ["in_progress", "2026-W10", 1],
      ["completed", "2026-W10", 2],
      ["in_progress", "2026-W11", 1],
      ["in_progress", "2026-W12", 1],
    ]);
  });
});

describe("rolling windows", () => {
  it("move with their unit, and drop steps in which no late action counts", () => {
    const days = { count: { action: "go", window: { last: 2, unit: "day" } } };
    const times = [
      "2026-03-28T12:00:00Z",
      "2026-03-29T12:00:00Z",
      "2026-03-30T12:00:00Z",
      "2026-04-01T12:00:00Z",
    ];
    assert.deepEqual(aggregated(days, times), [1, 2, 2, 1]);
    const minutes = { count: { action: "go", window: { last: 3, unit: "minute" } } };
    const player = new Player({ rules: [rule("r", [points(minutes)])] });
    for (const minute of [0, 1, 2, 1_443, 1_444]) player.act("go", minute * 60_000);
    const [counter] = Object.values(player.state.counters);
    assert.deepEqual(counter, {
      buckets: [
        [2, 1],
        [1_443, 1],
        [1_444, 1],
      ],
    });
  });

  it("sum the values of an expression over matching actions", () => {
    const sum = { sum: { action: "go", of: { var: "data.n" }, where: { gt: [{ var: "data.n" }, 1] } } };
    const player = new Player({ rules: [rule("r", [points(1)], { when: { gte: [sum, 7] } })] });
    for (const n of [3, 1, 1, 1, 4, 1]) player.act("go", 0, { n });
    assert.equal(player.state.metrics.points, 2);
  });
});

describe("streaks", () => {
  it("grow by each unit in a row, and start anew after a gap", () => {
    const streak = { streak: { action: "go", unit: "day" } };
    const times = [28, 28, 29, 30, 31].map(day => `2026-03-${day}T00:30:00Z`);
    assert.deepEqual(aggregated(streak, [...times, "2026-04-02T12:00:00Z"]), [1, 1, 2, 3, 4, 1]);
  });

  it("last until the end of the next unit", () => {
    const parts = {
      rules: [
        rule("r", [points({ streak: { action: "go", unit: "day" } })], { trigger: { action: "stop" } }),
      ],
    };
    for (const [at, given] of [
      ["2026-01-02T00:00:00Z", 1],
      ["2026-01-02T23:59:59Z", 1],
      ["2026-01-03T00:00:00Z", 0],
    ] as const) {
      const player = new Player(parts);
      player.act("go", "2026-01-01T12:00:00Z");
      assert.equal(player.act("stop", at).gained.points ?? 0, given, at);
    }
  });
});

describe("limits of a user", () => {
  it("count firings in their window; of two with the same window the lower one counts", () => {
    const limits = [
      { per: "user", max: 9, window: { calendar: "day" } },
      { per: "user", max: 2, window: { calendar: "day" } },
      { per: "user", max: 3 },
    ];
    const player = new Player({ rules: [rule("r", [points(1)], { limits })] });
    const given = [1, 1, 1, 2, 2].map(
      day => player.act("go", `2026-01-0${day}T12:00:00Z`).gained.points ?? 0,
    );
    assert.deepEqual(given, [1, 1, 0, 1, 0]);
  });
});

describe("counters", () => {
  const once = rule("once", [points(1)], { limits: [{ per: "user", max: 1 }] });
  const hourly = rule("hourly", [points({ count: { action: "go", window: { last: 900, unit: "hour" } } })]);
  /** Plays one action under one configuration after the other. */
  function play(versions: readonly (readonly [parts: object, at: number])[]): Player {
    return versions.reduce((before: Player | null, [parts, at], index) => {
      const player = new Player(parts, { version: String(index) });
      if (before !== null) player.state = before.state;
      player.act("go", at);
      return player;
    }, null) as Player;
  }

  it("survive the removal of their rule, so that a restored rule gives nothing twice", () => {
    const { state } = play([
      [{ rules: [once] }, 0],
      [{ rules: [] }, 1],
      [{ rules: [] }, orphanedKeptMs - 1],
      [{ rules: [once] }, orphanedKeptMs],
    ]);
    assert.deepEqual(
      [state.metrics.points, Object.keys(state.counters).length, state.orphanedCounters],
      [1, 1, {}],
    );
  });

  it("are dropped after 400 days without a definition", () => {
    const { state } = play([
      [{ rules: [once] }, 0],
      [{ rules: [] }, 1],
      [{ rules: [] }, 1 + orphanedKeptMs],
    ]);
    assert.deepEqual([state.counters, state.orphanedCounters], [{}, {}]);
  });

  it("are dropped beyond 1,000 steps without a definition, those orphaned longest first", () => {
    const busy = new Player({ rules: [hourly, once] }, { version: "busy" });
    for (let hour = 0; hour < 900; hour++) busy.act("go", hour * 3_600_000);
    const another = new Player(
      { rules: [rule("x", [points({ count: { action: "stop", window: { last: 900, unit: "hour" } } })])] },
      { version: "x" },
    );
    another.state = busy.state;
    for (let hour = 900; hour < 1_200; hour++) another.act("stop", hour * 3_600_000);
    const last = new Player({ rules: [] }, { version: "last" });
    last.state = another.state;
    last.act("go", 1_200 * 3_600_000);
    const steps = Object.values(last.state.counters).map(counter =>
      "buckets" in counter ? counter.buckets.length : 1,
    );
    assert.deepEqual(
      steps.toSorted((a, b) => a - b),
      [300],
    );
    assert.ok(300 + 900 > orphanedStepsMax);
  });

  it("of removed rules do not change a replay", () => {
    const player = play([
      [{ rules: [once] }, 0],
      [{ rules: [] }, 1],
    ]);
    assert.deepEqual(
      compareStates(player.state, { ...player.state, counters: {}, orphanedCounters: {} }),
      [],
    );
  });
});

describe("runs of a challenge", () => {
  const challenge = (more: object): object => ({
    id: first,
    title: "",
    missions: [{ id: one, title: "", rule: { action: "go", count: 2 } }],
    rewards: [points(1)],
    ...more,
  });
  const statusOf = ({ state }: Player): string => state.challenges[first]?.status ?? "none";

  it("end once with their period", () => {
    const player = new Player({
      ...berlin,
      challenges: [challenge({ recurrence: "onExpiration", period: "day" })],
    });
    const days = [
      "2026-03-28T12:00:00Z",
      "2026-03-28T12:00:01Z",
      "2026-03-28T12:00:02Z",
      "2026-03-28T22:59:59Z",
    ];
    for (const at of days) player.act("go", at);
    assert.deepEqual([statusOf(player), player.state.metrics.points], ["completed", 1]);
    assert.deepEqual(player.pass("2026-03-28T23:00:00Z"), []);
    assert.equal(statusOf(player), "none");
    player.act("go", "2026-03-28T23:00:00Z");
    assert.deepEqual([statusOf(player), player.state.challenges[first]?.run], ["in_progress", "2026-03-29"]);
    const [failed] = player.pass("2026-03-29T22:00:00Z");
    assert.equal(failed?.type, "challengeFailed");
    assert.equal(player.records.at(-1)?.at, Date.parse("2026-03-29T22:00:00Z"));
    assert.deepEqual([statusOf(player), player.state.challenges[first]?.completions], ["none", 1]);
  });

  it("fail at their deadline, and stay failed", () => {
    const ends: [more: object, end: string][] = [
      [{ within: { hours: 2 } }, "2026-01-01T02:00:00Z"],
      [{ within: { months: 1 } }, "2026-02-01T00:00:00Z"],
      [{ time: { to: Date.parse("2026-01-03T00:00:00Z") / 1_000 } }, "2026-01-03T00:00:00Z"],
    ];
    for (const [more, end] of ends) {
      const player = new Player({ challenges: [challenge(more)] });
      player.act("go", "2026-01-01T00:00:00Z");
      assert.equal(player.state.dueAt, Date.parse(end));
      assert.deepEqual(player.pass(Date.parse(end) - 1), []);
      assert.deepEqual(
        player.pass(end).map(({ type }) => type),
        ["challengeFailed"],
      );
      player.act("go", end);
      assert.deepEqual(
        [statusOf(player), player.state.metrics.points, player.state.dueAt],
        ["failed", undefined, null],
      );
    }
  });

  it("get the deadline of a later configuration", () => {
    const player = new Player({ challenges: [challenge({ within: { hours: 2 } })] });
    player.act("go", 0);
    const longer = new Player({ challenges: [challenge({ within: { hours: 4 } })] });
    const { state, records } = advanceTime(longer.compiled, player.state, 2 * 3_600_000);
    assert.deepEqual(
      [state.challenges[first]?.status, state.dueAt, records],
      ["in_progress", 4 * 3_600_000, []],
    );
  });

  it("start anew after completion with recurrence onCompletion, and an action counts for one run", () => {
    const missions = [one, second].map(id => ({ id, title: "", rule: { action: "go" } }));
    const player = new Player({ challenges: [challenge({ missions, recurrence: "onCompletion" })] });
    for (const completions of [1, 2, 3]) {
      player.act("go", completions);
      const progress = player.state.challenges[first];
      assert.deepEqual(
        [progress?.completions, progress?.run, player.state.metrics.points],
        [completions, String(completions), completions],
      );
    }
  });

  it("wait for required challenges", () => {
    const parts = {
      challenges: [
        challenge({ requires: [second] }),
        { id: second, title: "", missions: [{ id: one, title: "", rule: { action: "stop" } }] },
      ],
    };
    const player = new Player(parts);
    player.act("go");
    assert.equal(statusOf(player), "none");
    player.act("stop");
    player.act("go");
    assert.equal(statusOf(player), "in_progress");
  });

  it("fail by an action even before any progress, and that action advances nothing", () => {
    const parts = {
      challenges: [challenge({ fail: { action: "go", when: { eq: [{ var: "data.hit" }, false] } } })],
    };
    const player = new Player(parts);
    assert.deepEqual(typesOf(player.act("go", 0, { hit: false })), ["challengeFailed"]);
    assert.deepEqual(player.state.challenges[first]?.counts, {});
    player.act("go", 0, { hit: true });
    assert.equal(statusOf(player), "failed");
  });

  it("complete metric missions that are reached when a rule starts them", () => {
    const missions = [{ id: one, title: "", rule: { metric: "points", atLeast: 3 } }];
    const player = new Player({
      challenges: [challenge({ missions, start: "rule", rewards: [] })],
      rules: [
        rule("earn", [points(3)]),
        rule("start", [{ type: "challengeStart", challengeId: first }], { trigger: { action: "stop" } }),
      ],
    });
    player.act("go");
    assert.deepEqual(typesOf(player.act("stop")), [
      "actionRewarded",
      "challengeStarted",
      "missionCompleted",
      "challengeCompleted",
    ]);
  });
});

describe("points with dates", () => {
  const metrics = (lots: object): object => ({
    metrics: [{ id: "points", title: "", lots }],
    rules: [rule("r", [points(5)])],
  });

  it("activate and expire at their own instants, with a record each", () => {
    const player = new Player({
      ...berlin,
      ...metrics({ activatesAfter: { days: 1 }, expires: { endOf: "month" } }),
    });
    player.act("go", "2026-03-28T11:30:00Z");
    assert.deepEqual(
      [player.state.metrics.points, player.state.dueAt],
      [0, Date.parse("2026-03-29T22:00:00Z")],
    );
    const changes = player.pass("2026-05-01T00:00:00Z");
    assert.deepEqual(
      changes.map(({ type }) => type),
      ["pointsActivated", "pointsExpired"],
    );
    const times = player.records.slice(-2).map(({ at }) => new Date(at).toISOString());
    assert.deepEqual(times, ["2026-03-29T22:00:00.000Z", "2026-03-31T22:00:00.000Z"]);
    assert.deepEqual(changes[0]?.payload.metricChanges, { points: { oldValue: 0, newValue: 5 } });
    assert.equal(player.state.dueAt, null);
    assert.deepEqual(replay(player.compiled, player.records), player.state);
  });

  it("expire at the end of a day if their duration is in days or longer", () => {
    const expiry = (after: object): string => {
      const player = new Player({ ...berlin, ...metrics({ expires: { after } }) });
      player.act("go", "2026-01-31T11:30:00Z");
      player.act("go", "2026-01-31T11:31:00Z");
      return (player.state.lots.points ?? [])
        .map(({ expiresAt }) => new Date(expiresAt ?? 0).toISOString().slice(0, 16))
        .join();
    };
    assert.equal(expiry({ days: 1 }), "2026-02-01T23:00");
    assert.equal(expiry({ months: 2 }), "2026-03-31T22:00");
    assert.equal(expiry({ days: 1, hours: 1 }), "2026-02-01T12:30,2026-02-01T12:31");
  });

  it("share a lot if their dates are equal", () => {
    const player = new Player(metrics({ expires: { endOf: "month" } }));
    for (let day = 1; day <= 9; day++) player.act("go", `2026-01-0${day}T12:00:00Z`);
    assert.deepEqual(
      player.state.lots.points?.map(({ amount, remaining }) => [amount, remaining]),
      [[45, 45]],
    );
    const account = { balance: 45, lots: player.state.lots.points ?? [] };
    const [soon] = balancesOf(account, Date.parse("2026-01-09T12:00:00Z")).expiringSoon;
    assert.deepEqual(soon, { amount: 45, expiresAt: Date.parse("2026-02-01T00:00:00Z") });
  });

  it("trigger rules and milestones when time changes them", () => {
    const milestones = [
      { id: "tier", title: "", metricId: "points", milestones: [{ id: "gold", title: "", threshold: 5 }] },
    ];
    const player = new Player({ ...metrics({ activatesAfter: { minutes: 1 } }), milestones });
    player.act("go", 0);
    assert.equal(player.state.milestones.tier, undefined);
    assert.deepEqual(
      player.pass(60_000).map(({ type }) => type),
      ["pointsActivated", "milestoneReached"],
    );
  });

  it("are the same however often and late time advances", () => {
    const parts = metrics({ expires: { after: { minutes: 7 } } });
    const [often, late] = [new Player(parts), new Player(parts)];
    for (let minute = 0; minute < 2 * settledInstantsMax; minute++) {
      for (const player of [often, late]) player.state = { ...player.state };
      often.act("go", minute * 60_000);
      late.act("go", minute * 60_000);
      often.pass(minute * 60_000 + 30_000);
    }
    for (const at of [1e7, 2e7, 3e7]) often.pass(at);
    late.pass(3e7);
    assert.deepEqual(compareStates(often.state, late.state), []);
    for (const player of [often, late]) {
      const proof = reconcile(player.state, player.records, () => 0);
      assert.deepEqual(proof.faults, []);
    }
  });

  it("expire in one record beyond 64 instants", () => {
    const player = new Player(metrics({ expires: { after: { hours: 10 } } }));
    for (let minute = 0; minute <= settledInstantsMax + 5; minute++) player.act("go", minute * 60_000);
    const before = player.records.length;
    player.pass(1e9);
    assert.equal(player.records.length - before, settledInstantsMax + 1);
    assert.deepEqual(
      [player.state.metrics.points, player.state.lots.points, player.state.dueAt],
      [0, [], null],
    );
    assert.deepEqual(reconcile(player.state, player.records, () => 0).faults, []);
  });

  it("are recorded in the order of their balances within one settlement", () => {
    const lots = { activatesAfter: { minutes: 1_000 }, expires: { after: { minutes: 1 } } };
    const player = new Player({
      metrics: [{ id: "points", title: "", lots }],
      rules: [rule("r", [points(1)])],
    });
    const count = settledInstantsMax + 10;
    for (let minute = 0; minute < count; minute++) player.act("go", minute * 60_000);
    player.pass(1e9);
    assert.equal(player.state.metrics.points, 0);
    const { ok, faults } = reconcile(player.state, player.records, () => 0);
    assert.ok(ok, JSON.stringify(faults));
  });
});

describe("an action with an earlier time", () => {
  it("counts no earlier than the last event", () => {
    const player = new Player({ rules: [rule("r", [points(1)])] });
    player.act("go", 5_000);
    assert.equal(player.act("go", 1_000).record.at, 5_000);
    assert.equal(player.state.changedAt, 5_000);
  });
});
